"""What must never happen, whoever dies or is silent. It looks at each write of an operator."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tests.sim.claims import Claims
from tests.sim.slurmds import Slurmds
from tests.sim.taking import Taking
from tests.sim.transcript import Transcript
from windlass.kube import kinds
from windlass.kube.requests import Request
from windlass.slurm.transport import Message
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import clock

Json = dict[str, Any]
Said: TypeAlias = tuple[tuple[str, ...], str]
"""The state of a node, and its reason."""

RACE: Final = 0.05
"""Between a look at Slurm and the write that follows it no lock can be held. What happened less
than so many seconds before a write may be overtaken by it."""
NOTICED: Final = 2.5
"""After so many seconds of silence an operator knows that Slurm does not answer."""


class Violated(Exception):
    """Something happened that must never happen."""


@dataclass(frozen=True)
class Mark:
    """What an administrator has said of a node."""

    flag: str
    reason: str
    since: float


@dataclass
class Judge:
    kube: FakeKube
    slurm: FakeSlurm
    slurmds: Slurmds
    taking: Taking
    claims: Claims
    transcript: Transcript
    marks: dict[str, Mark] = field(default_factory=dict)
    silent_since: float | None = None
    writes: list[str] = field(default_factory=list)
    """Of operators; leases and events do not count."""
    found: list[str] = field(default_factory=list)

    def blame(self, what: str) -> None:
        self.found.append(what)
        self.transcript.say("JUDGE", what)

    def conclude(self) -> None:
        if self.found:
            raise Violated("; ".join(self.found))

    # --- Kubernetes --------------------------------------------------------------------------

    def _count(self, who: str) -> None:
        for wrong in (self.taking.look(), self.claims.look()):
            if wrong:
                self.blame(f"{who}: {wrong}")

    @contextmanager
    def over(self, who: str, request: Request[Any], *, late: bool = False) -> Iterator[None]:
        """Around a write of an operator to Kubernetes.

        A late one was sent long ago, and carries the version that it was decided on: no more can be
        asked of it.
        """
        late = late and b"resourceVersion" in (request.body or b"")
        before = self._going()
        pods = dict(self.kube.all(kinds.POD))
        yield
        if request.name[1] not in ("Lease", "Event"):
            self.writes.append(f"{who} {request.method} {request.path}")
        after = self._going()
        there = {pod["metadata"]["uid"] for _, pod in self.kube.all(kinds.POD)}
        for pod in pods.values():
            uid = pod["metadata"]["uid"]
            if uid not in before and (uid in after or uid not in there):
                self._taken(who, pod, late=late)
        self._count(who)

    def _going(self) -> set[str]:
        return {
            pod["metadata"]["uid"]
            for _, pod in self.kube.all(kinds.POD)
            if "deletionTimestamp" in pod["metadata"]
        }

    def _hurt(self, pod: Json) -> list[int]:
        """The jobs in a pod, but for those that came a moment ago."""
        inside = self.slurmds.jobs_in(pod["metadata"]["uid"])
        return [job for job in inside if self.slurmds.started(job) <= clock() - RACE]

    def _taken(self, who: str, pod: Json, *, late: bool) -> None:
        """A pod goes because of this write."""
        name = pod["metadata"]["name"]
        hurt = self._hurt(pod)
        unplaced = not pod["spec"].get("nodeName")
        ended = pod["status"].get("phase") in ("Succeeded", "Failed")
        if hurt and not (ended or late):
            self.blame(f"{who} deleted {name}, in which job {hurt[0]} was")
        if self._silent() and not (unplaced or ended or late):
            self.blame(f"{who} deleted {name} although Slurm does not answer")

    def evicted(self, pod: Json, *, clear: bool) -> None:
        """An eviction came through: where all is well, it is let through only without jobs."""
        hurt = self._hurt(pod)
        if hurt and clear:
            name = pod["metadata"]["name"]
            self.blame(f"{name} was evicted, in which job {hurt[0]} was")

    # --- Slurm -------------------------------------------------------------------------------

    def _silent(self) -> bool:
        return self.silent_since is not None and clock() > self.silent_since + NOTICED

    @contextmanager
    def over_slurm(self, who: str, message: Message) -> Iterator[None]:
        """Around a write of an operator to Slurm."""
        if self._silent():
            self.blame(f"{who} sent {message.method} {message.target} into the silence")
        self.writes.append(f"{who} {message.method} {message.target}")
        nodes = {name: _said(node) for name, node in self.slurm.cluster.nodes.items()}
        running = {job.job_id for job in self._running()}
        yield
        for job in running - {job.job_id for job in self._running()}:
            self.blame(f"{who} ended job {job} by {message.method} {message.target}")
        for name in [name for name in self.marks if name in nodes]:
            self._respected(who, name, nodes[name])
        self._count(who)

    def _respected(self, who: str, name: str, before: Said) -> None:
        """Whether what an administrator said still stands, if it stood before this write."""
        node, mark = self.slurm.cluster.nodes.get(name), self.marks[name]
        after = _said(node) if node is not None else ((), "forgotten")
        if _holds(mark, after) or not _stood(mark, before, after):
            return
        if node is None and self.taking.ends:
            del self.marks[name]  # with the whole NodeSet
            return
        if mark.since > clock() - RACE:
            del self.marks[name]
            self.transcript.say(who, f"overtakes the administrator on {name}")
            return
        self.blame(
            f"{who} made {before} of {name} into {after}, "
            f"which an administrator had set to {mark.flag}: {mark.reason}"
        )

    def _running(self) -> list[Any]:
        jobs = self.slurm.cluster.jobs.values()
        return [job for job in jobs if job.job_state == ["RUNNING"]]


def _said(node: Any) -> Said:
    return tuple(node.state or ()), node.reason


def _holds(mark: Mark, said: Said) -> bool:
    return mark.flag in said[0] and mark.reason == said[1]


def _stood(mark: Mark, before: Said, after: Said) -> bool:
    """A drain is his even if its reason has been lost, by whatever accident."""
    undrained = mark.flag == "DRAIN" and "DRAIN" in before[0] and "DRAIN" not in after[0]
    return undrained or _holds(mark, before)
