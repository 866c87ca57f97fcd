"""Everything that a pass over a NodeSet reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from windlass.api import names
from windlass.api.node_set import NodeSet
from windlass.kube import kinds
from windlass.kube.meta import Meta
from windlass.kube.objects import ControllerRevision, Pod
from windlass.kube.objects import Node as Host
from windlass.kube.wire import Document
from windlass.operator.keys import entry
from windlass.operator.membership import Membership, membership
from windlass.operator.reading import decode
from windlass.operator.site import Site
from windlass.operator.slurmctld.changes import SLURMD, restart_part
from windlass.operator.slurmctld.files import SLURM_CONF
from windlass.operator.slurms.seen import Seen, SeesSlurm, silent
from windlass.operator.workers.hosts import Places, places
from windlass.operator.workers.identity import ON_EVERY_HOST, host_of, mode_of
from windlass.operator.world import View
from windlass.values.key import Key

LENGTH: Final = 10


@dataclass(frozen=True, kw_only=True)
class Observed:
    node_set: NodeSet
    membership: Membership | None = None
    siblings: tuple[Meta, ...] = ()
    """The NodeSets of the same Controller that stay, this one among them."""
    pods: tuple[Pod, ...] = ()
    strangers: frozenset[str] = frozenset()
    """Names of pods that look like ours and belong to somebody else, or to a set that is gone."""
    sssd_conf: bytes | None = field(default=None, repr=False)
    start_conf: str = ""
    """A fingerprint of what slurmd reads of slurm.conf only when it starts; empty if unknown."""
    slurm: Seen | None = field(default=None, repr=False)
    """None where Slurm did not answer."""
    claims: tuple[Meta, ...] = field(default=(), repr=False)
    """PersistentVolumeClaims of its workers, also of those that are gone."""
    hosts: Mapping[str, Host] = field(default_factory=dict, repr=False)
    """Kubernetes nodes by name: all where each shall have a worker, else those that have or had
    one."""
    revisions: tuple[ControllerRevision, ...] = field(default=(), repr=False)
    """All of its name, also those of a set that is gone."""
    site: Site = field(default_factory=Site)

    @property
    def desired(self) -> int:
        """How many workers there should be."""
        return len(self._wanted_on) if self.on_every_host else self.node_set.spec.replicas

    @property
    def on_every_host(self) -> bool:
        return self.node_set.spec.scaling_mode == ON_EVERY_HOST

    @cached_property
    def places(self) -> Places:
        """Where workers belong, if every host shall have one."""
        return places(self.node_set, self.hosts) if self.on_every_host else Places()

    @cached_property
    def _wanted_on(self) -> frozenset[str]:
        """The hosts that should have a worker, and those that may keep theirs."""
        there = (host_of(pod) for pod in self.pods if mode_of(pod) == ON_EVERY_HOST)
        return self.places.fit.union(self.places.stay.intersection(there))


@dataclass(frozen=True, slots=True)
class Observer:
    """Reads for a pass; what it is made with is the same for all of them."""

    site: Site
    slurm: SeesSlurm = silent

    async def observe(self, view: View, document: Document) -> Observed:
        node_set = decode(document, NodeSet)
        meta = node_set.metadata
        cluster = await membership(view, meta.namespace, node_set.spec.controller_ref)
        found = view.pods(kinds.NODE_SET, meta.key)
        return Observed(
            node_set=node_set,
            membership=cluster,
            siblings=_siblings(view, node_set),
            pods=tuple(pod for pod in found if _owns(meta, pod)),
            strangers=frozenset(pod.metadata.name for pod in found if not _owns(meta, pod)),
            sssd_conf=await _sssd_conf(view, node_set),
            start_conf=await _start_conf(view, cluster),
            slurm=self.slurm(cluster.controller) if cluster else None,
            claims=tuple(each.metadata for each in view.claims(meta.key)),
            hosts=_hosts(view, node_set, found),
            revisions=tuple(decode(each, ControllerRevision) for each in view.revisions(meta.key)),
            site=self.site,
        )


def _hosts(view: View, node_set: NodeSet, pods: list[Pod]) -> Mapping[str, Host]:
    if node_set.spec.scaling_mode == ON_EVERY_HOST:
        return {each.metadata.name: each for each in view.hosts()}
    names = {pod.spec.node_name for pod in pods if pod.spec.node_name}
    names.update((node_set.status.ordinal_to_node or {}).values())
    return {name: found for name in names if (found := view.host(name))}


def _owns(owner: Meta, pod: Pod) -> bool:
    manager = pod.metadata.controller
    return manager is not None and manager.uid == owner.uid


def _siblings(view: View, node_set: NodeSet) -> tuple[Meta, ...]:
    meta = node_set.metadata
    cluster = (kinds.CONTROLLER, Key(meta.namespace, node_set.spec.controller_ref.name))
    found = (each.metadata for each in view.referring(kinds.NODE_SET, cluster))
    staying = {each.name: each for each in found if each.deletion_timestamp is None}
    staying[meta.name] = meta
    return tuple(staying[name] for name in sorted(staying))


async def _start_conf(view: View, cluster: Membership | None) -> str:
    """Of a Slurm that is outside we do not know the slurm.conf."""
    if cluster is None or cluster.controller.spec.external:
        return ""
    meta = cluster.controller.metadata
    found = await view.read(kinds.CONFIG_MAP, Key(meta.namespace, names.config(meta.name)))
    text = ((found.body.get("data") or {}) if found else {}).get(SLURM_CONF)
    return restart_part(text, SLURMD)[:LENGTH] if text else ""


async def _sssd_conf(view: View, node_set: NodeSet) -> bytes | None:
    reference = node_set.spec.ssh.sssd_conf_ref
    if reference is None:
        return None
    found = await view.read(kinds.SECRET, Key(node_set.metadata.namespace, reference.name))
    return entry(found.body, reference.key) if found else None
