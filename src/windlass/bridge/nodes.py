"""Which of Slurm's nodes a job may have: what Kubernetes allows, said as shortly as it can be.

slurmctld takes a list of required nodes as the candidates if it is longer than the job's least
number of nodes. One that is not is a demand for all of them, and the job may have others besides;
then the nodes that it may not have are listed instead.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from windlass.bridge.order import natural
from windlass.values.hostlist import fold
from windlass.values.reason import Reason


@dataclass(frozen=True, slots=True)
class Choice:
    """Hostlists; empty where nothing has to be said."""

    required: str = ""
    excluded: str = ""


@lru_cache(maxsize=256)  # many pods wait for the same nodes
def choose(
    known: frozenset[str], feasible: frozenset[str], least: int, most: int | None
) -> Choice | Reason:
    """Of the nodes that Slurm knows, those that take the pods; or why it cannot be.

    `least` and `most` are numbers of nodes of the job.
    """
    fit = known & feasible
    if not fit:
        return Reason("NoNodeFits", f"none of {len(known)} nodes takes the pods")
    if len(fit) < least:
        return Reason("TooFewNodesFit", f"{len(fit)} nodes take the pods, and {least} are needed")
    if fit == known:
        return Choice()
    required, excluded = _written(fit), _written(known - fit)
    candidates = len(fit) > least or most == least
    if not candidates or len(excluded) < len(required):
        return Choice(excluded=excluded)
    return Choice(required=required)


def _written(names: Iterable[str]) -> str:
    return fold(sorted(names, key=natural))  # neighbours fold
