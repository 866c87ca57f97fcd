"""Who does what how often, and how all of them leave at the end."""

from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeAlias

from tests.sim import hosts, slurm_people, users
from tests.sim.kubelets import BROKEN, DISK_PRESSURE
from tests.sim.stage import Stage
from windlass.api import labels
from windlass.kube import kinds
from windlass.testing.virtual import clock

Said: TypeAlias = str | None
Act: TypeAlias = Callable[[Stage], Coroutine[Any, Any, Said] | Said]

ACTS: Final[tuple[tuple[int, Act], ...]] = (
    (8, users.scale),
    (3, users.update),
    (2, users.change_strategy),
    (1, users.schedule),
    (1, users.change_mode),
    (1, users.delete_set),
    (3, users.cordon_pod),
    (2, users.delete_pod),
    (1, users.crash),
    (3, users.evict),
    (4, hosts.cordon),
    (2, hosts.sicken),
    (1, hosts.taint),
    (2, hosts.relabel),
    (1, hosts.replace),
    (2, hosts.annotate),
    (14, slurm_people.submit),
    (4, slurm_people.drain),
    (1, slurm_people.down),
    (4, slurm_people.resume),
    (1, slurm_people.forget),
)


def leave(stage: Stage) -> None:
    """Everybody takes back what is in the way of the workers that are wanted."""
    for name in sorted(stage.judge.marks):
        stage.transcript.say("people", slurm_people.resume_node(stage, name))
    for name in stage.nodes:
        stage.change(kinds.NODE, name, {"spec": {"unschedulable": None, "taints": None}})
        stage.kubelets.mark(name, **{DISK_PRESSURE: "False"})
    for name in stage.pods:
        gone: dict[str, Any] = {labels.POD_CORDON: None, labels.EVICTION_ASKED: None}
        stage.change(kinds.POD, name, {"metadata": {"annotations": gone}})
    stage.slurmds.finish_all(clock())
    if stage.node_set is not None:
        _want_what_can_be(stage, stage.node_set["spec"])


def _want_what_can_be(stage: Stage, spec: dict[str, Any]) -> None:
    wish: dict[str, Any] = {"updateStrategy": {"type": "RollingUpdate", "scheduledUpdate": None}}
    if (spec.get("slurmd") or {}).get("image") == BROKEN:
        wish["slurmd"] = {"image": users.GOOD[0]}
    wish["replicas"] = min(spec["replicas"], len(stage.pool))
    stage.ask("wants what can be", wish)
