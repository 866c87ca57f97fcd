"""What a job says of the pods that it is for: whose it is, and whether it is still what we want.

It stands in the admin comment, which only operators can write, so that nobody can pass off a job
as ours; `extra` would be anybody's, and a constraint to some Slurms. Slinky's list of pods is kept
beside it for people and scripts that read it.

>>> mark = Marker("blue", GangKey("Job", "team", "train"), "1f3a", pods=(Key("team", "train-0"),))
>>> text = mark.write()
>>> read(text) == mark, read('{"pods": ["team/train-0"]}')
(True, None)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from windlass.bridge.gang import GangKey
from windlass.slurm.model import Job
from windlass.values.key import Key
from windlass.values.malformed import Malformed

LISTED: Final = 32 * 1024
"""Letters of pod names at most; slurmdbd keeps 64 KiB of a comment."""


class _Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    cluster: str
    kind: str
    namespace: str
    name: str
    uid: str
    part: str = ""
    attempt: str = ""
    digest: str = ""


class _Comment(msgspec.Struct, frozen=True):
    pods: list[str] = []
    windlass: _Mark | None = None


@dataclass(frozen=True, slots=True)
class Marker:
    cluster: str
    """Which Kubernetes cluster the pods are in."""
    key: GangKey
    uid: str
    attempt: str = ""
    digest: str = ""
    """Of what the job was asked to be; another one is a job to update."""
    pods: tuple[Key, ...] = ()

    @property
    def identity(self) -> tuple[str, GangKey, str, str]:
        """Two jobs with the same one were submitted for the same pods."""
        return self.cluster, self.key, self.uid, self.attempt

    def write(self) -> str:
        key = self.key
        mark = _Mark(
            self.cluster,
            key.kind,
            key.namespace,
            key.name,
            self.uid,
            key.part,
            self.attempt,
            self.digest,
        )
        comment = {"pods": _listed(self.pods), "windlass": mark}
        return msgspec.json.encode(comment).decode()


def read(comment: str) -> Marker | None:
    """The marker in an admin comment; None where there is none of ours."""
    found = _comment(comment)
    if found is None or found.windlass is None:
        return None
    mark = found.windlass
    key = GangKey(mark.kind, mark.namespace, mark.name, mark.part)
    return Marker(mark.cluster, key, mark.uid, mark.attempt, mark.digest, _keys(found.pods))


def ours(job: Job, cluster: str) -> Marker | None:
    """The marker of a job that this cluster's bridge submitted; everybody else's are not ours."""
    marker = read(job.admin_comment)
    return marker if marker is not None and marker.cluster == cluster else None


def slinky(job: Job) -> tuple[Key, ...]:
    """The pods of a job that Slinky's bridge submitted; it does not say of which cluster."""
    found = _comment(job.admin_comment)
    if found is None or found.windlass is not None:
        return ()
    return _keys(found.pods)


def _comment(text: str) -> _Comment | None:
    if not text.startswith("{"):
        return None
    try:
        return msgspec.json.decode(text, type=_Comment)
    except (msgspec.ValidationError, msgspec.DecodeError):
        return None


def _listed(pods: Sequence[Key]) -> list[str]:
    names: list[str] = []
    room = LISTED
    for pod in pods:
        room -= len(str(pod)) + 3
        if room < 0:
            break
        names.append(str(pod))
    return names


def _keys(names: Sequence[str]) -> tuple[Key, ...]:
    try:
        return tuple(Key.parse(name) for name in names)
    except Malformed:
        return ()
