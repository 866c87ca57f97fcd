"""Plain facts about worker pods."""

from datetime import datetime

from windlass.kube.objects import Pod


def ready_since(pod: Pod) -> datetime | None:
    """Since when it is ready; None if it is not."""
    for condition in pod.status.conditions or ():
        if condition.type == "Ready" and condition.status == "True":
            return condition.last_transition_time
    return None


def available_in(pod: Pod, min_ready: int, now: datetime) -> float | None:
    """Seconds until it counts as available, 0 if it does; None if it is not even ready."""
    since = ready_since(pod)
    if since is None or going(pod):
        return None
    return max(0.0, min_ready - (now - since).total_seconds())


def going(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def finished(pod: Pod) -> bool:
    """Its containers have ended for good, and its jobs with them."""
    return pod.status.phase in ("Succeeded", "Failed")


def unplaced(pod: Pod) -> bool:
    """No node has it, so nothing ever ran in it."""
    return not pod.spec.node_name and pod.status.phase in ("", "Pending")
