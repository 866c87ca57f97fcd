"""How many workers updates have taken: never more than `maxUnavailable` says."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from tests.sim.kubelets import MAINTENANCE, is_ready
from windlass.api import labels
from windlass.kube import kinds
from windlass.operator.workers.phases.update import UPDATE
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import clock
from windlass.values.key import Key

Json = dict[str, Any]

HEARD: Final = 30.0
"""Within so many seconds every operator has heard of a new budget, and of a worker that is up."""


@dataclass
class Taking:
    """The workers that an update has made unavailable, from their drain until their successors are
    ready; what is unavailable for other reasons, operators may hear of too late."""

    kube: FakeKube
    slurm: FakeSlurm
    node_set: Key
    taken: dict[str, str] = field(default_factory=dict)
    """By the name of a pod, its uid."""
    _budgets: list[tuple[float, int]] = field(default_factory=list)

    @property
    def ends(self) -> bool:
        """Whether the NodeSet is being deleted."""
        found = self.kube.find(kinds.NODE_SET, self.node_set)
        return found is not None and "deletionTimestamp" in found["metadata"]

    def look(self) -> str | None:
        """What is wrong after a write of an operator."""
        found = self.kube.find(kinds.NODE_SET, self.node_set)
        if found is None:
            return None
        wanted = self._wanted(found["spec"])
        self._forget_returned(wanted)
        new = {
            name: uid for name, uid in self._drained(found).items() if self.taken.get(name) != uid
        }
        self.taken |= new
        most = self._budget(found["spec"], wanted)
        missing = wanted - self._up()
        if new and len(self.taken) > most and missing > most:
            return f"an update took {', '.join(sorted(self.taken))}, more than {most}"
        return None

    def _drained(self, node_set: Json) -> dict[str, str]:
        """Ready workers of an old revision whose nodes are drained for an update."""
        newest = node_set.get("status", {}).get("nodeSetHash")
        least = node_set["spec"].get("minReadySeconds", 0)
        return {
            key.name: pod["metadata"]["uid"]
            for key, pod in self.kube.all(kinds.POD)
            if self._ready_for(pod) >= least + HEARD and self._for_update(pod)
            if pod["metadata"]["labels"][labels.REVISION] != newest
        }

    def _wanted(self, spec: Json) -> int:
        if spec.get("scalingMode") != "DaemonSet":
            return int(spec["replicas"])
        wanted = spec["template"]["spec"]["nodeSelector"].items()
        return sum(
            wanted <= (node["metadata"].get("labels") or {}).items()
            and MAINTENANCE
            not in {each["key"] for each in (node.get("spec") or {}).get("taints") or ()}
            for _, node in self.kube.all(kinds.NODE)
        )

    def _ready_for(self, pod: Json) -> float:
        """Seconds, less than none if it is not ready."""
        if not is_ready(pod):
            return -1.0
        conditions = {each["type"]: each for each in pod["status"]["conditions"]}
        since = datetime.fromisoformat(conditions["Ready"]["lastTransitionTime"])
        return self.slurm.cluster.now() - since.timestamp()

    def _up(self) -> int:
        """The workers that are there for new jobs, as far as operators are concerned."""
        return sum(
            is_ready(pod) and "deletionTimestamp" not in pod["metadata"]
            for key, pod in self.kube.all(kinds.POD)
            if key.name not in self.taken
        )

    def _for_update(self, pod: Json) -> bool:
        node = self.slurm.cluster.nodes.get(pod["spec"]["hostname"])
        return node is not None and "DRAIN" in (node.state or ()) and node.reason.endswith(UPDATE)

    def _forget_returned(self, replicas: int) -> None:
        """Who was given back or has a successor that is ready; and all that nobody wants."""
        pods = {key.name: pod for key, pod in self.kube.all(kinds.POD)}
        for name, uid in list(self.taken.items()):
            pod = pods.get(name)
            if pod is None:
                back = len(pods) >= replicas
            elif pod["metadata"]["uid"] == uid:
                back = "deletionTimestamp" not in pod["metadata"] and not self._for_update(pod)
            else:
                back = is_ready(pod)
            if back:
                del self.taken[name]

    def _budget(self, spec: Json, wanted: int) -> int:
        most = _most(spec.get("updateStrategy") or {}, wanted)
        if not self._budgets or self._budgets[-1][1] != most:
            self._budgets.append((clock(), most))
        while len(self._budgets) > 1 and self._budgets[1][0] <= clock() - HEARD:
            del self._budgets[0]
        return max(most for _, most in self._budgets)


def _most(strategy: Json, wanted: int) -> int:
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return wanted  # a reservation may take all of them
    given = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", "25%")
    share = isinstance(given, str)
    return max(1, -(-int(given[:-1]) * wanted // 100) if share else int(given))


def _closed(node: Json) -> bool:
    taints = (node.get("spec") or {}).get("taints") or ()
    return any(each["key"] == MAINTENANCE for each in taints)
