"""What we think best where the user says nothing: lines of slurm.conf and the whole cgroup.conf."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from windlass.api.node_set import NodeSet
from windlass.inpod.start import for_jobs
from windlass.operator.slurmctld import files
from windlass.operator.slurmctld.files import Files
from windlass.operator.workers.resources import gpus
from windlass.slurm.conf import CGROUP_CONF, Broken, Document, Parameter, parameter, parse
from windlass.values.malformed import Malformed
from windlass.values.quantity import Quantity

# Enough for 15,000 nodes, and each of Slurm's node bitmaps is still only 2 KiB.
MAX_NODE_COUNT: Final = 16384
# Jobs on up to so many nodes are launched without a hop, and 16,384 nodes are two hops away.
TREE_WIDTH: Final = 128
# Look at the whole queue, at once when something changed and every second anyway: with Slurm's own
# values (100 jobs, 60 s) a queue of short jobs starts in bursts. Backfill lets others have a turn
# after a tenth of a second, and goes on where it was: with Slurm's own 2 s everybody waits for it.
SCHEDULING: Final = (
    "batch_sched_delay=0,bf_continue,bf_yield_interval=100000,bf_yield_sleep=200000,"
    "default_queue_depth=5000,sched_interval=1,sched_min_interval=1000"
)
# MiB for each CPU where no worker says what it has.
USUAL_MEMORY: Final = 1024
LEAST_MEMORY: Final = 1

_GRES: Final = re.compile(r"(?:^|\s)Gres=\"?([^\s\"]+)", re.IGNORECASE)
_GRES_NAME: Final = re.compile(r"\bName=([\w.-]+)", re.IGNORECASE)
_DETECTED: Final = re.compile(r"\bAutoDetect=(?!off\b)\w+", re.IGNORECASE)
_DISABLED: Final = "disabled"


def defaults(given: Document, node_sets: Sequence[NodeSet], found: Files) -> Iterator[Parameter]:
    """Our lines, but for those that the user has an opinion on."""
    yield from _unless(given, ("ReturnToService", 2))
    yield from _resources(given, node_sets)
    yield from _processes(given, node_sets, found)
    yield from _unless(given, ("TreeWidth", TREE_WIDTH), ("SchedulerParameters", SCHEDULING))
    if types := gres_types(node_sets, found):
        yield from _unless(given, ("GresTypes", ",".join(types)))
    # With the zone: the times of daemons in other zones can be compared.
    yield from _unless(given, ("LogTimeFormat", "rfc5424_ms"))


def cgroup_conf(node_sets: Sequence[NodeSet], found: Files) -> str:
    """Jobs keep to their cores and memory, and to their devices where there are any to share."""
    devices = "yes" if gres_types(node_sets, found) else "no"
    if any(each.unprivileged for each in node_sets):
        return f"{parameter('CgroupPlugin', _DISABLED)}\n"
    pairs = {
        "CgroupPlugin": "autodetect",
        "IgnoreSystemd": "yes",
        "ConstrainCores": "yes",
        "ConstrainRAMSpace": "yes",
        "ConstrainDevices": devices,
    }
    return "".join(f"{parameter(key, value)}\n" for key, value in pairs.items())


def gres_conf(node_sets: Sequence[NodeSet]) -> str:
    """Where pods get GPUs: slurmd offers only those whose devices it finds."""
    return "AutoDetect=nvidia\n" if any(gpus(node_set) for node_set in node_sets) else ""


def gres_types(node_sets: Sequence[NodeSet], found: Files) -> tuple[str, ...]:
    """The generic resources that nodes have: a node that brings an unknown one is refused."""
    listed = (
        item.partition(":")[0].lower()
        for node_set in node_sets
        for value in _GRES.findall(node_set.spec.extra_conf)
        for item in value.split(",")
    )
    conf = found.text(files.GRES_CONF) or ""
    uncommented = "\n".join(line.partition("#")[0] for line in conf.splitlines())
    given = any(gpus(node_set) for node_set in node_sets)
    detected = ["gpu"] if given or _DETECTED.search(uncommented) else []
    return tuple(sorted({*filter(None, listed), *_GRES_NAME.findall(uncommented), *detected}))


def _unless(given: Document, *pairs: tuple[str, str | int]) -> Iterator[Parameter]:
    return (parameter(key, value) for key, value in pairs if given.get(key) is None)


# --- what a job gets --------------------------------------------------------------------------


def _resources(given: Document, node_sets: Sequence[NodeSet]) -> Iterator[Parameter]:
    yield from _unless(given, ("SelectType", "select/cons_tres"))
    if (given.get("SelectType") or "select/cons_tres").lower() != "select/cons_tres":
        return
    yield from _unless(given, ("SelectTypeParameters", "CR_Core_Memory"))
    said = any(given.get(key) for key in ("DefMemPerCPU", "DefMemPerNode", "DefMemPerGPU"))
    if not said and "memory" in (given.get("SelectTypeParameters") or "CR_Core_Memory").lower():
        yield parameter("DefMemPerCPU", memory_per_cpu(node_sets))


def memory_per_cpu(node_sets: Sequence[NodeSet]) -> int:
    """MiB that a job gets with each CPU if it does not say.

    Slurm would give it all the node's memory, and no second job would fit. A fair share is what
    people expect; the smallest of all sets, so that no worker is too small for its own CPUs.
    """
    return max(LEAST_MEMORY, min(map(_share, node_sets), default=USUAL_MEMORY))


def _share(node_set: NodeSet) -> int:
    limits = ((node_set.spec.slurmd or {}).get("resources") or {}).get("limits") or {}
    try:
        cores = Quantity.parse(str(limits["cpu"])).cores
        return for_jobs(Quantity.parse(str(limits["memory"])).mebibytes) // max(1, cores)
    except (KeyError, Malformed):
        return USUAL_MEMORY


# --- how its processes are held ---------------------------------------------------------------


def _processes(given: Document, node_sets: Sequence[NodeSet], found: Files) -> Iterable[Parameter]:
    """One slurm.conf is for all workers: where one of them may not have cgroups, none has."""
    unprivileged = any(each.unprivileged for each in node_sets)
    cgroups = _uses_cgroups(given, found) and not unprivileged
    kind, gathered = ("cgroup", "cgroup") if cgroups else ("linuxproc", "linux")
    yield from _unless(
        given,
        ("ProctrackType", f"proctrack/{kind}"),
        # Without it a node that a job left is given to the next only at the next whole second.
        ("PrologFlags", "Contain"),
        ("TaskPlugin", _task_plugin(cgroups=cgroups, unprivileged=unprivileged)),
        ("JobAcctGatherType", f"jobacct_gather/{gathered}"),
    )


def _task_plugin(*, cgroups: bool, unprivileged: bool) -> str:
    """A container without privilege cannot always choose the CPUs of its processes."""
    if cgroups:
        return "task/cgroup,task/affinity"
    return "task/none" if unprivileged else "task/affinity"


def _uses_cgroups(given: Document, found: Files) -> bool:
    """Whether the user has not turned cgroups off, in either place."""
    if (given.get("ProctrackType") or "proctrack/cgroup").lower() != "proctrack/cgroup":
        return False
    text = found.text(files.CGROUP_CONF)
    try:
        conf = parse(text or "", CGROUP_CONF)
    except Broken:
        return True
    return (conf.get("CgroupPlugin") or "").lower() != _DISABLED
