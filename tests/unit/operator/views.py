"""A view over objects that a test names."""

from typing import Any

import msgspec

from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.meta import PartialObject
from windlass.kube.objects import Node, Pod
from windlass.kube.wire import Document
from windlass.operator.references import Reference, references
from windlass.operator.world import served_by
from windlass.values.key import Key

REVISION = kinds.CONTROLLER_REVISION


class FakeView:
    """What is put in is seen; the order of putting is the order of age."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.objects: dict[tuple[Kind, Key], Document] = {}
        self.running: list[Pod] = []

    def put(self, kind: Kind, name: str, **fields: Any) -> Document:
        metadata = {"name": name, "namespace": self.namespace, "uid": f"{kind.kind}-{name}"}
        document = Document({"metadata": metadata, **fields})
        self.objects[(kind, Key(self.namespace, name))] = document
        return document

    def put_pod(self, name: str, labels: dict[str, str]) -> None:
        metadata = {"name": name, "namespace": self.namespace, "labels": labels}
        self.running.append(msgspec.convert({"metadata": metadata}, Pod))

    def get(self, kind: Kind, key: Key) -> Document | None:
        assert kind not in (kinds.SECRET, kinds.CONFIG_MAP), "content has to be read"
        return self.objects.get((kind, key))

    async def read(self, kind: Kind, key: Key) -> Document | None:
        return self.objects.get((kind, key))

    def referring(self, kind: Kind, to: Reference) -> list[Document]:
        return [
            each
            for (of, _), each in self.objects.items()
            if of == kind and to in references(of, each)
        ]

    def pods(self, of: Kind, key: Key) -> list[Pod]:
        return [pod for pod in self.running if (of, key) in served_by(pod)]

    def revisions(self, of: Key) -> list[Document]:
        found = (each for (kind, _), each in self.objects.items() if kind == REVISION)
        return [each for each in found if (kinds.NODE_SET, of) in served_by(each)]

    def claims(self, of: Key) -> list[PartialObject]:
        return [
            PartialObject(metadata=each.metadata)
            for (kind, _), each in self.objects.items()
            if kind == kinds.PERSISTENT_VOLUME_CLAIM and (kinds.NODE_SET, of) in served_by(each)
        ]

    def host(self, name: str) -> Node | None:
        return next((each for each in self.hosts() if each.metadata.name == name), None)

    def hosts(self) -> list[Node]:
        return []
