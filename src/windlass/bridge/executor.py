"""The only writer of the bridge: carries out plans, and tells of what it did to pods."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from windlass.bridge import words
from windlass.bridge.claim_writer import ClaimWriter
from windlass.bridge.device_writer import DeviceWriter
from windlass.bridge.dra import DeviceClaim
from windlass.bridge.ends import Ends
from windlass.bridge.link import Link
from windlass.bridge.phases.explain import CONDITION
from windlass.bridge.phases.group import CONDITION as GROUP_CONDITION
from windlass.bridge.plan import (
    Action,
    DeletePod,
    EndJob,
    Explain,
    InKube,
    Mark,
    PlaceClaim,
    Plan,
    Release,
    Seat,
    Submit,
    Target,
    TellGroup,
    UpdateJob,
)
from windlass.bridge.reservations import Reservations
from windlass.bridge.seats import Seats
from windlass.kube import kinds, requests
from windlass.kube.errors import Conflict, Invalid, NotFound
from windlass.kube.events import Happening, Regarding
from windlass.kube.kinds import POD
from windlass.kube.requests import Deletion, FieldManager, Request, Sends
from windlass.kube.wire import Anything
from windlass.slurm import requests as slurm
from windlass.slurm.errors import Absent, Refused, SlurmError, Unauthorized
from windlass.values.moments import written
from windlass.values.reason import Reason

MANAGER: Final = FieldManager("windlass-bridge")
AT_ONCE: Final = 32
"""Writes of one plan, and of all plans to the API server: hundreds at once would make everybody
wait, those that watch for what was written too."""
REMEMBERED: Final = 10_000


class NotYet(Exception):
    """It has to be looked at again in a moment."""


class Records(Protocol):
    """Where events go; it never waits."""

    def record(self, happening: Happening) -> None: ...


@dataclass(frozen=True, slots=True)
class Telling:
    """To whom things are told, and when it is."""

    records: Records
    now: Callable[[], datetime]
    seats: Seats


class Executor:
    def __init__(self, client: Sends, link: Link, ends: Ends, telling: Telling) -> None:
        self._client = client
        self._link = link
        self._ends = ends
        self._records = telling.records
        self._now = telling.now
        self._seats = telling.seats
        self._seated: dict[str, tuple[int, str]] = {}
        """By uid: what was written, for as long as the watch may not show it yet."""
        self._marked: dict[str, None] = {}
        self._ending: dict[int, None] = {}
        self.reservations = Reservations(lambda: telling.now().timestamp())
        self._writing = asyncio.Semaphore(AT_ONCE)
        self._claims = ClaimWriter(client)
        self._devices = DeviceWriter(client, telling.now)

    async def carry_out(self, plan: Plan) -> None:
        """Stage by stage; raises the first failure of a stage once all of it was tried."""
        for stage in plan.stages:
            await self._together(stage)

    async def _together(self, stage: Sequence[Action]) -> None:
        places = asyncio.Semaphore(AT_ONCE)

        async def one(action: Action) -> None:
            async with places:
                await self._do(action)

        answers = await asyncio.gather(*(one(each) for each in stage), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer

    async def _do(self, action: Action) -> None:
        match action:
            case Submit():
                await self._submit(action)
            case UpdateJob(job, spec):
                await self._update(job, spec)
            case EndJob():
                await self._end(action)
            case _:
                async with self._writing:
                    await self._do_in_kube(action)

    async def _do_in_kube(self, action: InKube) -> None:
        match action:
            case Seat():
                await self._seat(action)
            case Mark():
                await self._mark(action)
            case PlaceClaim():
                await self._claims.place(action)
            case Release(pod, claim):
                await self._devices.take_back(pod, claim)
                await self._release(pod)
            case DeletePod(pod, reason):
                await self._delete(pod, reason)
            case Explain():
                await self._explain(action)
            case TellGroup():
                await self._tell_group(action)

    # --- Slurm -------------------------------------------------------------------------------

    async def _submit(self, action: Submit) -> None:
        try:
            await self._link.submit(action.marker, action.spec)
        except (Refused, Unauthorized) as error:
            reason, now = Reason("SlurmRefused", f"Slurm said: {error}"), written(self._now())
            for pod in action.pods:
                await self._explain(Explain(pod, reason, now, now, event=True))
            raise

    async def _update(self, job: int, spec: Any) -> None:
        try:
            await self._link.write(slurm.update_job(job, spec))
        except Absent:
            return
        await self._link.refresh(job)

    async def _end(self, action: EndJob) -> None:
        """Once: the mirror may show it for a moment longer."""
        if action.job in self._ending:
            return
        _remember(self._ending, action.job, None)
        try:
            await self._ends.end(action.job, action.outcome)
        except SlurmError:
            self._ending.pop(action.job, None)
            raise

    # --- Kubernetes --------------------------------------------------------------------------

    async def _seat(self, seat: Seat) -> None:
        pod, written = seat.pod, (seat.job, seat.node)
        if seat.job in self._ending or self._seated.get(pod.uid) == written:
            return  # a job that we gave up a moment ago may still be shown as running
        if not self.reservations.take(pod.uid, seat.node, seat.ports):
            raise NotYet(f"another pod is getting a port of {seat.node} that {pod.key} wants")
        if seat.devices is not None and not await self._equip(seat, seat.devices):
            return
        self._seats.take(pod, seat.job, seat.node)
        try:
            await self._client.send(_binding(seat))
        except NotFound:
            self._seats.leave(pod.key)
            return
        except Conflict:  # bound by then, or being deleted: the watch will tell us
            pass
        _remember(self._seated, pod.uid, written)
        self._link.bound(seat.job)

    async def _equip(self, seat: Seat, devices: DeviceClaim) -> bool:
        """Whether the pod was there. Its claim has to go with it, so it is held from now on; and it
        keeps its node, of which the devices are."""
        if not seat.noted and not await self._note(seat):
            return False
        return await self._devices.give(seat.pod, devices, seat.node)

    async def _note(self, seat: Seat) -> bool:
        """Whether the pod was there to be written on."""
        metadata: dict[str, Any] = {
            "uid": seat.pod.uid,
            "labels": {words.JOB_ID: str(seat.job)},
            "annotations": {words.NODE: seat.node},
        }
        if words.FINALIZER not in seat.finalizers:
            metadata["finalizers"] = [*seat.finalizers, words.FINALIZER]
        return await self._patched(seat.pod, {"metadata": metadata})

    async def _mark(self, action: Mark) -> None:
        """Where it does not fit, the pod is another or leaves, or others have written on it: the
        watch will tell us."""
        if action.pod.uid in self._marked:
            return  # the watch may not show it for a moment
        request = requests.json_patch(POD, action.pod.key, action.operations, Anything)
        with suppress(NotFound, Invalid):
            await self._client.send(request)
            _remember(self._marked, action.pod.uid, None)

    async def _release(self, pod: Target) -> None:
        """Finalizers of others are in the same list: it is written only as it was just read."""
        try:
            found = await self._client.send(requests.get_metadata(POD, pod.key))
        except NotFound:
            return
        shown = found.metadata.finalizers or []
        if found.metadata.uid != pod.uid or words.FINALIZER not in shown:
            return
        rest = [each for each in shown if each != words.FINALIZER]
        version = found.metadata.resource_version
        changes = {"uid": pod.uid, "resourceVersion": version, "finalizers": rest}
        await self._patched(pod, {"metadata": changes})

    async def _delete(self, pod: Target, reason: Reason) -> None:
        try:
            await self._client.send(requests.delete(POD, pod.key, Deletion(uid=pod.uid)))
        except (NotFound, Conflict):
            return
        self._tell(pod, reason, "Delete", warning=True)

    async def _explain(self, action: Explain) -> None:
        pod, reason = action.pod, action.reason
        condition = {
            "type": CONDITION,
            "status": "False",
            "reason": reason.code,
            "message": reason.sentence,
            "lastTransitionTime": action.since,
            "lastProbeTime": action.now,
        }
        at = {"name": pod.key.name, "namespace": pod.key.namespace, "uid": pod.uid}
        body = {"metadata": at, "status": {"conditions": [condition]}}
        try:
            await self._client.send(requests.apply(POD, body, MANAGER, Anything, "status"))
        except (NotFound, Conflict, Invalid):  # of another uid, or gone
            return
        if action.event:
            self._tell(pod, reason, "Wait")

    async def _tell_group(self, action: TellGroup) -> None:
        condition = {
            "type": GROUP_CONDITION,
            "status": action.status,
            "reason": action.reason.code,
            "message": action.reason.sentence,
            "observedGeneration": action.generation,
            "lastTransitionTime": action.since,
        }
        at = {"name": action.group.name, "namespace": action.group.namespace, "uid": action.uid}
        body = {"metadata": at, "status": {"conditions": [condition]}}
        request = requests.apply(kinds.CORE_POD_GROUP, body, MANAGER, Anything, "status")
        with suppress(NotFound, Conflict, Invalid):
            await self._client.send(request)

    async def _patched(self, pod: Target, changes: dict[str, Any]) -> bool:
        try:
            await self._client.send(requests.merge_patch(POD, pod.key, changes, Anything))
        except NotFound:
            return False
        except Invalid as error:
            if any(cause.field == "metadata.uid" for cause in error.causes):
                return False
            raise
        return True

    def _tell(self, pod: Target, reason: Reason, action: str, *, warning: bool = False) -> None:
        kind = kinds.POD
        at = Regarding(kind.api_version, kind.kind, pod.key.namespace, pod.key.name, pod.uid)
        self._records.record(Happening(at, reason.code, action, reason.sentence, warning))


def _binding(seat: Seat) -> Request[Anything]:
    number = {words.JOB_ID: str(seat.job)}
    notes = {**number, words.NODE: seat.node}
    pod = seat.pod
    return requests.bind(pod.key, pod.uid, seat.node, labels=number, annotations=notes)


def _remember(kept: dict[Any, Any], key: Any, value: Any) -> None:
    """The oldest go first."""
    kept[key] = value
    while len(kept) > REMEMBERED:
        kept.pop(next(iter(kept)))
