"""Everything that a pass over a NodeSet reads."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from windlass.api.common import SecretKey
from windlass.api.controller import Controller
from windlass.api.node_set import NodeSet
from windlass.kube.kinds import CONTROLLER, NODE_SET, POD, SECRET, Kind
from windlass.kube.meta import Meta
from windlass.kube.objects import Pod, Secret
from windlass.kube.wire import Document
from windlass.operator.site import Site
from windlass.operator.workers.identity import absent
from windlass.slurm.model import Node
from windlass.values.key import Key

# Indexes: NodeSets by namespace/name of their Controller, pods by the uid of who manages them.
BY_CONTROLLER: Final = "controller"
BY_OWNER: Final = "owner"


class World(Protocol):
    """The caches, and what is fetched when it changed. Pods are kept slim, others whole."""

    def get(self, kind: Kind, key: Key) -> Any: ...

    def by(self, kind: Kind, index: str, value: str) -> Sequence[Any]: ...

    async def read(self, kind: Kind, key: Key) -> Document | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    node_set: NodeSet
    controller: Controller | None = None
    siblings: tuple[Meta, ...] = ()
    """The NodeSets of the same Controller that stay, this one among them."""
    pods: tuple[Pod, ...] = ()
    strangers: frozenset[str] = frozenset()
    """Names that our workers should have and pods of others have."""
    sssd_conf: bytes | None = None
    slurm: Mapping[str, Node] | None = None
    """Slurm's nodes by name; None where Slurm did not answer."""
    site: Site = field(default_factory=Site)


async def observe(
    world: World, key: Key, site: Site, slurm: Mapping[str, Node] | None = None
) -> Observed | None:
    """Read it all; None where the NodeSet is gone or going."""
    found: Document | None = world.get(NODE_SET, key)
    if found is None or found.metadata.deletion_timestamp is not None:
        return None
    node_set = msgspec.convert(found.body, NodeSet)
    pods: tuple[Pod, ...] = tuple(world.by(POD, BY_OWNER, node_set.metadata.uid))
    return Observed(
        node_set=node_set,
        controller=_controller(world, node_set),
        siblings=_siblings(world, node_set),
        pods=pods,
        strangers=_strangers(world, node_set, pods),
        sssd_conf=await _entry(world, key.namespace, node_set.spec.ssh.sssd_conf_ref),
        slurm=slurm,
        site=site,
    )


def _controller(world: World, node_set: NodeSet) -> Controller | None:
    """Only one of the same namespace: its key could not be mounted from another."""
    own = node_set.metadata.namespace
    reference = node_set.spec.controller_ref
    if (reference.namespace or own) != own:
        return None
    found: Document | None = world.get(CONTROLLER, Key(own, reference.name))
    return msgspec.convert(found.body, Controller) if found else None


def _siblings(world: World, node_set: NodeSet) -> tuple[Meta, ...]:
    cluster = str(Key(node_set.metadata.namespace, node_set.spec.controller_ref.name))
    found = (each.metadata for each in world.by(NODE_SET, BY_CONTROLLER, cluster))
    staying = {meta.name: meta for meta in found if meta.deletion_timestamp is None}
    staying[node_set.metadata.name] = node_set.metadata
    return tuple(staying[name] for name in sorted(staying))


def _strangers(world: World, node_set: NodeSet, pods: tuple[Pod, ...]) -> frozenset[str]:
    wanted = (worker.pod for worker in absent(node_set, pods))
    own = node_set.metadata.namespace
    return frozenset(name for name in wanted if world.get(POD, Key(own, name)) is not None)


async def _entry(world: World, namespace: str, reference: SecretKey | None) -> bytes | None:
    if reference is None:
        return None
    found = await world.read(SECRET, Key(namespace, reference.name))
    secret = msgspec.convert(found.body, Secret) if found else None
    return (secret.data or {}).get(reference.key) if secret else None
