"""What users of Kubernetes, users of Slurm and its administrator do, whenever they like.

Each takes the stage and says what was done; None where there was nothing to do it to.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

from tests.sim.judge import Mark
from tests.sim.kubelets import BROKEN, DISK_PRESSURE, MAINTENANCE, is_ready
from tests.sim.stage import NAMESPACE, NODES, SET, Stage
from windlass.api import labels
from windlass.kube import kinds, requests
from windlass.kube.errors import KubeError
from windlass.testing.fake_calls import change_node
from windlass.testing.virtual import clock
from windlass.values.key import Key

Act = Callable[[Stage], str | None]

REASONS: Final = ("bad disk", "asked by Ann", "slow GPU")
TAINT: Final = {"key": MAINTENANCE, "value": "disk", "effect": "NoSchedule"}
GOOD: Final = ("slurmd:1", "slurmd:2", "slurmd:3")


# --- users of Kubernetes ------------------------------------------------------------------------


def scale(stage: Stage) -> str | None:
    replicas = stage.rng.randint(0, NODES)
    stage.change(kinds.NODE_SET, SET, {"spec": {"replicas": replicas}})
    return f"user scales to {replicas}"


def update(stage: Stage) -> str | None:
    image = stage.rng.choice((*GOOD, BROKEN))
    stage.change(kinds.NODE_SET, SET, {"spec": {"slurmd": {"image": image}}})
    return f"user sets the image to {image}"


def change_strategy(stage: Stage) -> str | None:
    sort = stage.rng.choice(("RollingUpdate", "RollingUpdate", "OnDelete"))
    most = stage.rng.choice((1, 2, "25%", "50%"))
    strategy = {"type": sort, "rollingUpdate": {"maxUnavailable": most}}
    stage.change(kinds.NODE_SET, SET, {"spec": {"updateStrategy": strategy}})
    return f"user sets the strategy to {sort}, maxUnavailable {most}"


def cordon(stage: Stage) -> str | None:
    name = stage.rng.choice(sorted(stage.nodes))
    cordoned = not (stage.nodes[name].get("spec") or {}).get("unschedulable")
    stage.change(kinds.NODE, name, {"spec": {"unschedulable": cordoned or None}})
    return f"user {'cordons' if cordoned else 'uncordons'} {name}"


def sicken(stage: Stage) -> str | None:
    """A node gets, or loses, the condition that the operator was told to look for."""
    name = stage.rng.choice(sorted(stage.nodes))
    shown = {each["type"]: each["status"] for each in stage.nodes[name]["status"]["conditions"]}
    status = "False" if shown.get(DISK_PRESSURE) == "True" else "True"
    stage.kubelets.mark(name, **{DISK_PRESSURE: status})
    return f"{name} {'has' if status == 'True' else 'has no more'} {DISK_PRESSURE}"


def taint(stage: Stage) -> str | None:
    name = stage.rng.choice(sorted(stage.nodes))
    there = TAINT not in (stage.nodes[name].get("spec", {}).get("taints") or ())
    stage.kubelets.taint(name, TAINT, there=there)
    return f"user {'taints' if there else 'untaints'} {name}"


def cordon_pod(stage: Stage) -> str | None:
    pod = _any(stage, stage.pods)
    if pod is None:
        return None
    cordoned = (stage.pods[pod]["metadata"].get("annotations") or {}).get(labels.POD_CORDON)
    value = None if cordoned else "true"
    stage.change(kinds.POD, pod, {"metadata": {"annotations": {labels.POD_CORDON: value}}})
    return f"user {'uncordons' if cordoned else 'cordons'} pod {pod}"


def delete_pod(stage: Stage) -> str | None:
    pod = _any(stage, stage.pods)
    if pod is None:
        return None
    stage.kube.answer(requests.delete(kinds.POD, Key(NAMESPACE, pod)))
    return f"user deletes pod {pod}"


def evict(stage: Stage) -> str | None:
    """As `kubectl drain` does: cordon, then evict what may be evicted."""
    name = stage.rng.choice(sorted(stage.nodes))
    stage.change(kinds.NODE, name, {"spec": {"unschedulable": True}})
    said = [f"user drains {name}"]
    for pod in stage.pods_on(name):
        try:
            stage.kube.answer(requests.evict(Key(NAMESPACE, pod)))
            said.append(f"{pod} is evicted")
        except KubeError:
            said.append(f"{pod} is protected")
    return ", ".join(said)


# --- users of Slurm -----------------------------------------------------------------------------


def submit(stage: Stage) -> str | None:
    if stage.slurm.down:
        return None
    lasts = stage.rng.choice((2.0, 10.0, 40.0))
    nodes = stage.rng.choice((1, 1, 2))
    job = stage.slurmds.submit(nodes, lasts, clock())
    return f"user submits job {job} for {nodes} nodes, {lasts:g} s"


# --- its administrator --------------------------------------------------------------------------


def drain(stage: Stage) -> str | None:
    return _mark(stage, "DRAIN")


def down(stage: Stage) -> str | None:
    return _mark(stage, "DOWN")


def _mark(stage: Stage, flag: str) -> str | None:
    name = _any(stage, stage.slurm.cluster.nodes)
    if name is None or stage.slurm.down:
        return None
    return mark_node(stage, name, flag, stage.rng.choice(REASONS))


def mark_node(stage: Stage, name: str, flag: str, reason: str) -> str:
    node = stage.slurm.cluster.nodes[name]
    if flag == "DOWN":
        stage.slurmds.lose_jobs(name)
    change_node(stage.slurm.cluster, node, {"state": [flag], "reason": reason})
    stage.judge.marks[name] = Mark(flag, reason, clock())
    return f"administrator sets {name} to {flag}: {reason}"


def resume(stage: Stage) -> str | None:
    name = _any(stage, stage.judge.marks)
    if name is None or stage.slurm.down:
        return None
    return resume_node(stage, name)


def resume_node(stage: Stage, name: str) -> str:
    del stage.judge.marks[name]
    node = stage.slurm.cluster.nodes.get(name)
    if node is None:
        return f"administrator finds {name} gone"
    if {"DRAIN", "DOWN"} & set(node.state or ()):
        change_node(stage.slurm.cluster, node, {"state": ["RESUME"]})
    return f"administrator resumes {name}"


def forget(stage: Stage) -> str | None:
    """A Slurm that lost a node's record, as after a restart without its state."""
    idle = [name for name in stage.slurm.cluster.nodes if not stage.slurm.cluster.users_of(name)]
    name = _any(stage, idle)
    if name is None or stage.slurm.down:
        return None
    stage.slurmds.forget(name)
    stage.judge.marks.pop(name, None)
    return f"administrator deletes the record of {name}"


def _any(stage: Stage, names: Iterable[str]) -> str | None:
    found = sorted(names)
    return stage.rng.choice(found) if found else None


# --- at the end ---------------------------------------------------------------------------------


def leave(stage: Stage) -> None:
    """Everybody takes back what is in the way of the workers that are wanted."""
    for name in sorted(stage.judge.marks):
        stage.transcript.say("people", resume_node(stage, name))
    for name in stage.nodes:
        stage.change(kinds.NODE, name, {"spec": {"unschedulable": None, "taints": None}})
        stage.kubelets.mark(name, **{DISK_PRESSURE: "False"})
    for name in stage.pods:
        gone: dict[str, Any] = {"annotations": {labels.POD_CORDON: None}}
        stage.change(kinds.POD, name, {"metadata": gone})
    image = (stage.node_set["spec"].get("slurmd") or {}).get("image", GOOD[0])
    if image == BROKEN:
        stage.change(kinds.NODE_SET, SET, {"spec": {"slurmd": {"image": GOOD[0]}}})
    strategy = {"type": "RollingUpdate"}
    stage.change(kinds.NODE_SET, SET, {"spec": {"updateStrategy": strategy}})
    stage.slurmds.finish_all(clock())


def crash(stage: Stage) -> str | None:
    """Kubelet ends a pod by itself."""
    running = [name for name, pod in stage.pods.items() if is_ready(pod)]
    pod = _any(stage, running)
    if pod is None:
        return None
    stage.kubelets.fail(Key(NAMESPACE, pod), clock())
    return f"kubelet ends {pod} for lack of disk"


ACTS: Final[tuple[tuple[int, Act], ...]] = (
    (8, scale),
    (3, update),
    (2, change_strategy),
    (4, cordon),
    (3, cordon_pod),
    (2, sicken),
    (1, taint),
    (2, delete_pod),
    (3, evict),
    (14, submit),
    (4, drain),
    (1, down),
    (4, resume),
    (1, forget),
    (1, crash),
)
"""How often each is chosen."""
