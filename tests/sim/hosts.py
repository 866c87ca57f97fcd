"""What happens to Kubernetes nodes: by users, by the cloud, and by themselves."""

from typing import Final

from tests.sim.kubelets import DISK_PRESSURE, MAINTENANCE
from tests.sim.stage import POOL, Stage
from windlass.api import labels
from windlass.kube import kinds, requests
from windlass.testing.virtual import clock
from windlass.values.key import Key

TAINT: Final = {"key": MAINTENANCE, "value": "disk", "effect": "NoSchedule"}


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


def relabel(stage: Stage) -> str | None:
    """Move a node into the pool of workers, or out of it."""
    name = stage.rng.choice(sorted(stage.nodes))
    inside = stage.nodes[name]["metadata"]["labels"].get(POOL)
    stage.change(kinds.NODE, name, {"metadata": {"labels": {POOL: None if inside else "yes"}}})
    return f"user takes {name} {'out of' if inside else 'into'} the pool"


def annotate(stage: Stage) -> str | None:
    """Say where a node is and what it has."""
    name = stage.rng.choice(sorted(stage.nodes))
    place = stage.rng.choice(("default:s1", "default:s2", None))
    features = stage.rng.choice(("gpu", "gpu,ib", None))
    notes = {labels.TOPOLOGY: place, labels.FEATURES: features}
    stage.change(kinds.NODE, name, {"metadata": {"annotations": notes}})
    return f"user says that {name} is at {place} with {features}"


def replace(stage: Stage) -> str | None:
    """The cloud takes a node away, and later gives another of that name."""
    name = stage.rng.choice(sorted(stage.nodes))
    if len(stage.nodes) < 4 or name in stage.kubelets.lost:
        return None
    kept = stage.nodes[name]["metadata"]["labels"]
    stage.kubelets.lose(name)
    stage.kube.answer(requests.delete(kinds.NODE, Key("", name)))

    def end() -> str:
        stage.create_node(name, kept)
        stage.kubelets.restore(name, clock())
        return f"the cloud gives {name} again"

    stage.later(stage.rng.choice((10.0, 60.0)), end)
    return f"the cloud takes {name} away"
