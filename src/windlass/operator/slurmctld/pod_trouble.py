"""Why a pod does not run, in its own words."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from windlass.kube.objects import ContainerStatus, Pod
from windlass.operator.pods.trouble import GRAVE, container_statuses, last_words
from windlass.values.reason import Reason

OVERDUE: Final = timedelta(seconds=20)
ON_ITS_WAY: Final = frozenset({"ContainerCreating", "PodInitializing"})
_CODE: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")


def trouble(pod: Pod, now: datetime) -> Reason | None:
    """What keeps a pod from running; None where nothing is wrong that is known of."""
    if pod.metadata.deletion_timestamp is not None:
        return _lost(pod, now)
    return next(_troubles(pod), None)


def _lost(pod: Pod, now: datetime) -> Reason | None:
    """That a pod should be gone, as only its node could say, and nothing else holds it.

    Kubernetes starts no other in its place: the node may be cut off, and the pod still write.
    """
    due, node = pod.metadata.deletion_timestamp, pod.spec.node_name
    if due is None or now - due < OVERDUE or not node or pod.metadata.finalizers:
        return None
    return Reason(
        "NodeLost",
        f"pod {pod.metadata.name} should have ended, but its node {node} does not say that it "
        f"did, and until then it is not started elsewhere; bring {node} back, or, if it is "
        f"certainly off, kubectl taint node {node} "
        "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
    )


def _troubles(pod: Pod) -> Iterator[Reason]:
    name = pod.metadata.name
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            yield _reason(condition.reason, "PodPending", f"pod {name}: {condition.message}")
    for container in container_statuses(pod):
        waiting = container.state.waiting if container.state else None
        if waiting and waiting.reason not in ON_ITS_WAY:
            sentence = f"container {container.name} of pod {name}: {waiting.message}"
            yield _reason(waiting.reason, "PodPending", sentence + _last_words(container))
    if pod.status.phase == "Failed":
        yield _reason(pod.status.reason, "PodFailed", f"pod {name}: {pod.status.message}")


def _last_words(container: ContainerStatus) -> str:
    """What it said before it ended the last time."""
    end = container.last_state.terminated if container.last_state else None
    if end is None:
        return ""
    said = last_words(container).splitlines()
    grave = [line for line in said if line.startswith(GRAVE)]
    last = f": {(grave or said)[-1]}" if said else ""
    how = f"signal {end.signal}" if end.signal else f"status {end.exit_code}"
    return f"; it ended with {how}{last}"


def _reason(code: str, otherwise: str, sentence: str) -> Reason:
    return Reason(code if _CODE.fullmatch(code) else otherwise, sentence)
