"""Whether everything that can run has run, and nothing is left of what is over."""

from typing import Any

from tests.sim.bridge.administrators import resume_node
from tests.sim.bridge.bridges import DISK_PRESSURE
from tests.sim.bridge.hosts import set_gpus
from tests.sim.bridge.objects import ended, host, kept, label, leaving
from tests.sim.bridge.stage import Site, Stage
from windlass.bridge import marker, words
from windlass.bridge.node_plan import COMMENT
from windlass.kube import kinds, requests


def leave(stage: Stage) -> None:
    """Everybody takes back what is in the way of pods."""
    for name in sorted(stage.judge.marks):
        stage.transcript.say("people", resume_node(stage.sites[0], name))
    for site in stage.sites:
        site.kubelets.calm = True
        for name in site.nodes:
            site.change(kinds.NODE, name, {"spec": {"unschedulable": None}})
            labels = {words.EXTERNAL_NODE: ""}
            site.change(kinds.NODE, name, {"metadata": {"labels": labels}})
            site.kubelets.mark(name, DISK_PRESSURE, "False")
        set_gpus(site, "2")
        node = site.slurm.cluster.nodes.get(site.slurm_name("n0"))
        if node is not None and not node.gres:
            _stop_servers(site)


def _stop_servers(site: Site) -> None:
    """A node is made anew in Slurm once nothing runs there."""
    for key, _ in site.kube.all(kinds.LEADER_WORKER_SET):
        site.kube.answer(requests.delete(kinds.LEADER_WORKER_SET, key))


def unsettled(stage: Stage) -> str | None:
    """What is not right yet; None if nothing."""
    for site in stage.sites:
        if why := _nodes(site) or _pods(site) or site.controllers.left():
            return f"{site.name}: {why}"
    return _jobs(stage)


def _nodes(site: Site) -> str | None:
    if not site.processes.leading:
        return "nobody leads"
    for name in site.nodes:
        node = site.slurm.cluster.nodes.get(site.slurm_name(name))
        if node is None:
            return f"{name} is not known to Slurm"
        if "DRAIN" in (node.state or ()):
            return f"{name} is left drained with the reason {node.reason!r}"
        if node.comment != COMMENT + site.name:
            return f"the Slurm node of {name} does not say whose it is"
    return None


def _pods(site: Site) -> str | None:
    for name, pod in site.pods.items():
        if leaving(pod):
            return f"{name} does not go"
        if ended(pod):
            if kept(pod):
                return f"{name} has ended and is held"
        elif label(pod, words.LEADER_WORKER_SET):
            if why := _server(pod):
                return f"{name} {why}"
        elif host(pod) or _complete(site, pod):
            return f"{name} has not run to its end"
    return None


def _server(pod: dict[str, Any]) -> str:
    """It goes on until somebody stops it."""
    if not host(pod):
        return "is not bound"
    return "" if kept(pod) else "is bound and not held"


def _complete(site: Site, pod: dict[str, object]) -> bool:
    """Whether a pod has the others that it waits for; of a PodGroup somebody may have taken one."""
    group = label(pod, words.POD_GROUP) or _core_group(pod)
    if not group:
        return True
    there = [
        each
        for each in site.pods.values()
        if (label(each, words.POD_GROUP) or _core_group(each)) == group and not ended(each)
    ]
    known = {
        key.name
        for kind in (kinds.POD_GROUP, kinds.CORE_POD_GROUP)
        for key, _ in site.kube.all(kind)
    }
    return group in known and len(there) >= 2


def _core_group(pod: dict[str, object]) -> str:
    spec = pod["spec"]
    assert isinstance(spec, dict)
    return str((spec.get("schedulingGroup") or {}).get("podGroupName", ""))


def _jobs(stage: Stage) -> str | None:
    noted = {
        (site.name, label(pod, words.JOB_ID))
        for site in stage.sites
        for pod in site.pods.values()
        if not ended(pod)
    }
    for number, job in stage.slurm.cluster.jobs.items():
        mark = marker.read(job.admin_comment)
        if job.job_state not in (["PENDING"], ["RUNNING"]) or mark is None:
            continue
        if mark.cluster != "red" and (mark.cluster, str(number)) not in noted:
            return f"job {number} of {mark.key} is left {(job.job_state or ['?'])[0]}"
    return None
