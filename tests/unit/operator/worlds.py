"""A world of given objects, for what rooms read."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from windlass.kube.kinds import POD, Kind
from windlass.kube.objects import Pod
from windlass.kube.wire import Document
from windlass.values.key import Key


class GivenWorld:
    """Pods are kept slim, all else whole, as in the operator's caches."""

    def __init__(self, objects: Iterable[tuple[Kind, dict[str, Any]]]) -> None:
        self.read_keys: list[Key] = []
        self._objects: dict[tuple[Kind, Key], Any] = {}
        for kind, body in objects:
            kept = msgspec.convert(body, Pod) if kind == POD else Document(body)
            self._objects[kind, kept.metadata.key] = kept

    def get(self, kind: Kind, key: Key) -> Any:
        return self._objects.get((kind, key))

    async def read(self, kind: Kind, key: Key) -> Document | None:
        self.read_keys.append(key)
        found: Document | None = self._objects.get((kind, key))
        return found

    def by(self, kind: Kind, index: str, value: str) -> Sequence[Any]:
        found = (kept for (of, _), kept in self._objects.items() if of == kind)
        return [kept for kept in found if _indexed(kept, index) == value]


def _indexed(kept: Any, index: str) -> str:
    if index == "owner":
        owner = kept.metadata.controller
        return owner.uid if owner else ""
    assert index == "controller", f"there is no index {index!r}"
    return str(Key(kept.metadata.namespace, kept.body["spec"]["controllerRef"]["name"]))
