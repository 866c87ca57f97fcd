"""Where numbered workers come back to, if they shall come back to the host that they were on."""

from collections.abc import Iterator, Mapping

import msgspec

from windlass.kube.objects import PodSpec
from windlass.kube.placement import NO_TAINT, pinned_to, refusal
from windlass.operator.workers.hosts import demands_of
from windlass.operator.workers.identity import BY_NUMBER, mode_of, ordinal_of
from windlass.operator.workers.observe import Observed


def pins(observed: Observed) -> Mapping[str, str]:
    """By number, the host of a worker: where it runs, or where it ran before.

    A host that is gone, or whose labels the template does not ask for any more, is forgotten;
    taints and cordons pass. So is one that another worker has taken meanwhile.
    """
    spec, known = observed.node_set.spec, observed.node_set.status.ordinal_to_node or {}
    if not spec.pin_to_node or spec.scaling_mode != BY_NUMBER:
        return {}
    running = dict(_running(observed))
    taken = frozenset() if spec.oversubscribe_node else frozenset(running.values())
    before = {number: host for number, host in known.items() if host not in taken}
    found = before | running
    try:
        fit = _fitting(observed, frozenset(found.values()))
    except msgspec.ValidationError:
        return known  # such a set is refused
    return {number: found[number] for number in sorted(found, key=_order) if found[number] in fit}


def template_pin(observed: Observed) -> str:
    """The one host that the user's own template allows."""
    given = observed.node_set.spec.template.spec or {}
    return pinned_to(PodSpec(affinity=given.get("affinity")))


def _running(observed: Observed) -> Iterator[tuple[str, str]]:
    for pod in observed.pods:
        number = ordinal_of(pod)
        placed = pod.spec.node_name and pod.status.phase == "Running"
        if placed and number is not None and mode_of(pod) == BY_NUMBER:
            yield str(number), pod.spec.node_name


def _fitting(observed: Observed, names: frozenset[str]) -> frozenset[str]:
    asked, hosts = demands_of(observed.node_set), observed.hosts
    there = (name for name in names if name in hosts)
    return frozenset(name for name in there if refusal(asked, hosts[name], NO_TAINT) is None)


def _order(number: str) -> tuple[int, str]:
    return len(number), number
