"""A worker that waits for a host to which it is not pinned any more is made anew, so that another
may take it."""

from collections.abc import Iterator

from windlass.kube.placement import pinned_to
from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.facts import unplaced
from windlass.operator.workers.identity import BY_NUMBER, mode_of, ordinal_of
from windlass.operator.workers.phases.scale import of_the_set
from windlass.operator.workers.pins import pins, template_pin


def pin(course: Pass) -> Outcome:
    waiting = dict(_waiting(course))
    if not waiting:
        return NOTHING
    pinned = pins(course.observed)
    why = of_the_set(course.observed.node_set, "has no pin to this Kubernetes node", "PinLost")
    lost = (name for name, (number, host) in waiting.items() if pinned.get(number) != host)
    return Outcome(leave=dict.fromkeys(lost, why))


def _waiting(course: Pass) -> Iterator[tuple[str, tuple[str, str]]]:
    """Pods on no host yet that were made for one, with their number; not by the user's template."""
    own = template_pin(course.observed)
    for each in course.staying:
        if mode_of(each.pod) == BY_NUMBER and unplaced(each.pod):
            host = pinned_to(each.pod.spec)
            if host and host != own:
                yield each.pod.metadata.name, (str(ordinal_of(each.pod)), host)
