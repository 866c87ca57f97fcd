"""What users of Kubernetes do to a NodeSet and to its pods, whenever they like.

Each takes the stage and says what was done; None where there was nothing to do it to.
"""

from datetime import timedelta
from inspect import isawaitable
from typing import Final

from tests.sim.kubelets import BROKEN, is_ready
from tests.sim.stage import NAMESPACE, NODES, SET, Stage
from windlass.api import labels
from windlass.kube import kinds, requests
from windlass.kube.admission import Allowed, Review
from windlass.kube.errors import KubeError
from windlass.operator.eviction import handler
from windlass.testing.virtual import clock
from windlass.values.key import Key

GOOD: Final = ("slurmd:1", "slurmd:2", "slurmd:3")


# --- the set ------------------------------------------------------------------------------------


def scale(stage: Stage) -> str | None:
    replicas = stage.rng.randint(0, NODES)
    return stage.ask(f"scales to {replicas}", {"replicas": replicas})


def update(stage: Stage) -> str | None:
    image = stage.rng.choice((*GOOD, BROKEN))
    return stage.ask(f"sets the image to {image}", {"slurmd": {"image": image}})


def change_strategy(stage: Stage) -> str | None:
    sort = stage.rng.choice(("RollingUpdate", "RollingUpdate", "OnDelete"))
    most = stage.rng.choice((1, 2, "25%", "50%"))
    strategy = {"type": sort, "rollingUpdate": {"maxUnavailable": most}}
    return stage.ask(f"updates by {sort}, maxUnavailable {most}", {"updateStrategy": strategy})


def schedule(stage: Stage) -> str | None:
    """Updates in a maintenance reservation that begins soon."""
    start = stage.wall() + timedelta(seconds=stage.rng.choice((20, 60)))
    when = {"startTime": start.strftime("%Y-%m-%dT%H:%M:%SZ"), "duration": "1m"}
    strategy = {"type": "ScheduledUpdate", "scheduledUpdate": when}
    return stage.ask(f"updates from {when['startTime']} on", {"updateStrategy": strategy})


def change_mode(stage: Stage) -> str | None:
    mode = stage.rng.choice(("StatefulSet", "DaemonSet"))
    return stage.ask(f"scales by {mode}", {"scalingMode": mode})


def delete_set(stage: Stage) -> str | None:
    """And makes one of the same name later."""
    if stage.live(kinds.NODE_SET, SET) is None:
        stage.create_set()
        return "user makes the NodeSet anew"
    stage.kube.answer(requests.delete(kinds.NODE_SET, Key(NAMESPACE, SET)))
    return "user deletes the NodeSet"


# --- its pods -----------------------------------------------------------------------------------


def cordon_pod(stage: Stage) -> str | None:
    pod = stage.any(stage.pods)
    if pod is None:
        return None
    cordoned = (stage.pods[pod]["metadata"].get("annotations") or {}).get(labels.POD_CORDON)
    value = None if cordoned else "true"
    stage.change(kinds.POD, pod, {"metadata": {"annotations": {labels.POD_CORDON: value}}})
    return f"user {'uncordons' if cordoned else 'cordons'} pod {pod}"


def delete_pod(stage: Stage) -> str | None:
    pod = stage.any(stage.pods)
    if pod is None:
        return None
    stage.kube.answer(requests.delete(kinds.POD, Key(NAMESPACE, pod)))
    return f"user deletes pod {pod}"


def crash(stage: Stage) -> str | None:
    """Kubelet ends a pod by itself."""
    pod = stage.any(name for name, each in stage.pods.items() if is_ready(each))
    if pod is None:
        return None
    stage.kubelets.fail(Key(NAMESPACE, pod), clock())
    return f"kubelet ends {pod} for lack of disk"


async def evict(stage: Stage) -> str | None:
    """As `kubectl drain` does: cordon, then ask for the eviction of what is there."""
    name = stage.rng.choice(sorted(stage.nodes))
    stage.change(kinds.NODE, name, {"spec": {"unschedulable": True}})
    said = [f"user drains {name}", *[await _evicted(stage, pod) for pod in stage.pods_on(name)]]
    return ", ".join(said)


async def _evicted(stage: Stage, pod: str) -> str:
    """The webhook is asked first, as the API server does."""
    review = Review(
        uid="",
        operation="CREATE",
        group="policy",
        version="v1",
        kind="Eviction",
        name=pod,
        namespace=NAMESPACE,
        subresource="eviction",
        user="drainer",
        groups=(),
        dry_run=False,
        new={},
        old=None,
    )
    decision = handler(stage.kube, stage.wall)(review)
    if (await decision if isawaitable(decision) else decision) != Allowed():
        return f"{pod} is to be drained first"
    before = stage.pods.get(pod)
    try:
        stage.kube.answer(requests.evict(Key(NAMESPACE, pod)))
    except KubeError:
        return f"{pod} is protected"
    if before is not None and "deletionTimestamp" not in before["metadata"]:
        stage.judge.evicted(before, clear=stage.clear)
    return f"{pod} is evicted"
