"""One worker on every Kubernetes node that fits, and none elsewhere.

Nodes come, go, and change their labels and taints: whoever is on one that does not fit any more
leaves, as does the younger of two on one node, and one whose name is not the node's any more.
"""

from collections.abc import Iterator, Mapping
from itertools import groupby

from windlass.operator.workers.course import NOTHING, Outcome, Pass
from windlass.operator.workers.identity import (
    ON_EVERY_HOST,
    Identity,
    host_of,
    hostname_of,
    identity_on,
    is_hostname,
    mode_of,
)
from windlass.operator.workers.phases.remake import remake
from windlass.operator.workers.phases.scale import of_the_set
from windlass.operator.workers.phases.wanting import wanted_workers
from windlass.operator.workers.worker import Worker
from windlass.values.reason import Reason


def spread(course: Pass) -> Outcome:
    if not course.observed.on_every_host:
        return NOTHING
    leave = _leaving(course)
    clashes = dict(_clashes(course))
    anew = remake(course)
    missing = [each for each in (*_missing(course), *anew.ready) if each.host not in clashes]
    made = wanted_workers(course, missing)
    return Outcome(leave=leave, faults=tuple(clashes.values())) + made + anew.outcome(made.make)


def _leaving(course: Pass) -> Mapping[str, Reason]:
    """Reasons are alike for many, so that one call to Slurm drains them all."""
    node_set, places = course.observed.node_set, course.observed.places
    unfit = of_the_set(node_set, "has no place on this Kubernetes node any more", "HostUnfit")
    renamed = of_the_set(node_set, "has another name for this Kubernetes node", "HostnameMismatch")
    double = of_the_set(node_set, "has another worker on this Kubernetes node", "SecondOnHost")
    found: dict[str, Reason] = {}
    settled: list[Worker] = []
    for worker in course.staying:
        name = worker.pod.metadata.name
        if host_of(worker.pod) not in places.stay:
            found[name] = unfit
        elif _misnamed(course, worker):
            found[name] = renamed
        else:
            settled.append(worker)
    return found | {each.pod.metadata.name: double for each in _younger(settled)}


def _misnamed(course: Pass, worker: Worker) -> bool:
    """A name that cannot be is no reason to take away the worker that is there."""
    wanted = hostname_of(course.observed.hosts[host_of(worker.pod)])
    return is_hostname(wanted) and worker.pod.spec.hostname != wanted


def _younger(workers: list[Worker]) -> Iterator[Worker]:
    """All but one on each host: who is on it stays before who waits for it, then the elder."""
    ordered = sorted(workers, key=lambda each: (host_of(each.pod), _order(each)))
    for _, there in groupby(ordered, key=lambda each: host_of(each.pod)):
        yield from list(there)[1:]


def _order(worker: Worker) -> tuple[bool, float, str]:
    created = worker.pod.metadata.creation_timestamp
    age = created.timestamp() if created else float("inf")
    return not worker.pod.spec.node_name, age, worker.pod.metadata.name


def _missing(course: Pass) -> list[Identity]:
    """A host is taken until the pod on it is gone, whoever that was."""
    observed = course.observed
    taken = {host_of(pod) for pod in observed.pods}
    free = sorted(observed.places.fit - taken)
    return [identity_on(observed.node_set, observed.hosts[name]) for name in free]


def _clashes(course: Pass) -> Iterator[tuple[str, Reason]]:
    """Hosts whose worker can have no name, or only one that another host's has."""
    observed = course.observed
    there = {
        pod.spec.hostname: host_of(pod) for pod in observed.pods if mode_of(pod) == ON_EVERY_HOST
    }
    first: dict[str, str] = {}
    for name in sorted(observed.places.fit):
        wanted = hostname_of(observed.hosts[name])
        owner = there.get(wanted) or first.setdefault(wanted, name)
        if not is_hostname(wanted):
            sentence = f"node {name} gives its worker the name {wanted!r}, which is no host name"
            yield name, Reason("HostnameInvalid", sentence)
        elif owner != name:
            sentence = f"the worker of node {name} would be {wanted}, as that of {owner} is"
            yield name, Reason("HostnameTaken", sentence)
