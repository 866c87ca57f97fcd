"""How many workers are to be made and which may go, before anything is rendered."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from windlass.kube.objects import Pod
from windlass.operator.workers.facts import finished, going, may_go
from windlass.operator.workers.identity import Identity, absent
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.ranking import rank
from windlass.operator.workers.revision import revision_of

BURST: Final = 250
"""The most pods that one pass makes, and the most that it removes."""


@dataclass(frozen=True, slots=True)
class Decisions:
    make: tuple[Identity, ...] = ()
    more: int = 0
    """Workers that wait for the next pass."""
    taken: tuple[str, ...] = ()
    """Names that somebody else's pods have."""
    replace: tuple[Pod, ...] = ()
    """Pods that have ended and are made anew."""
    scale_in: tuple[Pod, ...] = ()
    scale_in_waits: tuple[Pod, ...] = ()
    update: tuple[Pod, ...] = ()
    update_waits: tuple[Pod, ...] = ()


def decide(observed: Observed, revision: str) -> Decisions:
    wanted = absent(observed.node_set, observed.pods)
    free = [worker for worker in wanted if worker.pod not in observed.strangers]
    live = sorted((pod for pod in observed.pods if not going(pod)), key=rank)
    ended = [pod for pod in live if finished(pod)]
    running = [pod for pod in live if not finished(pod)]
    scale_in, waits = _scale_in(observed, running, len(live))
    condemned = {pod.metadata.name for pod in (*scale_in, *waits)}
    kept = [pod for pod in running if pod.metadata.name not in condemned]
    update, update_waits = _update(observed, kept, revision)
    return Decisions(
        make=tuple(free[:BURST]),
        more=max(0, len(free) - BURST),
        taken=tuple(worker.pod for worker in wanted if worker.pod in observed.strangers),
        replace=tuple(ended[:BURST]),
        scale_in=tuple(scale_in[:BURST]),
        scale_in_waits=tuple(waits),
        update=tuple(update[:BURST]),
        update_waits=tuple(update_waits),
    )


def _scale_in(observed: Observed, running: list[Pod], live: int) -> tuple[list[Pod], list[Pod]]:
    """Of those too many, first who may go at once; who may not stays, and is named."""
    ended = live - len(running)
    surplus = max(0, live - observed.node_set.spec.replicas - ended)
    free, bound = _split(observed, running)
    return free[:surplus], bound[: max(0, surplus - len(free))]


def _update(observed: Observed, kept: list[Pod], revision: str) -> tuple[list[Pod], list[Pod]]:
    old = [pod for pod in kept if revision_of(pod) != revision]
    if observed.node_set.spec.update_strategy.type == "OnDelete":
        return [], []
    return _split(observed, old)


def _split(observed: Observed, pods: Iterable[Pod]) -> tuple[list[Pod], list[Pod]]:
    free: list[Pod] = []
    bound: list[Pod] = []
    for pod in pods:
        (free if may_go(pod, observed.slurm) else bound).append(pod)
    return free, bound
