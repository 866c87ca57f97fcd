"""One NodeSet on an API server: its history read, an older revision written back, its rollout told
until it is done."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.cli import node_sets
from windlass.kube import kinds, requests
from windlass.kube.errors import NotFound
from windlass.kube.meta import PartialObject
from windlass.kube.objects import ControllerRevision
from windlass.kube.requests import Selection, Sends
from windlass.kube.wire import Anything
from windlass.operator.workers import words
from windlass.values.key import Key

EVERY: Final = 1.0
"""Seconds between two looks."""


@dataclass(frozen=True, slots=True)
class OneNodeSet:
    client: Sends
    key: Key
    say: Callable[[str], None]

    async def history(self, now: datetime) -> None:
        found = await self._read()
        pods = requests.list_page(kinds.POD, PartialObject, _selection(found, metadata_only=True))
        items = (await self.client.send(pods)).items or ()
        given = (each.metadata.labels or {} for each in items)
        workers = Counter(each.get(labels.REVISION, "") for each in given)
        self.say(node_sets.history(found, await self._revisions(found), workers, now))

    async def rollback(self, to: int | None) -> None:
        """Raises NoSuchRevision, and Conflict if the NodeSet is changed meanwhile."""
        found = await self._read()
        back = node_sets.rollback(found, await self._revisions(found), to)
        name = f"NodeSet {self.key.name}"
        if not back.changed:
            self.say(f"{name} is as revision {back.number} says already")
            return
        patch = requests.json_patch(kinds.NODE_SET, self.key, back.operations, Anything)
        await self.client.send(patch)
        self.say(f"{name} is as in revision {back.number}; changed: {', '.join(back.changed)}")
        for hint in node_sets.hints(found):
            self.say(hint)

    async def status(self) -> bool:
        """Say how it is, and answer whether all is as wanted."""
        found = node_sets.rollout(await self._read())
        self.say(f"NodeSet {self.key.name}: {found.sentence}")
        return found.done

    async def follow(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Say each thing that is new, until all is as wanted or the NodeSet is gone."""
        last = node_sets.rollout(await self._read())
        self.say(f"NodeSet {self.key.name}: {last.sentence}")
        while not last.done:
            await sleep(EVERY)
            try:
                found = node_sets.rollout(await self._read())
            except NotFound:
                self.say(f"NodeSet {self.key.name} is gone")
                return
            if found.sentence != last.sentence:
                self.say(f"NodeSet {self.key.name}: {found.sentence}")
            last = found

    async def _read(self) -> NodeSet:
        return await self.client.send(requests.get(kinds.NODE_SET, self.key, NodeSet))

    async def _revisions(self, of: NodeSet) -> list[ControllerRevision]:
        kind = kinds.CONTROLLER_REVISION
        page = await self.client.send(requests.list_page(kind, ControllerRevision, _selection(of)))
        return node_sets.of_the_set(of.metadata, page.items or ())


def _selection(of: NodeSet, *, metadata_only: bool = False) -> Selection:
    wanted = words.selector_labels(of.metadata).items()
    text = ",".join(f"{name}={value}" for name, value in wanted)
    return Selection(of.metadata.namespace, labels=text, metadata_only=metadata_only)
