"""Custom resources as their types."""

from typing import TypeVar

import msgspec

from windlass.kube.wire import Document

T = TypeVar("T")


def decode(document: Document, type_: type[T]) -> T:
    """The object as its type; msgspec's error names the field that does not fit."""
    return msgspec.convert(document.body, type_)
