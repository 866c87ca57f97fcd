"""On which of Slurm's nodes the pods of a gang may run, as Kubernetes sees it.

Selectors, node affinity, taints, devices of plugins and the reach of volumes count. What comes and
goes with the health of a node (cordons, kubelets that do not answer) does not: such a node is
drained in Slurm, and no job has to be changed for it. Many pods ask for the same, so each answer is
kept until nodes change.
"""

from collections.abc import Iterable, Mapping

import msgspec

from windlass.bridge.amounts import has_all, known
from windlass.bridge.names import Names, names, sharing
from windlass.bridge.neighbours import Neighbour, worker, workers
from windlass.bridge.resources import is_plugged, plugged
from windlass.bridge.submission import Nodes
from windlass.bridge.volumes import Terms, takes
from windlass.kube.objects import Node, PodSpec, Toleration
from windlass.kube.placement import demands, refusal
from windlass.kube.store import Store
from windlass.slurm import model

MOST = 2000
"""Answers that are kept."""
PASSING = "node.kubernetes.io/"
"""How the taints begin that Kubernetes sets for the health of a node."""


class _Asked(msgspec.Struct, frozen=True):
    """What of a pod decides on its nodes."""

    selector: dict[str, str] | None
    affinity: object
    tolerations: list[Toleration] | None
    plugged: list[str]


class Feasible:
    def __init__(self, hosts: Store[Node], others: Store[Neighbour]) -> None:
        self._hosts = hosts
        self._others = others
        self._workers: dict[str, tuple[str, ...]] = {}
        self._names: Names | None = None
        self._standing: list[Node] = []
        self._fit: dict[bytes, frozenset[str]] = {}
        self._known: dict[str, frozenset[str]] = {}
        hosts.subscribe(self._changed)
        others.subscribe(self._settled)

    def names(self) -> Names:
        if self._names is None:
            every = list(self._hosts)
            self._workers = sharing(every, workers(self._others))
            self._names = names(every, self._workers)
            self._standing = [_lasting(host) for host in every]
            self._fit.clear()
        return self._names

    def workers(self) -> Mapping[str, tuple[str, ...]]:
        """The slurmds that stand for their nodes of Kubernetes, by Slurm's names."""
        self.names()
        return self._workers

    def slurm_changed(self) -> None:
        """Forget which nodes are in which partition."""
        self._known.clear()

    def nodes(
        self, specs: Iterable[PodSpec], slurm: Mapping[str, model.Node], partition: str
    ) -> Nodes:
        """Where all of these may run, among the nodes of partitions, separated by commas."""
        self.names()
        fit = [self._takers(key, spec) for key, spec in _distinct(specs).items()]
        feasible = frozenset.intersection(*fit) if fit else frozenset[str]()
        return Nodes(self._partition(slurm, partition), feasible)

    def reaching(self, terms: Terms) -> frozenset[str]:
        """Nodes for which one of these terms of a node selector holds."""
        key, called = b"terms" + msgspec.json.encode(terms), self.names().slurm
        if key not in self._fit:
            if len(self._fit) >= MOST:  # volumes come and go, and each may be somewhere else
                self._fit.clear()
            hosts = (host for host in self._standing if takes(terms, host))
            found = (called.get(host.metadata.name, "") for host in hosts)
            self._fit[key] = frozenset(filter(None, found))
        return self._fit[key]

    def _partition(self, slurm: Mapping[str, model.Node], partition: str) -> frozenset[str]:
        if partition not in self._known:
            wanted = set(partition.split(","))
            self._known[partition] = frozenset(
                name for name, node in slurm.items() if wanted & set(node.partitions)
            )
        return self._known[partition]

    def _takers(self, key: bytes, spec: PodSpec) -> frozenset[str]:
        if key not in self._fit:
            asked, called, devices = demands(spec), self.names().slurm, plugged(spec)
            self._fit[key] = frozenset(
                called[host.metadata.name]
                for host in self._standing
                if host.metadata.name in called
                and refusal(asked, host) is None
                and has_all(host, devices)
            )
        return self._fit[key]

    def _settled(self, old: Neighbour | None, new: Neighbour | None) -> None:
        if moved(old, new):
            self._names = None

    def _changed(self, old: Node | None, new: Node | None) -> None:
        if old is None or new is None or lasting(old) != lasting(new):
            self._names = None


def moved(old: Neighbour | None, new: Neighbour | None) -> bool:
    """Whether a slurmd has come to a node, or left it."""
    return _slurmd(old) != _slurmd(new)


def _slurmd(pod: Neighbour | None) -> tuple[str, str]:
    name = worker(pod) if pod else ""
    return (pod.spec.node_name, name) if pod and name else ("", "")


def lasting(host: Node) -> tuple[object, ...]:
    """What of a node decides on the pods that it takes, whatever its health."""
    taints = _lasting(host).spec.taints
    devices = frozenset(filter(is_plugged, known(host)))
    return host.metadata.uid, host.metadata.labels, taints, devices


def _lasting(host: Node) -> Node:
    taints = [each for each in host.spec.taints or () if not each.key.startswith(PASSING)]
    spec = msgspec.structs.replace(host.spec, unschedulable=False, taints=taints)
    return msgspec.structs.replace(host, spec=spec)


def _distinct(specs: Iterable[PodSpec]) -> dict[bytes, PodSpec]:
    return {msgspec.json.encode(_asked(spec), order="sorted"): spec for spec in specs}


def _asked(spec: PodSpec) -> _Asked:
    nodes = (spec.affinity or {}).get("nodeAffinity")
    return _Asked(spec.node_selector, nodes, spec.tolerations, sorted(plugged(spec)))
