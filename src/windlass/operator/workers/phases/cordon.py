"""Where Kubernetes wants no more work, Slurm starts none: cordoned hosts and pods, hosts that are
unhealthy by the conditions and taints that the operator was told of."""

import unicodedata
from collections.abc import Iterator
from typing import Final

from windlass.api import labels
from windlass.kube.meta import Condition
from windlass.kube.objects import Node as Host
from windlass.operator.site import Site
from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.worker import Worker
from windlass.values.reason import Reason

LONGEST: Final = 256


def cordon(course: Pass) -> Outcome:
    site = course.observed.site
    found = {
        each.pod.metadata.name: reason
        for each in course.staying
        if (reason := next(_causes(each, site), None))
    }
    return Outcome(drain=found)


def _causes(worker: Worker, site: Site) -> Iterator[Reason]:
    host = worker.host
    if host is not None and host.spec.unschedulable:
        yield Reason("NodeCordon", _cordon_reason(worker, host, site))
    if (worker.pod.metadata.annotations or {}).get(labels.POD_CORDON) == "true":
        yield Reason("PodCordon", f"{worker.label} was cordoned")
    if host is not None:
        if ill := _conditions(host, site.drain_node_conditions):
            yield Reason("NodeUnhealthy", f"Node ({host.metadata.name}) is unhealthy: {ill}")
        if tainted := _taints(host, site.drain_node_taints):
            yield Reason("NodeTainted", f"Node ({host.metadata.name}) is tainted: {tainted}")


def _cordon_reason(worker: Worker, host: Host, site: Site) -> str:
    given = _plain((host.metadata.annotations or {}).get(labels.NODE_CORDON_REASON, ""))
    told = given or _conditions(host, site.propagated_node_conditions)
    return told or f"Node ({host.metadata.name}) was cordoned, {worker.label} must be cordoned"


def _conditions(host: Host, types: tuple[str, ...]) -> str:
    """Those that are true; Ready is the one that is ill when it is not."""
    found = (each for each in host.status.conditions or () if each.type in types and _ill(each))
    return _plain("; ".join(f"({each.reason}: {each.message})" for each in found))


def _ill(condition: Condition) -> bool:
    return condition.status != "True" if condition.type == "Ready" else condition.status == "True"


def _taints(host: Host, keys: tuple[str, ...]) -> str:
    found = (each for each in host.spec.taints or () if each.key in keys)
    return _plain(
        ", ".join(
            f"{each.key}={each.value}:{each.effect}" if each.value else f"{each.key}:{each.effect}"
            for each in found
        )
    )


def _plain(text: str) -> str:
    """One line of so many characters: Slurm's reasons are printed in tables."""
    spaced = (" " if sign in "\t\r\n" else sign for sign in text)
    kept = "".join(sign for sign in spaced if unicodedata.category(sign)[0] != "C")
    return kept.strip()[:LONGEST]
