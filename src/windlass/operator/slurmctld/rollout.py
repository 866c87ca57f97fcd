"""Pods that only go away if somebody deletes them.

A StatefulSet replaces one pod after the other and waits for each to be ready. So a pod that never
gets ready, because what it was made from was wrong, would block its own repair; and the slurmctlds
that wait for the active one to fail are not ready by design.
"""

from collections.abc import Iterator

from windlass.api import labels
from windlass.kube.objects import ContainerStatus, Pod
from windlass.operator.slurmctld import identity
from windlass.operator.slurmctld.observe import Observed, is_ready


def to_replace(observed: Observed) -> Iterator[Pod]:
    """Outdated pods to delete now: those not in service first, the active one when others wait."""
    revision = wanted_revision(observed)
    if not revision:
        return
    present = [pod for pod in observed.pods if pod.metadata.deletion_timestamp is None]
    old = [pod for pod in present if _revision(pod) != revision]
    idle = [pod for pod in old if not is_ready(pod)]
    if idle:
        yield from idle
    elif identity.replicas(observed.controller) > 1 and old and _others_wait(observed, present):
        yield old[0]


def wanted_revision(observed: Observed) -> str:
    """The newest revision, once the StatefulSet's own controller has seen the newest spec."""
    live = observed.stateful_set or {}
    status = live.get("status") or {}
    seen = status.get("observedGeneration") == (live.get("metadata") or {}).get("generation")
    return str(status.get("updateRevision") or "") if seen else ""


def is_rolling(observed: Observed) -> bool:
    """Whether a pod is still of an older revision."""
    revision = wanted_revision(observed)
    return not revision or any(_revision(pod) != revision for pod in observed.pods)


def _revision(pod: Pod) -> str:
    return (pod.metadata.labels or {}).get(labels.REVISION, "")


def _others_wait(observed: Observed, present: list[Pod]) -> bool:
    """Whether every slurmctld is there and runs."""
    running = [
        pod
        for pod in present
        if any(each.name == "slurmctld" and each.started for each in _containers(pod))
    ]
    return len(running) == identity.replicas(observed.controller)


def _containers(pod: Pod) -> Iterator[ContainerStatus]:
    return iter(pod.status.container_statuses or ())
