"""Every call to the API server as a frozen value, built by plain functions. Pure.

A Request says what to send and what type answers; `client.py` sends it. Names are checked here:
an empty name would turn the deletion of one object into the deletion of all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeVar
from urllib.parse import quote, urlencode

import msgspec

from windlass.kube.kinds import POD, Kind
from windlass.kube.meta import PartialObject
from windlass.kube.wire import (
    Added,
    Anything,
    Bookmark,
    Deleted,
    Failure,
    Modified,
    Page,
    WatchEvent,
)
from windlass.values.key import Key

T = TypeVar("T")

JSON: Final = "application/json"
APPLY: Final = "application/apply-patch+yaml"  # JSON is YAML
MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"
_METADATA: Final = "application/json;as={};v=v1;g=meta.k8s.io"

Propagation = Literal["Background", "Foreground", "Orphan"]
Subresource = Literal["", "status", "scale"]
Query = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One call, and the type of its answer."""

    method: str
    path: str
    expects: Any  # type[T], or a union that `type[T]` cannot say
    query: Query = ()
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    name: tuple[str, str] = ("", "")  # verb and kind, for those who count

    @property
    def target(self) -> str:
        """Path and query, as they stand in the request line."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path

    @property
    def safe(self) -> bool:
        """Whether sending it twice is the same as sending it once, whatever happened between."""
        return self.method == "GET"


class Sends(Protocol):
    """Whoever can have a request answered."""

    async def send(self, request: Request[T]) -> T: ...


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind; nothing given means all."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""
    metadata_only: bool = False

    @property
    def query(self) -> Query:
        return _given(labelSelector=self.labels, fieldSelector=self.fields)


EVERYTHING: Final = Selection()


@dataclass(frozen=True, slots=True)
class Paging:
    """Which page of a list, and as of when."""

    limit: int = 0
    token: str = ""
    version: str = ""
    match: Literal["", "Exact", "NotOlderThan"] = ""

    @property
    def query(self) -> Query:
        words = {"continue": self.token, "limit": str(self.limit or "")}
        return _given(**words, resourceVersion=self.version, resourceVersionMatch=self.match)


FROM_THE_START: Final = Paging()


@dataclass(frozen=True, slots=True)
class Deletion:
    """How to delete, and on which condition."""

    uid: str = ""
    version: str = ""
    propagation: Propagation = "Background"
    grace_seconds: int | None = None

    @property
    def body(self) -> bytes:
        options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        options["propagationPolicy"] = self.propagation
        if conditions := dict(_given(uid=self.uid, resourceVersion=self.version)):
            options["preconditions"] = conditions
        if self.grace_seconds is not None:
            options["gracePeriodSeconds"] = self.grace_seconds
        return msgspec.json.encode(options)


PLAINLY: Final = Deletion()


# --- reading -------------------------------------------------------------------------------


def get(kind: Kind, key: Key, expects: type[T]) -> Request[T]:
    return Request("GET", _object(kind, key), expects, name=_name("get", kind))


def get_metadata(kind: Kind, key: Key) -> Request[PartialObject]:
    accept = _METADATA.format("PartialObjectMetadata")
    name = _name("get", kind)
    return Request("GET", _object(kind, key), PartialObject, accept=accept, name=name)


def list_page(
    kind: Kind, expects: type[T], of: Selection = EVERYTHING, paging: Paging = FROM_THE_START
) -> Request[Page[T]]:
    accept = _METADATA.format("PartialObjectMetadataList") if of.metadata_only else JSON
    query = (*of.query, *paging.query)
    page = Page[expects]  # type: ignore[valid-type]
    path, name = _collection(kind, of.namespace), _name("list", kind)
    return Request("GET", path, page, query, accept=accept, name=name)


def watch(
    kind: Kind, expects: type[T], of: Selection, version: str, seconds: int
) -> Request[WatchEvent[T]]:
    """What changes after `version`; the server ends the watch after so many seconds."""
    accept = _METADATA.format("PartialObjectMetadata") if of.metadata_only else JSON
    words = _given(watch="true", allowWatchBookmarks="true", resourceVersion=version)
    query = (*of.query, *words, ("timeoutSeconds", str(seconds)))
    events = Added[expects] | Modified[expects] | Deleted[expects] | Bookmark | Failure  # type: ignore[valid-type]
    path, name = _collection(kind, of.namespace), _name("watch", kind)
    return Request("GET", path, events, query, accept=accept, name=name)


# --- writing -------------------------------------------------------------------------------


def create(kind: Kind, namespace: str, body: Any, expects: type[T]) -> Request[T]:
    path, data = _collection(kind, namespace), msgspec.json.encode(body)
    return Request("POST", path, expects, body=data, name=_name("create", kind))


def replace(
    kind: Kind, key: Key, body: Any, expects: type[T], subresource: Subresource = ""
) -> Request[T]:
    """Put a whole object in place; the resourceVersion in its metadata guards what was read."""
    path, data = _object(kind, key, subresource), msgspec.json.encode(body)
    return Request("PUT", path, expects, body=data, name=_name("update", kind, subresource))


@dataclass(frozen=True, slots=True)
class FieldManager:
    """In whose name fields are applied; `force` takes them from whoever has them."""

    name: str
    force: bool = True

    @property
    def query(self) -> Query:
        return _given(fieldManager=self.name, force="true" if self.force else "")


def apply(
    kind: Kind,
    body: Mapping[str, Any],
    manager: FieldManager,
    expects: type[T],
    subresource: Subresource = "",
) -> Request[T]:
    """Server-side apply of a rendered object, which brings its own name and namespace."""
    metadata = body.get("metadata") or {}
    key = Key(metadata.get("namespace", ""), metadata.get("name", ""))
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
    return Request(
        "PATCH",
        _object(kind, key, subresource),
        expects,
        manager.query,
        msgspec.json.encode(whole),
        APPLY,
        name=_name("apply", kind, subresource),
    )


def merge_patch(
    kind: Kind,
    key: Key,
    changes: Mapping[str, Any],
    expects: type[T],
    subresource: Subresource = "",
) -> Request[T]:
    path, name = _object(kind, key, subresource), _name("patch", kind, subresource)
    body = msgspec.json.encode(changes)
    return Request("PATCH", path, expects, body=body, content_type=MERGE_PATCH, name=name)


def json_patch(
    kind: Kind,
    key: Key,
    operations: Iterable[Mapping[str, Any]],
    expects: type[T],
    subresource: Subresource = "",
) -> Request[T]:
    path, name = _object(kind, key, subresource), _name("patch", kind, subresource)
    body = msgspec.json.encode(list(operations))
    return Request("PATCH", path, expects, body=body, content_type=JSON_PATCH, name=name)


class ScaleSpec(msgspec.Struct, frozen=True):
    replicas: int = 0


class ScaleStatus(msgspec.Struct, frozen=True):
    replicas: int = 0
    selector: str = ""


class Scale(msgspec.Struct, frozen=True):
    spec: ScaleSpec
    status: ScaleStatus = ScaleStatus()


def get_scale(kind: Kind, key: Key) -> Request[Scale]:
    return Request("GET", _object(kind, key, "scale"), Scale, name=_name("get", kind, "scale"))


def set_scale(kind: Kind, key: Key, replicas: int) -> Request[Scale]:
    return merge_patch(kind, key, {"spec": {"replicas": replicas}}, Scale, "scale")


def delete(kind: Kind, key: Key, how: Deletion = PLAINLY) -> Request[Anything]:
    path, name = _object(kind, key), _name("delete", kind)
    return Request("DELETE", path, Anything, body=how.body, name=name)


def delete_collection(kind: Kind, of: Selection, how: Deletion = PLAINLY) -> Request[Anything]:
    path, name = _collection(kind, of.namespace), _name("deletecollection", kind)
    return Request("DELETE", path, Anything, of.query, how.body, name=name)


def evict(pod: Key, how: Deletion = PLAINLY) -> Request[Anything]:
    """Ask for a pod's end in the way that disruption budgets may refuse (TooManyRequests)."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        "deleteOptions": msgspec.Raw(how.body),
    }
    return _of_pod(pod, "eviction", body)


def bind(
    pod: Key,
    uid: str,
    node: str,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Request[Anything]:
    """Give a pod its node; the uid keeps a namesake made meanwhile from being bound.

    The annotations are put on the pod in the same write, and so are the labels by API servers that
    have PodTopologyLabelsAdmission.
    """
    metadata: dict[str, Any] = {"name": pod.name, "namespace": pod.namespace, "uid": uid}
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": metadata,
        "target": {"apiVersion": "v1", "kind": "Node", "name": _named(node)},
    }
    return _of_pod(pod, "binding", body)


# --- paths ---------------------------------------------------------------------------------


def _of_pod(pod: Key, subresource: str, body: Any) -> Request[Anything]:
    path, name = _object(POD, pod, subresource), _name("create", POD, subresource)
    return Request("POST", path, Anything, body=msgspec.json.encode(body), name=name)


def _name(verb: str, kind: Kind, subresource: str = "") -> tuple[str, str]:
    return verb, f"{kind.kind}/{subresource}" if subresource else kind.kind


def _collection(kind: Kind, namespace: str) -> str:
    """All of a kind, or those of one namespace."""
    if not namespace:
        return f"{kind.root}/{kind.plural}"
    if not kind.namespaced:
        raise ValueError(f"{kind.kind} has no namespaces, but {namespace!r} was given")
    return f"{kind.root}/namespaces/{_quoted(namespace)}/{kind.plural}"


def _object(kind: Kind, key: Key, subresource: str = "") -> str:
    if kind.namespaced and not key.namespace:
        raise ValueError(f"{kind.kind} {key.name!r} needs a namespace")
    path = f"{_collection(kind, key.namespace)}/{_quoted(key.name)}"
    return f"{path}/{subresource}" if subresource else path


def _quoted(name: str) -> str:
    return quote(_named(name), safe="")


def _named(name: str) -> str:
    """The API server takes every name but these; an empty one would mean the whole collection."""
    if name in ("", ".", "..") or "/" in name or "%" in name:
        raise ValueError(f"{name!r} cannot be the name of an object")
    return name


def _given(**words: str) -> Query:
    return tuple((name, value) for name, value in words.items() if value)
