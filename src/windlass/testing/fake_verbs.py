"""How the fake API server answers each verb, from the objects it keeps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from windlass.kube import kinds, requests
from windlass.kube.errors import Cause, KubeError
from windlass.kube.kinds import Kind
from windlass.kube.requests import Request
from windlass.testing import fake_deletion as deletion
from windlass.testing import fake_fields as fields
from windlass.testing import fake_patches as patches
from windlass.testing import fake_pods as pods
from windlass.testing import fake_refusals as refusals
from windlass.testing import fake_rules as rules
from windlass.testing import fake_services as services
from windlass.testing import fake_watch as watch
from windlass.testing.fake_objects import SERVER_OWNED, Json, Objects
from windlass.testing.fake_served import BORN, MADE_BY_PUT, Place, Served
from windlass.testing.fake_watch import View
from windlass.values.key import Key

_DONE: Final = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}'


@dataclass(frozen=True, slots=True)
class Call:
    """A request, taken apart."""

    request: Request[Any]
    place: Place
    served: Served

    @property
    def kind(self) -> Kind:
        return self.served.kind

    @property
    def key(self) -> Key:
        return self.place.key

    @property
    def query(self) -> dict[str, str]:
        return dict(self.request.query)

    @property
    def body(self) -> Any:
        return msgspec.json.decode(self.request.body or b"{}")

    @property
    def readable_body(self) -> Json:
        body = self.body
        if fault := rules.misshape(self.kind, body):
            raise refusals.bad_request(fault)
        return dict(body)

    @property
    def view(self) -> View:
        return View.of(self.kind, self.key.namespace, self.query, self.request.accept)

    def writing(self, operation: str, time: str) -> fields.Writing:
        """A client that names no manager is known by its user agent."""
        manager = self.query.get("fieldManager", "windlass")
        owner = fields.Owner(manager, operation, self.place.subresource)
        return fields.Writing(owner, self.kind.api_version, time, self.served.lists)


Verb = Callable[[Objects, Call], bytes]


def answer(objects: Objects, call: Call) -> bytes:
    name = (call.request.method, bool(call.key.name), call.place.subresource)
    verb = _VERBS.get(name)
    if verb is None or not _is_beside(call):
        raise refusals.unknown_path(call.request.path)
    return verb(objects, call)


def _is_beside(call: Call) -> bool:
    """Whether the kind has this subresource."""
    beside = {"": True, "status": call.served.status, "scale": call.served.scale}
    return beside.get(call.place.subresource, call.kind == kinds.POD)


# --- reading -------------------------------------------------------------------------------


def _get(objects: Objects, call: Call) -> bytes:
    return call.view.shown(objects.stored(call.kind, call.key))


def _list(objects: Objects, call: Call) -> bytes:
    return watch.page(objects, call.view, call.query)


# --- making --------------------------------------------------------------------------------


def _create(objects: Objects, call: Call) -> bytes:
    body = call.readable_body
    given = body.get("metadata") or {}
    if given.get("namespace", call.key.namespace) != call.key.namespace:
        raise refusals.bad_request("the namespace of the object is not that of the request")
    if given.get("resourceVersion"):
        raise refusals.version_on_creation()
    key = Key(call.key.namespace, call.key.name or _name(objects, call.kind, given))
    new = _new(call, key, body)
    owned = fields.updated({}, new, call.writing("Update", objects.time()))
    return _insert(objects, call, key, owned)


def _name(objects: Objects, kind: Kind, metadata: Json) -> str:
    if name := metadata.get("name"):
        return str(name)
    if base := metadata.get("generateName"):
        return objects.fresh_name(base)
    cause = Cause("FieldValueRequired", "name or generateName is required", "metadata.name")
    raise refusals.invalid(kind, "", [cause])


def _new(call: Call, key: Key, body: Json) -> Json:
    """The object as it is born: what only the server writes is not taken from the body."""
    given = body.get("metadata") or {}
    metadata = {name: given[name] for name in given if name not in SERVER_OWNED}
    identity = (
        {"name": key.name, "namespace": key.namespace} if key.namespace else {"name": key.name}
    )
    head = {"apiVersion": call.kind.api_version, "kind": call.kind.kind}
    new = {**head, **body, "metadata": {**metadata, **identity}, **BORN.get(call.kind, {})}
    if call.served.status and call.kind not in (*BORN, kinds.NODE):
        new.pop("status", None)
    return new


def _insert(objects: Objects, call: Call, key: Key, new: Json) -> bytes:
    if call.kind.namespaced:
        _check_namespace(objects, call.kind, key)
    rules.check_new(call.kind, new)
    if call.kind == kinds.SERVICE:
        new = services.addressed({}, new, objects.fresh_address)
    if call.served.counts_generations:
        new = {**new, "metadata": {**new["metadata"], "generation": 1}}
    objects.insert(call.kind, key, new)
    return objects.stored(call.kind, key).raw


def _check_namespace(objects: Objects, kind: Kind, key: Key) -> None:
    namespace = objects.get(kinds.NAMESPACE, Key("", key.namespace))
    if "deletionTimestamp" in namespace["metadata"]:
        raise refusals.namespace_ends(kind, key.name, key.namespace)


# --- changing ------------------------------------------------------------------------------


def _replace(objects: Objects, call: Call) -> bytes:
    body = call.readable_body
    if call.kind in MADE_BY_PUT and objects.find(call.kind, call.key) is None:
        return _create(objects, call)
    live = objects.get(call.kind, call.key)
    if call.served.custom or call.kind == kinds.LEASE:
        _check_versioned(call, body)
    return _update(objects, call, live, body)


def _check_versioned(call: Call, body: Json) -> None:
    if not (body.get("metadata") or {}).get("resourceVersion"):
        field = "metadata.resourceVersion"
        cause = Cause("FieldValueInvalid", "must be specified for an update", field)
        raise refusals.invalid(call.kind, call.key.name, [cause])


def _patch(objects: Objects, call: Call) -> bytes:
    if call.request.content_type == requests.APPLY:
        return _apply(objects, call)
    live = objects.get(call.kind, call.key)
    body = _patched(call, live)
    if fault := rules.misshape(call.kind, body):
        raise refusals.unprocessable(fault)
    return _update(objects, call, live, body)


def _patched(call: Call, document: Json) -> Any:
    if call.request.content_type == requests.MERGE_PATCH:
        return patches.merged(document, call.body)
    try:
        return patches.operated(document, call.body)
    except patches.Misfit as error:
        raise refusals.unprocessable(str(error)) from error


def _update(objects: Objects, call: Call, live: Json, body: Json) -> bytes:
    _guard(call, live, body.get("metadata") or {})
    new = _within(call, live, body)
    writing = call.writing("Update", objects.time())
    return _put(objects, call, live, fields.updated(live, new, writing))


def _guard(call: Call, live: Json, given: Json) -> None:
    """The name must be right; version and uid, where they are given, must be the live ones."""
    name = live["metadata"]["name"]
    if given.get("name", name) != name:
        raise refusals.bad_request("the name of the object is not that of the request")
    for field in ("resourceVersion", "uid"):
        if given.get(field) not in (None, "", live["metadata"][field]):
            raise _differs(call, name, field)


def _differs(call: Call, name: str, field: str) -> KubeError:
    """A patch with another uid counts as an attempt to change it."""
    if field == "uid" and call.request.method == "PATCH":
        cause = Cause("FieldValueInvalid", "field is immutable", "metadata.uid")
        return refusals.invalid(call.kind, name, [cause])
    why = f"the object has been modified ({field}); read it again"
    return refusals.conflict(call.kind, name, why)


def _within(call: Call, live: Json, body: Json) -> Json:
    """What a write may change: the status or all but the status, never what the server writes."""
    if call.place.subresource == "status":
        return {**live, "status": body.get("status") or {}}
    given = body.get("metadata") or {}
    metadata = {name: given[name] for name in given if name not in SERVER_OWNED}
    metadata |= {name: live["metadata"][name] for name in SERVER_OWNED & live["metadata"].keys()}
    new = {**body, "apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": metadata}
    if call.served.status:
        new.pop("status", None)
        new |= {"status": live["status"]} if "status" in live else {}
    return new


def _apply(objects: Objects, call: Call) -> bytes:
    config = call.readable_body
    if "managedFields" in (config.get("metadata") or {}):
        raise refusals.bad_request("metadata.managedFields must be nil")
    live = objects.find(call.kind, call.key)
    if live is None and call.place.subresource:
        raise refusals.not_found(call.kind, call.key.name)
    if live is not None:
        _guard(call, live, config["metadata"])
    base = _new(call, call.key, {}) if live is None else live
    new = _merged(objects, call, base, _appliable(call, config))
    if live is None:
        return _insert(objects, call, call.key, new)
    return _put(objects, call, live, new)


def _appliable(call: Call, config: Json) -> Json:
    """The part of a configuration that this path takes."""
    if call.place.subresource == "status":
        return {"status": config.get("status") or {}}
    given = config.get("metadata") or {}
    metadata = {name: given[name] for name in given if name not in SERVER_OWNED}
    taken = {**config, "metadata": metadata}
    if call.served.status:
        taken.pop("status", None)
    return taken


def _merged(objects: Objects, call: Call, base: Json, config: Json) -> Json:
    force = call.query.get("force") == "true"
    try:
        return fields.applied(base, config, call.writing("Apply", objects.time()), force=force)
    except fields.Contested as error:
        raise refusals.conflict(call.kind, call.key.name, str(error), error.causes) from error


def _put(objects: Objects, call: Call, live: Json, new: Json) -> bytes:
    if call.kind == kinds.SERVICE:
        new = services.addressed(live, new, objects.fresh_address)
    rules.check_change(call.kind, live, new)
    if call.served.counts_generations and _meaning(live) != _meaning(new):
        generation = live["metadata"]["generation"] + 1
        new = {**new, "metadata": {**new["metadata"], "generation": generation}}
    return msgspec.json.encode(deletion.write(objects, call.kind, call.key, new))


def _meaning(body: Json) -> Json:
    return {name: value for name, value in body.items() if name not in ("metadata", "status")}


# --- scale ---------------------------------------------------------------------------------


def _get_scale(objects: Objects, call: Call) -> bytes:
    return msgspec.json.encode(_scale(objects.get(call.kind, call.key)))


def _set_scale(objects: Objects, call: Call) -> bytes:
    live = objects.get(call.kind, call.key)
    scale = call.body if call.request.method == "PUT" else _patched(call, _scale(live))
    _guard(call, live, scale.get("metadata") or {})
    spec = {**live["spec"], "replicas": scale["spec"].get("replicas", 0)}
    new = fields.updated(live, {**live, "spec": spec}, call.writing("Update", objects.time()))
    _put(objects, call, live, new)
    return _get_scale(objects, call)


def _scale(live: Json) -> Json:
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    spec, status = live.get("spec") or {}, live.get("status") or {}
    labels = ((spec.get("selector") or {}).get("matchLabels") or {}).items()
    selector = status.get("selector") or ",".join(f"{key}={value}" for key, value in sorted(labels))
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: live["metadata"][name] for name in names},
        "spec": {"replicas": spec.get("replicas", 1)},
        "status": {"replicas": status.get("replicas", 0), "selector": selector},
    }


# --- ending --------------------------------------------------------------------------------


def _delete(objects: Objects, call: Call) -> bytes:
    deletion.delete(objects, call.kind, call.key, call.body)
    return _DONE


def _delete_all(objects: Objects, call: Call) -> bytes:
    view, options = call.view, call.body
    for key, _ in objects.all(call.kind):
        # What was deleted with its owner is no longer there to be deleted.
        if objects.find(call.kind, key) and view.sees(objects.stored(call.kind, key)):
            deletion.delete(objects, call.kind, key, options)
    return _DONE


def _evict(objects: Objects, call: Call) -> bytes:
    pods.evict(objects, call.key, call.body.get("deleteOptions") or {})
    return _DONE


def _bind(objects: Objects, call: Call) -> bytes:
    pods.bind(objects, call.key, call.body)
    return _DONE


_VERBS: Final[Mapping[tuple[str, bool, str], Verb]] = {
    ("GET", False, ""): _list,
    ("POST", False, ""): _create,
    ("DELETE", False, ""): _delete_all,
    **{("GET", True, beside): _get for beside in ("", "status")},
    **{("PUT", True, beside): _replace for beside in ("", "status")},
    **{("PATCH", True, beside): _patch for beside in ("", "status")},
    ("DELETE", True, ""): _delete,
    ("GET", True, "scale"): _get_scale,
    ("PUT", True, "scale"): _set_scale,
    ("PATCH", True, "scale"): _set_scale,
    ("POST", True, "eviction"): _evict,
    ("POST", True, "binding"): _bind,
}
