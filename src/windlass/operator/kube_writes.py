"""Actions on Kubernetes, carried out; each answers with what is to be told of it, if anything."""

import asyncio
from collections.abc import Iterable
from typing import Final, TypeAlias

import msgspec

from windlass.kube import requests
from windlass.kube.applying import Rendered, apply_if_different
from windlass.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from windlass.kube.kinds import POD, Kind
from windlass.kube.meta import Meta
from windlass.kube.objects import Pod
from windlass.kube.requests import Deletion, FieldManager, Sends
from windlass.kube.store import Store
from windlass.kube.wire import Anything, Document
from windlass.operator.namesakes import for_that_one
from windlass.operator.plan import (
    Annotate,
    Apply,
    Body,
    Create,
    Delete,
    Finalize,
    Mark,
    Own,
    Replace,
    ShowConditions,
)
from windlass.operator.showing import show_conditions
from windlass.operator.world import CONTENT, View
from windlass.values.key import Key

MANAGER = FieldManager("windlass-operator")
WATCH_LAG: Final = 5.0
"""Seconds in which a watch shows what was made."""

Done: TypeAlias = tuple[str, str, str] | None
"""The reason, the action and the note of an event."""
KubeStep: TypeAlias = (
    Apply | Create | Replace | Delete | Annotate | Mark | ShowConditions | Finalize | Own
)


class Taken(KubeError):
    """Something of that name is there and is somebody else's."""


class KubeWrites:
    def __init__(self, client: Sends, view: View) -> None:
        self._client = client
        self._view = view
        self._made: dict[Key, float] = {}
        """Pods that were made and are not in the copies yet, and since when."""
        self._follows = False

    def follow(self, pods: Iterable[Store[Pod]]) -> None:
        """Make no pod twice while the watch is on its way to show it."""
        self._follows = True
        for store in pods:
            store.subscribe(self._shown)

    def _shown(self, old: Pod | None, new: Pod | None) -> None:
        item = new or old
        if item is not None:
            self._made.pop(item.metadata.key, None)

    async def do(self, owner: Meta, step: KubeStep) -> Done:
        match step:
            case Apply(kind, body):
                return await self._apply(kind, body)
            case Create(kind, body):
                return await self._create(owner, kind, body)
            case Replace(kind, body):
                return await self._replace(kind, body)
            case Delete():
                return await self._delete(step)
            case _:
                await self._touch(step)
                return None

    async def _apply(self, kind: Kind, body: Body) -> Done:
        key = key_of(body)
        live = await self._live(kind, key)
        applied = await apply_if_different(self._client, Rendered(kind, body), live, MANAGER)
        if applied is None:
            return None
        if live is None:
            return "CreateSucceeded", "Create", f"made {named(kind, key)}"
        fields = ", ".join(applied.fields[:5]) + ("…" if len(applied.fields) > 5 else "")
        return "PatchSucceeded", "Patch", f"changed {named(kind, key)}: {fields}"

    async def _create(self, owner: Meta, kind: Kind, body: Body) -> Done:
        key = key_of(body)
        if await self._live(kind, key) is not None:
            return None
        if kind == POD and self._just_made(key):
            return None
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        try:
            await self._client.send(requests.create(kind, key.namespace, whole, Anything))
        except AlreadyExists:
            await self._check_ours(owner, kind, key)
            return None
        if kind == POD and self._follows:
            self._made[key] = asyncio.get_running_loop().time()
        return "CreateSucceeded", "Create", f"made {named(kind, key)}"

    def _just_made(self, key: Key) -> bool:
        """Whether the watch has not had its time yet to show what was made."""
        since = self._made.get(key)
        return since is not None and asyncio.get_running_loop().time() - since < WATCH_LAG

    async def _check_ours(self, owner: Meta, kind: Kind, key: Key) -> None:
        """What we made a moment ago may not be in the cache yet; what others made is no success."""
        found = await self._client.send(requests.get(kind, key, Document))
        owners = found.metadata.owner_references or ()
        if owners and owner.uid not in {each.uid for each in owners}:
            raise Taken(
                f"{named(kind, key)} is there and belongs to {owners[0].kind} {owners[0].name}"
            )

    async def _replace(self, kind: Kind, body: Body) -> Done:
        """Its pods live on as orphans and are taken over by what is applied next."""
        key = key_of(body)
        live = await self._live(kind, key)
        if live is not None:
            how = Deletion(uid=live.metadata.uid, propagation="Orphan")
            await self._client.send(requests.delete(kind, key, how))
        await self._client.send(requests.apply(kind, body, MANAGER, Anything))
        return ("DeleteSucceeded", "Delete", f"made anew: {named(kind, key)}") if live else None

    async def _delete(self, step: Delete) -> Done:
        if not await self.remove(step.kind, step.key, Deletion(uid=step.uid, version=step.version)):
            return None
        return "DeleteSucceeded", "Delete", f"{named(step.kind, step.key)}: {step.reason}"

    async def remove(self, kind: Kind, key: Key, how: Deletion) -> bool:
        """Whether it was there to be deleted, as it was seen; if not, the watch will tell us."""
        try:
            await self._client.send(requests.delete(kind, key, how))
        except (NotFound, Conflict):
            return False
        return True

    async def _touch(self, step: Annotate | Mark | ShowConditions | Finalize | Own) -> None:
        """Change a little of what others write, too."""
        match step:
            case Annotate(kind, key, annotations):
                changes = {"metadata": {"annotations": dict(annotations)}}
                await self._client.send(requests.merge_patch(kind, key, changes, Anything))
            case Mark(kind, key):
                with for_that_one():
                    await self._client.send(requests.merge_patch(kind, key, _marks(step), Anything))
            case ShowConditions():
                await show_conditions(self._client, step)
            case Finalize():
                with for_that_one():
                    await self._finalize(step)
            case Own():
                with for_that_one():
                    await self._own(step)

    async def _finalize(self, step: Finalize) -> None:
        """Finalizers of others are in the same list: it is written only as it was just read."""
        found = await self._client.send(requests.get_metadata(step.kind, step.key))
        shown = found.metadata.finalizers or []
        kept = [each for each in shown if each not in step.remove]
        wanted = [*kept, *(each for each in step.add if each not in kept)]
        if found.metadata.uid == step.uid and wanted != shown:
            version = found.metadata.resource_version
            changes = {"uid": step.uid, "resourceVersion": version, "finalizers": wanted}
            request = requests.merge_patch(step.kind, step.key, {"metadata": changes}, Anything)
            await self._client.send(request)

    async def _own(self, step: Own) -> None:
        """Owners of others are in the same list, too."""
        found = await self._client.send(requests.get_metadata(step.kind, step.key))
        shown = found.metadata.owner_references or []
        kept = [each for each in shown if each.uid not in step.remove]
        known = {each.uid for each in kept}
        new = [each for each in step.add if each["uid"] not in known]
        if found.metadata.uid == step.uid and (new or kept != shown):
            owners = [*(msgspec.to_builtins(each) for each in kept), *new]
            version = found.metadata.resource_version
            changes = {"uid": step.uid, "resourceVersion": version, "ownerReferences": owners}
            request = requests.merge_patch(step.kind, step.key, {"metadata": changes}, Anything)
            await self._client.send(request)

    async def _live(self, kind: Kind, key: Key) -> Document | None:
        return await self._view.read(kind, key) if kind in CONTENT else self._view.get(kind, key)


def _marks(step: Mark) -> Body:
    changes: Body = {"uid": step.uid}
    if step.labels:
        changes["labels"] = dict(step.labels)
    if step.annotations:
        changes["annotations"] = dict(step.annotations)
    return {"metadata": changes}


def named(kind: Kind, key: Key) -> str:
    return f"{kind.kind} {key.name}"


def key_of(body: Body) -> Key:
    metadata = body["metadata"]
    return Key(metadata.get("namespace", ""), metadata["name"])
