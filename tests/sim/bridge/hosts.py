"""What happens to Kubernetes nodes: by users, by the cloud, and by themselves."""

from tests.sim.bridge.bridges import DISK_PRESSURE
from tests.sim.bridge.objects import GPU
from tests.sim.bridge.stage import CPUS, Site
from windlass.bridge import words
from windlass.kube import kinds, requests
from windlass.kube.wire import Anything
from windlass.testing.virtual import clock
from windlass.values.key import Key


def cordon(site: Site) -> str | None:
    name = site.any(site.nodes)
    if name is None:
        return None
    cordoned = not (site.nodes[name].get("spec") or {}).get("unschedulable")
    site.change(kinds.NODE, name, {"spec": {"unschedulable": cordoned or None}})
    return f"{'cordons' if cordoned else 'uncordons'} {name}"


def sicken(site: Site) -> str | None:
    name = site.any(site.nodes)
    if name is None:
        return None
    shown = {each["type"]: each["status"] for each in site.nodes[name]["status"]["conditions"]}
    status = "False" if shown.get(DISK_PRESSURE) == "True" else "True"
    site.kubelets.mark(name, DISK_PRESSURE, status)
    return f"{name} {'has' if status == 'True' else 'has no more'} {DISK_PRESSURE}"


def relabel(site: Site) -> str | None:
    """A node is to be Slurm's no more, or again."""
    name = site.any(site.nodes)
    if name is None:
        return None
    inside = words.EXTERNAL_NODE in site.nodes[name]["metadata"]["labels"]
    change = {words.EXTERNAL_NODE: None if inside else ""}
    site.change(kinds.NODE, name, {"metadata": {"labels": change}})
    return f"takes {name} {'from' if inside else 'to'} Slurm"


def resize(site: Site) -> str | None:
    """A device plugin goes and comes again: the node has to be made anew in Slurm."""
    if "n0" not in site.nodes:
        return None
    there = site.nodes["n0"]["status"]["allocatable"].get(GPU) == "2"
    if there and any(pod["spec"].get("nodeName") == "n0" for pod in site.pods.values()):
        return None  # what pods have stays allocatable
    set_gpus(site, "0" if there else "2")
    if there:
        site.judge.grounds[site.name].shrunk["n0"] = clock()
    return f"n0 has {'no GPUs' if there else 'its GPUs again'}"


def set_gpus(site: Site, count: str) -> None:
    body = {"status": {"allocatable": {GPU: count}}}
    at = Key("", "n0")
    site.kube.answer(requests.merge_patch(kinds.NODE, at, body, Anything, "status"))


def replace(site: Site) -> str | None:
    """The cloud takes a node away, and later gives another of that name."""
    name = site.any(site.nodes)
    if name is None or len(site.nodes) < len(CPUS) or name in site.kubelets.lost:
        return None
    site.kubelets.remove(name, clock())
    site.kube.answer(requests.delete(kinds.NODE, Key("", name)))

    def end() -> str:
        site.create_node(name)
        site.kubelets.restore(name, clock())
        return f"the cloud gives {name} again"

    site.later(site.rng.choice((5.0, 30.0, 80.0)), end)
    return f"the cloud takes {name} away"
