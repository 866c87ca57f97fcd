"""Where the volumes of a pod let it run. Pure.

A claim that is bound has its volume, which may be reachable from some nodes only. One that waits
for its first consumer is bound once a node is chosen: to a volume that there is, or to one that is
made for it where its class allows. Any other claim is bound by others, and waited for.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from windlass.bridge.selecting import selects
from windlass.kube.meta import LabelSelector, Meta, ObjectReference, Part, Quantity
from windlass.kube.objects import Node, Pod, Resources
from windlass.kube.placement import NO_TAINT, REQUIRED, refusal
from windlass.values import quantity
from windlass.values.key import Key
from windlass.values.reason import Reason

SELECTED: Final = "volume.kubernetes.io/selected-node"
BOUND: Final = "pv.kubernetes.io/bind-completed"
NOT_PROVISIONED: Final = "kubernetes.io/no-provisioner"
LATE: Final = "WaitForFirstConsumer"
ZONES: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
AVAILABLE: Final = "Available"
Terms: TypeAlias = tuple[Mapping[str, Any], ...]
"""Of a node selector: one must hold."""

# --- what is read ----------------------------------------------------------------------------


class ClaimSpec(Part, frozen=True, gc=False):
    storage_class_name: str | None = None
    volume_name: str = ""
    access_modes: list[str] | None = None
    volume_mode: str = "Filesystem"
    resources: Resources | None = None
    selector: LabelSelector | None = None


class Claim(Part, frozen=True, gc=False):
    metadata: Meta
    spec: ClaimSpec = ClaimSpec()


class Selector(Part, frozen=True, gc=False):
    node_selector_terms: list[dict[str, Any]] | None = None


class VolumeAffinity(Part, frozen=True, gc=False):
    required: Selector | None = None


class VolumeSpec(Part, frozen=True, gc=False):
    storage_class_name: str = ""
    capacity: dict[str, Quantity] | None = None
    access_modes: list[str] | None = None
    volume_mode: str = "Filesystem"
    claim_ref: ObjectReference | None = None
    node_affinity: VolumeAffinity | None = None


class VolumeStatus(Part, frozen=True, gc=False):
    phase: str = ""


class Volume(Part, frozen=True, gc=False):
    metadata: Meta
    spec: VolumeSpec = VolumeSpec()
    status: VolumeStatus = VolumeStatus()


class TopologyRequirement(Part, frozen=True, gc=False):
    key: str = ""
    values: list[str] | None = None


class TopologyTerm(Part, frozen=True, gc=False):
    match_label_expressions: list[TopologyRequirement] | None = None


class StorageClass(Part, frozen=True, gc=False):
    metadata: Meta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: list[TopologyTerm] | None = None


# --- what follows from it --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Candidate:
    """A volume that a claim may be bound to."""

    name: str
    version: str
    terms: Terms | None


@dataclass(frozen=True, slots=True)
class Mount:
    """What one claim of a pod asks of its node."""

    claim: Key
    uid: str
    bound: bool
    terms: Terms | None = None
    """None where any node will do."""
    selected: str = ""
    """The node that was chosen for a claim that is not bound yet."""
    candidates: tuple[Candidate, ...] = ()
    """The smallest first; where there are none one is made."""
    given: bool = False
    """A volume is the claim's, and only has to be bound."""


@dataclass(frozen=True, slots=True)
class Storage:
    """The claims of a gang's pods."""

    mounts: Mapping[Key, tuple[Mount, ...]] = field(default_factory=dict)
    waits: Reason | None = None
    """Why no node can be chosen yet."""

    @property
    def terms(self) -> tuple[Terms, ...]:
        """Of each of these one must hold."""
        every = (each.terms for mounts in self.mounts.values() for each in mounts)
        return tuple({repr(terms): terms for terms in every if terms is not None}.values())

    @property
    def unsettled(self) -> bool:
        """Whether a claim may yet be bound by another."""
        return any(not each.bound for mounts in self.mounts.values() for each in mounts)


def claims_of(pod: Pod) -> Iterator[tuple[Key, str]]:
    """The claims that a pod names, each with the UID that has to own it, if any has to."""
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
            yield Key(pod.metadata.namespace, name), ""
        elif volume.ephemeral is not None:
            name = f"{pod.metadata.name}-{volume.name}"
            yield Key(pod.metadata.namespace, name), pod.metadata.uid


def missing(claim: Key, found: Claim | None, owner: str) -> Reason | None:
    """Why a claim is none that a pod can use."""
    if found is None:
        return Reason("ClaimMissing", f"there is no claim {claim}")
    if found.metadata.deletion_timestamp is not None:
        return Reason("ClaimLeaving", f"claim {claim} is being deleted")
    controller = found.metadata.controller
    if owner and (controller is None or controller.uid != owner):
        return Reason("ClaimOfAnother", f"claim {claim} was not made for this pod")
    return None


def is_bound(claim: Claim) -> bool:
    return bool(claim.spec.volume_name) and BOUND in (claim.metadata.annotations or {})


def settled(claim: Claim, volume: Volume | None) -> Mount | Reason:
    """Of a claim that is bound."""
    at = claim.metadata.key
    if volume is None:
        return Reason(
            "VolumeMissing", f"volume {claim.spec.volume_name} of claim {at} is not there"
        )
    return Mount(at, claim.metadata.uid, bound=True, terms=_reach(volume))


def open_claim(
    claim: Claim, kind: StorageClass | None, volumes: Iterable[Volume]
) -> Mount | Reason:
    """Of a claim that is not bound; `volumes` are those of its class."""
    at = claim.metadata.key
    if kind is None or kind.volume_binding_mode != LATE or claim.spec.volume_name:
        return Reason("ClaimNotBound", f"claim {at} is not bound to a volume yet")
    every = list(volumes)
    if own := next((each for each in every if _was_given(each, claim)), None):
        return Mount(at, claim.metadata.uid, bound=False, terms=_reach(own), given=True)
    candidates = tuple(_candidates(claim, every))
    if not candidates and kind.provisioner in ("", NOT_PROVISIONED):
        return Reason("NoVolumeLeft", f"no volume of class {kind.metadata.name} fits claim {at}")
    made = kind.provisioner not in ("", NOT_PROVISIONED)
    selected = (claim.metadata.annotations or {}).get(SELECTED, "")
    terms = _allowed(kind) if made else _any_of(candidates)
    if selected:
        terms = (_field(selected),)
    return Mount(
        at,
        claim.metadata.uid,
        bound=False,
        terms=terms,
        selected=selected,
        candidates=() if made else candidates,
    )


def takes(terms: Terms | None, host: Node) -> bool:
    if terms is None:
        return True
    asked = {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}
    return refusal(asked, host, NO_TAINT) is None


def _reach(volume: Volume) -> Terms | None:
    """From which nodes it can be used: by its affinity, and by the labels of before those."""
    affinity = volume.spec.node_affinity
    required = affinity.required if affinity else None
    zones = [
        {"key": key, "operator": "In", "values": value.split("__")}
        for key in ZONES
        if (value := (volume.metadata.labels or {}).get(key))
    ]
    if required is None:
        return ({"matchExpressions": zones},) if zones else None
    return tuple(required.node_selector_terms or ())


def _was_given(volume: Volume, claim: Claim) -> bool:
    mine = volume.spec.claim_ref
    return mine is not None and mine.uid == claim.metadata.uid


def _candidates(claim: Claim, volumes: Iterable[Volume]) -> Iterator[Candidate]:
    fit = [volume for volume in volumes if _fits(claim, volume)]
    for volume in sorted(fit, key=lambda each: (_size(each), each.metadata.name)):
        meta = volume.metadata
        yield Candidate(meta.name, meta.resource_version, _reach(volume))


def _fits(claim: Claim, volume: Volume) -> bool:
    want, has, mine = claim.spec, volume.spec, volume.spec.claim_ref
    if has.storage_class_name != want.storage_class_name:
        return False
    if mine is not None and (mine.uid or mine.name):
        return False
    asked = _amount((want.resources.requests if want.resources else None) or {})
    return (
        volume.status.phase == AVAILABLE
        and volume.metadata.deletion_timestamp is None
        and set(want.access_modes or ()) <= set(has.access_modes or ())
        and want.volume_mode == has.volume_mode
        and asked <= _size(volume)
        and (want.selector is None or selects(want.selector, volume.metadata.labels))
    )


def _size(volume: Volume) -> int:
    return _amount(volume.spec.capacity or {})


def _amount(amounts: Mapping[str, Quantity]) -> int:
    said = amounts.get("storage", 0)
    return quantity.Quantity.parse(said if isinstance(said, int) else str(said)).nano


def _allowed(kind: StorageClass) -> Terms | None:
    if not kind.allowed_topologies:
        return None
    return tuple(
        {
            "matchExpressions": [
                {"key": each.key, "operator": "In", "values": each.values or []}
                for each in term.match_label_expressions or ()
            ]
        }
        for term in kind.allowed_topologies
    )


def _any_of(candidates: Sequence[Candidate]) -> Terms | None:
    """Volumes that are each on one host are many: their terms become one."""
    hosts: dict[str, list[str]] = {}
    rest: list[Mapping[str, Any]] = []
    for each in candidates:
        if each.terms is None:
            return None
        for term in each.terms:
            single = _single(term)
            if single is None:
                rest.append(term)
            else:
                hosts.setdefault(single[0], []).extend(single[1])
    joined = (
        {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
        for key, values in hosts.items()
    )
    return (*joined, *rest)


def _single(term: Mapping[str, Any]) -> tuple[str, list[str]] | None:
    """The one label that a term asks for, and its values."""
    asked = term.get("matchExpressions") or []
    if len(asked) != 1 or term.get("matchFields") or asked[0].get("operator") != "In":
        return None
    return asked[0]["key"], list(asked[0].get("values") or ())


def _field(node: str) -> Mapping[str, Any]:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
