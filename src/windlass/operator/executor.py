"""The only writer: carries out plans, and tells of every change it made or failed to make."""

from dataclasses import dataclass
from typing import Protocol

from windlass.kube import requests
from windlass.kube.applying import Rendered, apply_if_different
from windlass.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from windlass.kube.events import Happening, Regarding
from windlass.kube.kinds import Kind
from windlass.kube.meta import Meta
from windlass.kube.requests import Deletion, FieldManager, Sends
from windlass.kube.wire import Anything, Document
from windlass.operator.namesakes import for_that_one
from windlass.operator.plan import (
    Action,
    Annotate,
    Apply,
    Body,
    Create,
    Delete,
    Label,
    Plan,
    Replace,
    ShowConditions,
    Tell,
)
from windlass.operator.showing import show_conditions
from windlass.operator.world import CONTENT, View
from windlass.values.key import Key

MANAGER = FieldManager("windlass-operator")


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


class Taken(KubeError):
    """Something of that name is there and is somebody else's."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An action that was not carried out."""

    action: Action
    error: KubeError

    def __str__(self) -> str:
        return f"{_verb(self.action)} {_target(self.action)}: {self.error}"


class Executor:
    def __init__(self, client: Sends, view: View, records: Records) -> None:
        self._client = client
        self._view = view
        self._records = records

    async def carry_out(self, subject: Subject, plan: Plan) -> list[Failure]:
        """Do it in order; what fails does not keep the rest from being done."""
        failures = []
        for action in plan.actions:
            try:
                await self._do(subject, action)
            except KubeError as error:
                failures.append(Failure(action, error))
                self._tell_failure(subject, failures[-1])
        return failures

    async def show(self, subject: Subject, status: Body, live: Document) -> None:
        """Write the status where it differs from what is shown."""
        at = subject.metadata
        body = {"metadata": {"name": at.name, "namespace": at.namespace}, "status": status}
        rendered = Rendered(subject.kind, body, "status")
        try:
            await apply_if_different(self._client, rendered, live, MANAGER)
        except NotFound:
            return  # deleted meanwhile: nobody is left to read it

    async def _do(self, subject: Subject, action: Action) -> None:
        match action:
            case Apply(kind, body):
                await self._apply(subject, kind, body)
            case Create(kind, body):
                await self._create(subject, kind, body)
            case Replace(kind, body):
                await self._replace(subject, kind, body)
            case Delete(kind, key, _, reason):
                if await self._delete(action):
                    note = f"{named(kind, key)}: {reason}"
                    self._tell(subject, "DeleteSucceeded", "Delete", note)
            case Annotate() | Label() | ShowConditions():
                await self._touch(action)
            case Tell(warning, reason, done):
                self._tell(subject, reason.code, done, reason.sentence, warning=warning)

    async def _apply(self, subject: Subject, kind: Kind, body: Body) -> None:
        key = _key(body)
        live = await self._live(kind, key)
        applied = await apply_if_different(self._client, Rendered(kind, body), live, MANAGER)
        if applied is None:
            return
        if live is None:
            self._tell(subject, "CreateSucceeded", "Create", f"made {named(kind, key)}")
        else:
            fields = ", ".join(applied.fields[:5]) + ("…" if len(applied.fields) > 5 else "")
            self._tell(subject, "PatchSucceeded", "Patch", f"changed {named(kind, key)}: {fields}")

    async def _create(self, subject: Subject, kind: Kind, body: Body) -> None:
        key = _key(body)
        if await self._live(kind, key) is not None:
            return
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        try:
            await self._client.send(requests.create(kind, key.namespace, whole, Anything))
        except AlreadyExists:
            await self._check_ours(subject, kind, key)
            return
        self._tell(subject, "CreateSucceeded", "Create", f"made {named(kind, key)}")

    async def _check_ours(self, subject: Subject, kind: Kind, key: Key) -> None:
        """What we made a moment ago may not be in the cache yet; what others made is no success."""
        found = await self._client.send(requests.get(kind, key, Document))
        owners = found.metadata.owner_references or ()
        if owners and subject.metadata.uid not in {owner.uid for owner in owners}:
            raise Taken(
                f"{named(kind, key)} is there and belongs to {owners[0].kind} {owners[0].name}"
            )

    async def _replace(self, subject: Subject, kind: Kind, body: Body) -> None:
        """Its pods live on as orphans and are taken over by what is applied next."""
        key = _key(body)
        live = await self._live(kind, key)
        if live is not None:
            how = Deletion(uid=live.metadata.uid, propagation="Orphan")
            await self._client.send(requests.delete(kind, key, how))
            self._tell(subject, "DeleteSucceeded", "Delete", f"made anew: {named(kind, key)}")
        await self._client.send(requests.apply(kind, body, MANAGER, Anything))

    async def _delete(self, action: Delete) -> bool:
        """Whether it was there to be deleted, as it was seen; if not, the watch will tell us."""
        how = Deletion(uid=action.uid, version=action.version)
        try:
            await self._client.send(requests.delete(action.kind, action.key, how))
        except (NotFound, Conflict):
            return False
        return True

    async def _touch(self, action: Annotate | Label | ShowConditions) -> None:
        """Change a little of what others write, too."""
        match action:
            case Annotate(kind, key, annotations):
                changes = {"metadata": {"annotations": dict(annotations)}}
                await self._client.send(requests.merge_patch(kind, key, changes, Anything))
            case Label(kind, key, uid, labels):
                marked = {"metadata": {"uid": uid, "labels": dict(labels)}}
                with for_that_one():
                    await self._client.send(requests.merge_patch(kind, key, marked, Anything))
            case ShowConditions():
                await show_conditions(self._client, action)

    async def _live(self, kind: Kind, key: Key) -> Document | None:
        return await self._view.read(kind, key) if kind in CONTENT else self._view.get(kind, key)

    def _tell(
        self, subject: Subject, reason: str, action: str, note: str, *, warning: bool = False
    ) -> None:
        self._records.record(Happening(subject.regarding, reason, action, note, warning))

    def _tell_failure(self, subject: Subject, failure: Failure) -> None:
        verb = _verb(failure.action)
        self._tell(subject, f"{verb}Failed", verb, str(failure), warning=True)


def named(kind: Kind, key: Key) -> str:
    return f"{kind.kind} {key.name}"


def _key(body: Body) -> Key:
    metadata = body["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])


def _verb(action: Action) -> str:
    return {Create: "Create", Delete: "Delete"}.get(type(action), "Patch")


def _target(action: Action) -> str:
    match action:
        case Apply(kind, body) | Create(kind, body) | Replace(kind, body):
            return named(kind, _key(body))
        case Delete(kind, key) | Annotate(kind, key) | Label(kind, key) | ShowConditions(kind, key):
            return named(kind, key)
        case Tell(reason=reason):
            return reason.code
