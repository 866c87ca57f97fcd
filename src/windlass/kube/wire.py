"""The envelopes an API server sends objects in: pages of a list, events of a watch. Pure.

A watch event is typed only once its `type` is known: the object of a bookmark is a husk full of
nulls, the object of an error is a Status. msgspec's tagged unions do that in one pass.
"""

from typing import Any, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from windlass.kube.errors import Status
from windlass.kube.meta import Meta, Part, PartialObject

T = TypeVar("T")


class PageMeta(Part, frozen=True, gc=False):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")
    remaining_item_count: int | None = None


class Page(Struct, Generic[T], frozen=True):
    """One page of a list."""

    metadata: PageMeta
    items: list[T] | None = None


class Added(Struct, Generic[T], frozen=True, gc=False, tag="ADDED", tag_field="type"):
    object: T


class Modified(Struct, Generic[T], frozen=True, gc=False, tag="MODIFIED", tag_field="type"):
    object: T


class Deleted(Struct, Generic[T], frozen=True, gc=False, tag="DELETED", tag_field="type"):
    object: T


class Bookmark(Struct, frozen=True, gc=False, tag="BOOKMARK", tag_field="type"):
    """Nothing happened, up to the version in its metadata."""

    object: PartialObject


class Failure(Struct, frozen=True, gc=False, tag="ERROR", tag_field="type"):
    """The server ends the watch, and says why."""

    object: Status


WatchEvent: TypeAlias = Added[T] | Modified[T] | Deleted[T] | Bookmark | Failure


class Anything(Struct, frozen=True, gc=False):
    """An answer that nobody reads: an object, or the Status of a deletion."""


class Document:
    """A whole object as the server wrote it, with its metadata also at hand."""

    __slots__ = ("body", "metadata")

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.metadata = msgspec.convert(body.get("metadata") or {}, Meta)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document) and self.body == other.body

    def __hash__(self) -> int:
        return hash(self.metadata.uid)

    def __repr__(self) -> str:
        return f"Document({self.body.get('kind', '')} {self.metadata.key})"


def decoder(expects: Any) -> msgspec.json.Decoder[Any]:
    """A JSON decoder that also knows Document."""
    return msgspec.json.Decoder(expects, dec_hook=_document)


def _document(expects: type, value: Any) -> Any:
    if expects is Document and isinstance(value, dict):
        return Document(value)
    raise NotImplementedError(f"no way to read {expects}")
