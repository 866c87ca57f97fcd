"""Everything that a pass over a NodeSet reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from windlass.api.controller import Controller
from windlass.api.node_set import NodeSet
from windlass.kube import kinds
from windlass.kube.meta import Meta
from windlass.kube.objects import Pod
from windlass.kube.wire import Document
from windlass.operator.keys import entry
from windlass.operator.membership import Membership, membership
from windlass.operator.reading import decode
from windlass.operator.site import Site
from windlass.operator.world import View
from windlass.slurm.model import Node
from windlass.values.key import Key

SlurmNodes: TypeAlias = Mapping[str, Node]
SeesSlurm: TypeAlias = Callable[[Controller], SlurmNodes | None]


def silent(_: Controller) -> SlurmNodes | None:
    """Slurm, where nobody asks it."""
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    node_set: NodeSet
    membership: Membership | None = None
    siblings: tuple[Meta, ...] = ()
    """The NodeSets of the same Controller that stay, this one among them."""
    pods: tuple[Pod, ...] = ()
    strangers: frozenset[str] = frozenset()
    """Names of pods that look like ours and belong to somebody else, or to a set that is gone."""
    sssd_conf: bytes | None = field(default=None, repr=False)
    slurm: SlurmNodes | None = field(default=None, repr=False)
    """Slurm's nodes by name; None where Slurm did not answer."""
    site: Site = field(default_factory=Site)


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
            slurm=self.slurm(cluster.controller) if cluster else None,
            site=self.site,
        )


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


async def _sssd_conf(view: View, node_set: NodeSet) -> bytes | None:
    reference = node_set.spec.ssh.sssd_conf_ref
    if reference is None:
        return None
    found = await view.read(kinds.SECRET, Key(node_set.metadata.namespace, reference.name))
    return entry(found.body, reference.key) if found else None
