"""Slurm forgets nodes whose workers are no more: scaled away, or lost together with their host.

Only a record that says that it is ours, that no pod stands for, that nobody wants back, in which no
job is, and that stopped for a reason of ours or because nothing answers there. What an
administrator gave a reason to, or reserved, stays.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from windlass.api.node_set import NodeSet
from windlass.kube.objects import Node as Host
from windlass.operator.plan import Action, ForgetNodes
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.belonging import belonging, owner
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.identity import BY_NUMBER, absent, hostname_of, slurm_name
from windlass.operator.workers.reservation import reserved
from windlass.operator.workers.worker import UNANSWERED, ours
from windlass.slurm.model import Node
from windlass.values.reason import Reason

SCALED_AWAY: Final = Reason("SlurmNodeForgotten", "their workers were scaled away")
HOST_GONE: Final = Reason("DefunctSlurmNodePruned", "their Kubernetes nodes are gone")
AGAIN: Final = 30.0
"""Seconds until we look again at one that may go later: nothing wakes us for its sake."""


def forget(course: Pass) -> Outcome:
    seen = course.slurm
    if seen is None:
        return NOTHING
    node_set = course.observed.node_set
    if not _prunes(node_set):
        return NOTHING
    mine, wanted = belonging(node_set.metadata), _wanted(course)
    left = [each for each in seen.nodes.values() if each.name not in wanted and owner(each) == mine]
    if not left:
        return NOTHING
    if seen.reservations is None:
        return Outcome(again=AGAIN)
    kept = reserved(seen.reservations, node_set.metadata.name)
    gone = [each.name for each in left if _over(seen, each) and each.name not in kept]
    return Outcome(
        actions=tuple(_forgotten(node_set, gone)),
        again=AGAIN if len(gone) < len(left) else None,
    )


def _prunes(node_set: NodeSet) -> bool:
    """On every host there is a worker or will be one: only a host that is gone takes its along, and
    only where that is asked for."""
    spec = node_set.spec
    return spec.scaling_mode == BY_NUMBER or spec.prune_slurm_node_records == "NodeNotFound"


def _forgotten(node_set: NodeSet, names: Collection[str]) -> Iterator[Action]:
    why = SCALED_AWAY if node_set.spec.scaling_mode == BY_NUMBER else HOST_GONE
    if names:
        yield ForgetNodes(tuple(names), why)


def _wanted(course: Pass) -> Collection[str]:
    """Names that a worker has or is to have, also one that is not made yet."""
    observed = course.observed
    taken = {slurm_name(pod) for pod in observed.pods} | observed.strangers
    if observed.on_every_host:
        return taken.union(_host_names(observed.hosts))
    return taken.union(each.hostname for each in absent(observed.node_set, observed.pods))


def _host_names(hosts: Mapping[str, Host]) -> Iterator[str]:
    """What a worker on each host is called, by itself or on the host's network."""
    for name, host in hosts.items():
        yield name
        yield hostname_of(host)


def _over(seen: Seen, node: Node) -> bool:
    if not seen.free(node.name):
        return False
    silent = node.state.down and node.state.not_responding
    return ours(node.reason) or (silent and node.reason in ("", UNANSWERED))
