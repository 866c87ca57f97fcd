"""From a gang to the job that Slurm is asked for.

Each pod is one task, so that several share a node where they fit. A task is what the neediest pod
of the gang needs. Where the gang may start with some of its pods, or names the memory of a node,
there is one pod on a node, since only the number of nodes can be a range to Slurm; so it is where
two of them want the same port.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from windlass.bridge import priorities, words
from windlass.bridge.gang import Gang
from windlass.bridge.identity import Identity
from windlass.bridge.marker import Marker
from windlass.bridge.nodes import Choice, choose
from windlass.bridge.ports import rivals
from windlass.bridge.priorities import Priority
from windlass.bridge.resources import Needs, greatest
from windlass.slurm.specs import JobSpec
from windlass.values.gres import Gres
from windlass.values.reason import Reason

DIRECTORY: Final = "/tmp"  # noqa: S108 - nothing is run there; slurmrestd wants one
NO_NODES: Final = ("",)
"""What takes a list of nodes back; an empty list changes nothing."""
_FIXED: Final = ("external", "user", "group", "directory", "mcs_label", "shared", "requeue")
"""What a job keeps from its submission to its end."""
_FREE: Final = frozenset({"required_nodes", "excluded_nodes", "admin_comment"})
"""What may come and go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    cluster: str
    """Names this Kubernetes cluster among those that share the Slurm."""
    scheduler: str = words.SCHEDULER
    partition: str = words.PARTITION
    mcs_label: str | None = words.MCS_LABEL
    exclusive: bool = False
    default_memory: int | None = 200
    """MiB for a pod that names none, as Kubernetes counts it; with None Slurm's own default holds,
    which is often the whole node."""
    priorities: Mapping[str, Priority] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Nodes:
    """Slurm's names: of all nodes of the partition, and of those that take the pods."""

    known: frozenset[str]
    feasible: frozenset[str]
    taken: frozenset[str] = frozenset()
    """Of those that would take them, but for what others have there."""

    def without(self, taken: frozenset[str]) -> "Nodes":
        if not taken:
            return self
        return Nodes(self.known, self.feasible - taken, self.feasible & self.known & taken)

    def within(self, reached: frozenset[str]) -> "Nodes":
        return Nodes(self.known, self.feasible & reached, self.taken & reached)


def job(gang: Gang, settings: Settings, identity: Identity, nodes: Nodes) -> JobSpec | Reason:
    """What to submit for a gang; a reason where nothing that Slurm has would do."""
    if reason := _impossible(gang):
        return reason
    spec = _described(gang, settings, identity)
    spec = msgspec.structs.replace(spec, **_shape(gang, settings))
    choice = choose(nodes.known, nodes.feasible, _least_nodes(gang), spec.max_nodes)
    if isinstance(choice, Reason):
        return _with_others(choice, len(nodes.taken))
    spec = msgspec.structs.replace(spec, **_where(choice))
    mark = marker(gang, settings, digest(spec))
    return msgspec.structs.replace(spec, admin_comment=mark.write())


def _with_others(reason: Reason, taken: int) -> Reason:
    if not taken:
        return reason
    told = f"{reason.sentence}; {taken} would, but others have its ports or its room"
    return Reason(reason.code, told)


def update(spec: JobSpec) -> JobSpec:
    """The same as a change to a job that waits, with lists of nodes that are no more taken back."""
    return msgspec.structs.replace(
        spec,
        **dict.fromkeys(_FIXED),
        required_nodes=spec.required_nodes or NO_NODES,
        excluded_nodes=spec.excluded_nodes or NO_NODES,
    )


def updatable(before: str, after: str) -> bool:
    """Whether an update turns a job with the one digest into one with the other.

    Where not, the job has to be submitted anew: Slurm keeps some fields, and forgets none that was
    set once.
    """
    return before.partition(".")[0] == after.partition(".")[0]


def marker(gang: Gang, settings: Settings, digest: str = "") -> Marker:
    return Marker(settings.cluster, gang.key, gang.uid, gang.attempt, digest, gang.pods)


def digest(spec: JobSpec) -> str:
    """Two words, the first for what an update cannot change, the second for the rest."""
    fields = msgspec.structs.asdict(spec)
    set_once = sorted(name for name, value in fields.items() if value is not None)
    kept = [fields[name] for name in _FIXED], [name for name in set_once if name not in _FREE]
    free = {name: value for name, value in fields.items() if name != "admin_comment"}
    return f"{_word(kept)}.{_word(free)}"


def _word(of: object) -> str:
    return hashlib.sha256(msgspec.json.encode(of)).hexdigest()[:12]


# --- who and how urgent ---------------------------------------------------------------------


def _described(gang: Gang, settings: Settings, identity: Identity) -> JobSpec:
    wishes = gang.wishes
    rank = settings.priorities.get(gang.priority_class, priorities.NONE)
    exclusive = settings.exclusive if wishes.exclusive is None else wishes.exclusive
    return JobSpec(
        name=wishes.job_name or gang.name,
        external=True,
        account=wishes.account or identity.account,
        partition=wishes.partition or settings.partition,
        qos=wishes.qos or rank.qos,
        reservation=wishes.reservation,
        user=identity.user,
        group=identity.group,
        constraints=wishes.constraints,
        shared=("none",) if exclusive else None,
        time_limit=gang.time_limit if wishes.time_limit is None else wishes.time_limit,
        priority=rank.priority if wishes.priority is None else wishes.priority,
        nice=rank.nice,
        requeue=False,  # its pods end with it, and those that follow have a job of their own
        directory=DIRECTORY,
        comment=wishes.comment,
        mcs_label=settings.mcs_label,
        wckey=wishes.wckey,
    )


# --- how much ------------------------------------------------------------------------------


def _shape(gang: Gang, settings: Settings) -> dict[str, Any]:
    unit = _unit(gang, settings)
    amount = _by_node(gang, unit) if one_pod_a_node(gang) else _by_task(gang, unit)
    limits = [most for most in (gang.wishes.max_nodes, amount.pop("max_nodes")) if most]
    return {
        **amount,
        "cpus_per_task": unit.cpus,
        "max_nodes": min(limits, default=None),
        "licenses": _licenses(gang),
    }


def _where(choice: Choice) -> dict[str, Any]:
    return {
        "required_nodes": (choice.required,) if choice.required else None,
        "excluded_nodes": (choice.excluded,) if choice.excluded else None,
    }


def one_pod_a_node(gang: Gang) -> bool:
    if gang.most == 1 or gang.least < gang.most or gang.wishes.memory is not None:
        return True
    return rivals(member.ports for member in gang.members if member.ports)


def _impossible(gang: Gang) -> Reason | None:
    least, most = _least_nodes(gang), gang.wishes.max_nodes
    if most is not None and most < least:
        return Reason("TooFewNodesAllowed", f"{least} nodes are needed, and max-nodes is {most}")
    if gang.most + gang.done < (gang.wishes.min_nodes or 1):
        wish = gang.wishes.min_nodes
        return Reason("TooFewPods", f"min-nodes is {wish}, and there are {gang.most} pods")
    return None


def _least_nodes(gang: Gang) -> int:
    """A gang of which some have succeeded needs no nodes for them any more."""
    wish = min(gang.wishes.min_nodes or 1, gang.most)
    return max(wish, gang.least if one_pod_a_node(gang) else 1)


def _by_node(gang: Gang, unit: Needs) -> dict[str, Any]:
    exact = gang.least == gang.most
    return {
        "min_nodes": _least_nodes(gang),
        "max_nodes": gang.most,
        "min_cpus": gang.least * unit.cpus,
        "tasks": gang.least if exact else None,
        "tasks_per_node": 1,
        "memory_per_node": unit.memory,
        "tres_per_node": _gres(unit.gres),
    }


def _by_task(gang: Gang, unit: Needs) -> dict[str, Any]:
    """The most nodes are left open: Slurm spreads a job over as many as it is told it may have."""
    return {
        "min_nodes": _least_nodes(gang),
        "max_nodes": None,
        "min_cpus": gang.least * unit.cpus,
        "tasks": gang.least,
        "memory_per_cpu": -(-unit.memory // unit.cpus) if unit.memory else None,
        "tres_per_task": _gres(unit.gres),
    }


def _unit(gang: Gang, settings: Settings) -> Needs:
    unit = greatest(member.needs for member in gang.members)
    return replace(unit, memory=unit.memory or settings.default_memory)


def _gres(several: tuple[Gres, ...]) -> str | None:
    """Slurm wants the kind before the name in every one."""
    return ",".join(f"gres/{one}" for one in several) or None


def _licenses(gang: Gang) -> str | None:
    """Slurm counts licences by the job, so those of the pods add up."""
    sums: dict[str, int] = {}
    for member in gang.members:
        for name, count in member.needs.licenses:
            sums[name] = sums.get(name, 0) + count
    needed = [f"{name}:{count}" for name, count in sorted(sums.items())]
    return ",".join(filter(None, (gang.wishes.licenses, *needed))) or None
