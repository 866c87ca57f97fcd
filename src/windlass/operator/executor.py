"""The only writer: carries out plans, and tells of every change it made or failed to make."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from windlass.kube.applying import Rendered, apply_if_different
from windlass.kube.errors import KubeError, NotFound
from windlass.kube.events import Happening, Regarding
from windlass.kube.kinds import POD, Kind
from windlass.kube.meta import Meta
from windlass.kube.objects import Pod
from windlass.kube.requests import Deletion, Sends
from windlass.kube.store import Store
from windlass.kube.wire import Document
from windlass.operator.kube_writes import MANAGER, KubeWrites, Taken, key_of, named
from windlass.operator.plan import (
    Action,
    Annotate,
    Apply,
    AtOnce,
    Body,
    ChangeNodes,
    Create,
    Delete,
    Finalize,
    ForgetNodes,
    Leaving,
    Mark,
    Own,
    Plan,
    Replace,
    RequeueJobs,
    Reserve,
    Retire,
    ShowConditions,
    Step,
    Tell,
    Unreserve,
)
from windlass.operator.slurm_writes import Slurms, SlurmWrites
from windlass.operator.slurms.seen import Seen
from windlass.operator.world import View
from windlass.slurm.errors import SlurmError, Unavailable
from windlass.values.hostlist import fold
from windlass.values.key import Key
from windlass.values.malformed import Malformed

__all__ = ["AT_ONCE", "MANAGER", "Executor", "Failure", "Records", "Subject", "Taken"]

AT_ONCE: Final = 16
"""Writes under way at the same time: with more, a small API server turns some away."""
FIRST_BATCH: Final = 8
LARGEST_BATCH: Final = 512
"""Each that waits for its turn takes memory, and more would not be faster."""


class Records(Protocol):
    """Where events go; it never waits."""

    def record(self, happening: Happening) -> None: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """The custom resource that a plan is for."""

    kind: Kind
    metadata: Meta

    @property
    def regarding(self) -> Regarding:
        at = self.metadata
        return Regarding(self.kind.api_version, self.kind.kind, at.namespace, at.name, at.uid)


@dataclass(frozen=True, slots=True)
class Failure:
    """An action that was not carried out."""

    action: Step
    error: KubeError | SlurmError

    def __str__(self) -> str:
        return f"{_verb(self.action)} {_target(self.action)}: {self.error}"


class Executor:
    def __init__(self, client: Sends, view: View, records: Records, slurms: Slurms) -> None:
        self._client = client
        self._kube = KubeWrites(client, view)
        self._slurm = SlurmWrites(slurms)
        self._records = records
        self._shown: dict[str, tuple[str, Body]] = {}
        """By uid: the version of the copy that a status was written over, and the status."""

    def follow(self, pods: Iterable[Store[Pod]]) -> None:
        """Know from the watch which pods that were made are shown."""
        self._kube.follow(pods)

    async def carry_out(self, subject: Subject, plan: Plan) -> list[Failure]:
        """Do it in order; what fails does not keep the rest from being done."""
        failures: list[Failure] = []
        for action in plan.actions:
            failed = await self._carried(subject, action, plan.slurm)
            if failed:
                self._tell_failures(subject, failed)
            failures += failed
        return failures

    async def show(self, subject: Subject, status: Body, live: Document) -> None:
        """Write the status where it differs from what is shown."""
        at = subject.metadata
        said = (live.metadata.resource_version, status)
        if self._shown.get(at.uid) == said:
            return  # the copy does not show yet what was written over it
        body = {"metadata": {"name": at.name, "namespace": at.namespace}, "status": status}
        rendered = Rendered(subject.kind, body, "status")
        try:
            if await apply_if_different(self._client, rendered, live, MANAGER) is not None:
                self._shown[at.uid] = said
        except NotFound:  # deleted meanwhile: nobody is left to read it
            self._shown.pop(at.uid, None)

    async def _carried(self, subject: Subject, action: Action, slurm: Key | None) -> list[Failure]:
        if isinstance(action, AtOnce):
            return await self._together(subject, action.actions, slurm)
        failure = await self._tried(subject, action, slurm, tell=True)
        return [failure] if failure else []

    async def _together(
        self, subject: Subject, steps: Sequence[Step], slurm: Key | None
    ) -> list[Failure]:
        """Ever more at a time, until all of a batch fails: then the rest would fail too."""
        places = asyncio.Semaphore(AT_ONCE)

        async def one(step: Step) -> Failure | None:
            async with places:
                return await self._tried(subject, step, slurm, tell=False)

        failures: list[Failure] = []
        for batch in _batches(steps):
            answers = await asyncio.gather(*(one(step) for step in batch))
            failed = [failure for failure in answers if failure]
            failures += failed
            if len(failed) == len(batch):
                break
        return failures

    async def _tried(
        self, subject: Subject, step: Step, slurm: Key | None, *, tell: bool
    ) -> Failure | None:
        try:
            await self._do(subject, step, slurm, tell=tell)
        except (KubeError, SlurmError) as error:
            return Failure(step, error)
        return None

    async def _do(self, subject: Subject, step: Step, slurm: Key | None, *, tell: bool) -> None:
        match step:
            case Tell(warning, reason, action):
                self._tell(subject, reason.code, action, reason.sentence, warning=warning)
            case Retire():
                await self._retire(subject, step, _meant(slurm))
            case ChangeNodes() | ForgetNodes() | Reserve() | Unreserve() | RequeueJobs():
                changed = await self._slurm.do(_meant(slurm), step)
                if changed and tell:
                    note = f"{_target(changed)}: {step.reason.sentence}"
                    self._tell(subject, step.reason.code, _verb(step), note)
            case _:
                done = await self._kube.do(subject.metadata, step)
                if done and tell:
                    self._tell(subject, *done)

    async def _retire(self, subject: Subject, step: Retire, slurm: Key) -> None:
        """Ask Slurm about all of them at once, and delete those that are free by its answer."""
        seen = await self._slurm.fresh(slurm)
        if seen is None:
            raise Unavailable("it did not say whether their nodes are free: they stay")
        places = asyncio.Semaphore(AT_ONCE)

        async def remove(pod: Leaving) -> bool:
            async with places:
                how = Deletion(uid=pod.uid, version=pod.version)
                return await self._kube.remove(POD, pod.key, how)

        free = [pod for pod in step.pods if _free(seen, pod.node, unknown=step.unknown)]
        gone = await asyncio.gather(*(remove(pod) for pod in free))
        names = [pod.key.name for pod, went in zip(free, gone, strict=True) if went]
        if names:
            note = f"{short(names)}: {step.reason.sentence}"
            self._tell(subject, step.reason.code, "Delete", note)

    def _tell(
        self, subject: Subject, reason: str, action: str, note: str, *, warning: bool = False
    ) -> None:
        self._records.record(Happening(subject.regarding, reason, action, note, warning))

    def _tell_failures(self, subject: Subject, failures: Sequence[Failure]) -> None:
        """The first of each sort, and how many there are of it."""
        sorts: dict[str, list[Failure]] = {}
        for failure in failures:
            sorts.setdefault(_verb(failure.action), []).append(failure)
        for verb, alike in sorts.items():
            more = f" (and {len(alike) - 1} more)" if len(alike) > 1 else ""
            self._tell(subject, f"{verb}Failed", verb, f"{alike[0]}{more}", warning=True)


def short(names: Sequence[str]) -> str:
    """Many names as a hostlist."""
    try:
        return fold(names)
    except Malformed:
        return ", ".join(names)


def _free(seen: Seen, node: str, *, unknown: bool) -> bool:
    return node not in seen.nodes if unknown else seen.free(node)


def _meant(slurm: Key | None) -> Key:
    if slurm is None:
        raise Unavailable("the plan does not say which Slurm is meant")
    return slurm


def _batches(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    start, size = 0, FIRST_BATCH
    while start < len(steps):
        yield steps[start : start + size]
        start, size = start + size, min(size * 2, LARGEST_BATCH)


def _verb(step: Step) -> str:
    match step:
        case Create():
            return "Create"
        case Delete() | Retire():
            return "Delete"
        case ChangeNodes() | ForgetNodes():
            return "SlurmNode"
        case Reserve() | Unreserve():
            return "SlurmReservation"
        case RequeueJobs():
            return "Requeue"
        case _:
            return "Patch"


def _target(step: Step) -> str:
    match step:
        case Apply(kind, body) | Create(kind, body) | Replace(kind, body):
            return named(kind, key_of(body))
        case Delete(kind, key) | Annotate(kind, key) | Mark(kind, key) | ShowConditions(kind, key):
            return named(kind, key)
        case Finalize(kind, key) | Own(kind, key):
            return named(kind, key)
        case ChangeNodes(names) | ForgetNodes(names):
            return short(names)
        case _:
            return _other(step)


def _other(step: Tell | Reserve | Unreserve | RequeueJobs | Retire) -> str:
    match step:
        case Retire(pods):
            return short([pod.key.name for pod in pods])
        case Reserve(spec):
            return spec.name
        case Unreserve(name):
            return name
        case RequeueJobs(jobs):
            return "jobs " + ", ".join(map(str, jobs))
        case Tell(reason=reason):
            return reason.code
