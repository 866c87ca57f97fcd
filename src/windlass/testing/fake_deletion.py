"""How objects of the fake API server end: grace, finalizers, owners and what they own.

What a cluster's garbage collector would do soon after is done at once, in the same call.
"""

from collections.abc import Mapping
from typing import Any, Final

from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.testing import fake_refusals as refusals
from windlass.testing.fake_objects import Json, Objects, owners
from windlass.values.key import Key

FOREGROUND: Final = "foregroundDeletion"
_GRACE: Final = 30


def delete(objects: Objects, kind: Kind, key: Key, options: Mapping[str, Any]) -> None:
    """Delete one object, or mark it for the time when nothing holds it any more."""
    live = objects.get(kind, key)
    _check(kind, live, options.get("preconditions") or {})
    how = options.get("propagationPolicy", "Background")
    if how == "Orphan":
        _disown(objects, live["metadata"]["uid"])
    marked = _marked(objects, kind, live, options)
    write(objects, kind, key, marked)
    if how == "Foreground" and objects.find(kind, key) is not None:
        _delete_dependents(objects, marked["metadata"]["uid"])
        _release(objects, kind, key)


def write(objects: Objects, kind: Kind, key: Key, body: Json) -> Json:
    """Write an object; one that was marked goes instead, if this write lets go of it."""
    if "deletionTimestamp" not in body["metadata"] or _held(kind, body):
        return objects.write(kind, key, body)
    _remove(objects, kind, key)
    return body


def tick(objects: Objects) -> None:
    """Let happen what time brings: pods whose grace is over go, namespaces that end are emptied."""
    now = objects.time()
    for key, pod in objects.all(kinds.POD):
        if pod["metadata"].get("deletionTimestamp", "9999") <= now:
            delete(objects, kinds.POD, key, {"gracePeriodSeconds": 0})
    for key, namespace in objects.all(kinds.NAMESPACE):
        if "deletionTimestamp" in namespace["metadata"]:
            _empty(objects, key)


# --- marks ---------------------------------------------------------------------------------


def _check(kind: Kind, live: Json, conditions: Mapping[str, str]) -> None:
    for field, wanted in conditions.items():
        found = live["metadata"][field]
        if found != wanted:
            why = f"precondition failed: {field} is {found}, not {wanted}"
            raise refusals.conflict(kind, live["metadata"]["name"], why)


def _marked(objects: Objects, kind: Kind, live: Json, options: Mapping[str, Any]) -> Json:
    metadata = dict(live["metadata"])
    grace = _grace(kind, live, options.get("gracePeriodSeconds"))
    if grace < metadata.get("deletionGracePeriodSeconds", grace + 1):
        metadata["deletionTimestamp"] = objects.time(grace)
        metadata["deletionGracePeriodSeconds"] = grace
        if "generation" in metadata:
            metadata["generation"] += 1
    if options.get("propagationPolicy") == "Foreground":
        held = metadata.get("finalizers") or []
        metadata["finalizers"] = list(dict.fromkeys((*held, FOREGROUND)))
    if kind == kinds.NAMESPACE:
        return {**live, "metadata": metadata, "status": {"phase": "Terminating"}}
    return {**live, "metadata": metadata}


def _grace(kind: Kind, live: Json, asked: int | None) -> int:
    """Only pods that may run somewhere are given time."""
    spec, phase = live.get("spec") or {}, (live.get("status") or {}).get("phase")
    if kind != kinds.POD or not spec.get("nodeName") or phase in ("Succeeded", "Failed"):
        return 0
    return int(spec.get("terminationGracePeriodSeconds", _GRACE) if asked is None else asked)


def _held(kind: Kind, body: Json) -> bool:
    metadata = body["metadata"]
    waits = kind == kinds.POD and metadata["deletionGracePeriodSeconds"] > 0
    return bool(metadata.get("finalizers")) or waits or kind == kinds.NAMESPACE


# --- what hangs together -------------------------------------------------------------------


def _remove(objects: Objects, kind: Kind, key: Key) -> None:
    gone = objects.remove(kind, key)
    if kind == kinds.CUSTOM_RESOURCE_DEFINITION:
        _forget(objects, gone["spec"]["group"], gone["spec"]["names"]["plural"])
    uid = gone["metadata"]["uid"]
    for dependent, place in objects.dependents(uid):
        _lose_owner(objects, dependent, place, uid)
    for owner in owners(gone):
        _release_owner(objects, key.namespace, owner)


def _lose_owner(objects: Objects, kind: Kind, key: Key, uid: str) -> None:
    live = objects.find(kind, key)
    if live is None:
        return
    others = [owner for owner in owners(live) if owner["uid"] != uid]
    if others:
        _own(objects, kind, key, others)
    else:
        delete(objects, kind, key, {})


def _own(objects: Objects, kind: Kind, key: Key, references: list[Json]) -> None:
    live = objects.get(kind, key)
    metadata = {**live["metadata"], "ownerReferences": references}
    objects.write(kind, key, {**live, "metadata": metadata})


def _disown(objects: Objects, uid: str) -> None:
    for kind, key in objects.dependents(uid):
        kept = [owner for owner in owners(objects.get(kind, key)) if owner["uid"] != uid]
        _own(objects, kind, key, kept)


def _delete_dependents(objects: Objects, uid: str) -> None:
    for kind, key in objects.dependents(uid):
        if objects.find(kind, key) is not None:
            delete(objects, kind, key, {"propagationPolicy": "Foreground"})


def _release_owner(objects: Objects, namespace: str, owner: Json) -> None:
    """An owner that waits for its dependents may go with the last of them."""
    for kind in objects.kinds():
        if (kind.api_version, kind.kind) == (owner.get("apiVersion"), owner.get("kind")):
            _release(objects, kind, Key(namespace if kind.namespaced else "", owner["name"]))


def _release(objects: Objects, kind: Kind, key: Key) -> None:
    live = objects.find(kind, key)
    if live is None or FOREGROUND not in (live["metadata"].get("finalizers") or ()):
        return
    uid = live["metadata"]["uid"]
    if any(_blocks(objects.get(*dependent), uid) for dependent in objects.dependents(uid)):
        return
    left = [name for name in live["metadata"]["finalizers"] if name != FOREGROUND]
    metadata = {**live["metadata"], "finalizers": left}
    write(objects, kind, key, {**live, "metadata": metadata})


def _blocks(dependent: Json, uid: str) -> bool:
    return any(
        owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners(dependent)
    )


def _empty(objects: Objects, namespace: Key) -> None:
    inside = [
        (kind, key)
        for kind in objects.kinds()
        for key, _ in objects.all(kind)
        if key.namespace == namespace.name
    ]
    for kind, key in inside:
        if objects.find(kind, key) is not None:
            delete(objects, kind, key, {})
    if not any(objects.find(kind, key) for kind, key in inside):
        objects.remove(kinds.NAMESPACE, namespace)


def _forget(objects: Objects, group: str, plural: str) -> None:
    """The objects of a custom kind go with its definition."""
    for kind in objects.kinds():
        if (kind.group, kind.plural) == (group, plural):
            for key, _ in objects.all(kind):
                objects.remove(kind, key)
