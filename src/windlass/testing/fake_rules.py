"""The few rules the fake API server checks: names, labels, what is required, what is immutable."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from windlass.kube import kinds
from windlass.kube.errors import Cause
from windlass.kube.kinds import Kind
from windlass.testing import fake_refusals as refusals
from windlass.testing import fake_selectors as selectors

Json = dict[str, Any]

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"(?=.{1,253}$)[a-z0-9]([-.a-z0-9]*[a-z0-9])?")
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?)?")
_MICRO_TIME: Final = re.compile(r".*T\d\d:\d\d:\d\d\.\d{6}.*")
_MICRO_TIMES: Final[Mapping[Kind, tuple[tuple[str, ...], ...]]] = {
    kinds.LEASE: (("spec", "renewTime"), ("spec", "acquireTime")),
    kinds.EVENT: (("eventTime",), ("series", "lastObservedTime")),
}
_LABEL_NAMED: Final = frozenset({kinds.NAMESPACE, kinds.SERVICE})
_FREELY_NAMED: Final = frozenset(
    {kinds.ROLE, kinds.ROLE_BINDING, kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING}
)
_OF_PODS: Final = frozenset(
    {kinds.DEPLOYMENT, kinds.STATEFUL_SET, kinds.REPLICA_SET, kinds.DAEMON_SET}
)
_CHANGEABLE: Final[Mapping[Kind, frozenset[str]]] = {
    kinds.STATEFUL_SET: frozenset(
        [
            "replicas",
            "ordinals",
            "template",
            "updateStrategy",
            "revisionHistoryLimit",
            "minReadySeconds",
            "persistentVolumeClaimRetentionPolicy",
        ]
    ),
    kinds.POD: frozenset(
        ["activeDeadlineSeconds", "terminationGracePeriodSeconds", "tolerations", "schedulingGates"]
    ),
}


# --- the shape of a body -------------------------------------------------------------------


def misshape(kind: Kind, body: Any) -> str | None:
    """Why the real server could not even decode it."""
    if not isinstance(body, dict):
        return "the body is no object"
    for name in ("metadata", "spec", "status", "data"):
        if not isinstance(body.get(name) or {}, dict):
            return f"{kind.kind}.{name}: cannot read {body[name]!r} as a map"
    for path in _MICRO_TIMES.get(kind, ()):
        text = _at(body, path)
        if text is not None and not _MICRO_TIME.fullmatch(text):
            return f"{'.'.join(path)}: {text!r} lacks the six digits of a MicroTime"
    return None


def _at(body: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        body = (body or {}).get(name)
    return body


# --- a new object --------------------------------------------------------------------------


def check_new(kind: Kind, body: Json) -> None:
    causes = [*_metadata(kind, body["metadata"])]
    if kind == kinds.POD:
        causes += _pod_spec(body.get("spec") or {}, "spec")
    if kind in _OF_PODS:
        causes += _template(body.get("spec") or {})
    _refuse(kind, body, causes)


def _metadata(kind: Kind, metadata: Json) -> Iterator[Cause]:
    name = metadata["name"]
    pattern = _LABEL if kind in _LABEL_NAMED else _SUBDOMAIN
    if kind not in _FREELY_NAMED and not pattern.fullmatch(name):
        yield _wrong("metadata.name", f"{name!r} must be lower case letters, digits, - and .")
    for value in (metadata.get("labels") or {}).values():
        if not _LABEL_VALUE.fullmatch(value):
            yield _wrong("metadata.labels", f"{value!r} must be at most 63 letters, digits, -_.")


def _pod_spec(spec: Json, at: str) -> Iterator[Cause]:
    containers = spec.get("containers") or []
    if not containers:
        yield _required(f"{at}.containers")
    for place, container in enumerate(containers):
        where = f"{at}.containers[{place}]"
        if not _LABEL.fullmatch(container.get("name", "")):
            yield _wrong(f"{where}.name", "must be lower case letters, digits and -")
        if not container.get("image"):
            yield _required(f"{where}.image")


def _template(spec: Json) -> Iterator[Cause]:
    selector, template = spec.get("selector"), spec.get("template") or {}
    if not selector:
        yield _required("spec.selector")
    elif not selectors.matches(selector, (template.get("metadata") or {}).get("labels") or {}):
        yield _wrong("spec.template.metadata.labels", "`selector` does not match template `labels`")
    yield from _pod_spec(template.get("spec") or {}, "spec.template.spec")


# --- a changed object ----------------------------------------------------------------------


def check_change(kind: Kind, old: Json, new: Json) -> None:
    causes = [*_metadata(kind, new["metadata"]), *_finalizers(old["metadata"], new["metadata"])]
    before, after = old.get("spec") or {}, new.get("spec") or {}
    if kind in _OF_PODS:
        causes += _template(after)
    if kind in _OF_PODS - {kinds.STATEFUL_SET} and before.get("selector") != after.get("selector"):
        causes.append(_wrong("spec.selector", refusals.IMMUTABLE))
    if kind in _CHANGEABLE and _rest(kind, before) != _rest(kind, after):
        causes.append(Cause("FieldValueForbidden", "updates to these fields are forbidden", "spec"))
    if kind in (kinds.CONFIG_MAP, kinds.SECRET):
        causes += _kept_data(old, new)
    if kind == kinds.SERVICE:
        causes += _kept_address(before, after)
    _refuse(kind, new, causes)


def _rest(kind: Kind, spec: Json) -> Json:
    """What must stay; of the containers of a pod the image may change."""
    kept = {name: value for name, value in spec.items() if name not in _CHANGEABLE[kind]}
    if kind != kinds.POD:
        return kept
    containers = [{**each, "image": ""} for each in spec.get("containers") or ()]
    return {**kept, "containers": containers}


def _finalizers(old: Json, new: Json) -> Iterator[Cause]:
    """An object that ends takes no new finalizers."""
    added = set(new.get("finalizers") or ()) - set(old.get("finalizers") or ())
    if added and "deletionTimestamp" in old:
        message = f"no new finalizers can be added if the object is being deleted, found {added}"
        yield Cause("FieldValueForbidden", message, "metadata.finalizers")


def _kept_address(before: Json, after: Json) -> Iterator[Cause]:
    had, has = before.get("clusterIP"), after.get("clusterIP")
    if had and has and had != has:
        yield _wrong("spec.clusterIPs[0]", "may not change once set")


def _kept_data(old: Json, new: Json) -> Iterator[Cause]:
    if old.get("type") != new.get("type"):
        yield _wrong("type", refusals.IMMUTABLE)
    if old.get("immutable"):
        for field in ("immutable", "data", "binaryData"):
            if old.get(field) != new.get(field):
                message = "field is immutable when `immutable` is set"
                yield Cause("FieldValueForbidden", message, field)


def _refuse(kind: Kind, body: Json, causes: list[Cause]) -> None:
    if causes:
        raise refusals.invalid(kind, body["metadata"]["name"], causes)


def _wrong(field: str, message: str) -> Cause:
    return Cause("FieldValueInvalid", message, field)


def _required(field: str) -> Cause:
    return Cause("FieldValueRequired", "Required value", field)
