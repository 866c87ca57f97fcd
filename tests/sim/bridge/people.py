"""What users of Kubernetes do, whenever they like.

Each takes a cluster and says what was done; None where there was nothing to do it to.
"""

from typing import Final

from tests.sim.bridge.controllers import Shape
from tests.sim.bridge.objects import (
    GANG,
    LEAST,
    NAMESPACE,
    RANK,
    ZONE,
    Amount,
    lives,
    pod_spec,
    wishes,
)
from tests.sim.bridge.slurmctld import URGENT
from tests.sim.bridge.stage import Site
from windlass.bridge import words
from windlass.kube import kinds, requests
from windlass.kube.kinds import Kind
from windlass.kube.requests import Deletion
from windlass.values.key import Key

MOST: Final = 12
"""Pods that live at once; with more than this nobody makes any."""


def _enough(site: Site) -> bool:
    return sum(lives(pod) for pod in site.pods.values()) >= MOST


def pod(site: Site) -> str | None:
    if _enough(site):
        return None
    name = site.called("p")
    amount = site.rng.choice(
        (
            *(Amount(1), Amount(1), Amount(2), Amount(3), Amount(1, 1), Amount(1, 2)),
            *(Amount(1, classed=1), Amount(1, classed=2)),
        )
    )
    asked = site.rng.choice(({}, {}, {}, {"timelimit": 1}, {"priority": URGENT}, {"priority": 5}))
    zone = site.rng.choice((None, None, "a", "b")) if amount in (Amount(1), Amount(2)) else None
    more = {"nodeSelector": {ZONE: zone}} if zone else {}
    grace = {"terminationGracePeriodSeconds": site.rng.choice((2, 10, 30))}
    spec = pod_spec(amount, **more, **grace)
    site.create(kinds.POD, name, metadata={"annotations": wishes(**asked)}, spec=spec)
    return f"makes {name} of {amount}{f' in zone {zone}' if zone else ''} {asked or ''}"


def gated(site: Site) -> str | None:
    """One that is not to be scheduled yet."""
    if _enough(site):
        return None
    name = site.called("p")
    spec = pod_spec(Amount(), schedulingGates=[{"name": "example.com/wait"}])
    site.create(kinds.POD, name, spec=spec)

    def end() -> str:
        if name in site.pods:
            site.change(kinds.POD, name, {"spec": {"schedulingGates": None}})
        return f"the gate of {name} opens"

    site.later(site.rng.choice((1.0, 10.0)), end)
    return f"makes {name} behind a gate"


def _shape(site: Site) -> Shape:
    size = site.rng.choice((2, 2, 3))
    return Shape(size, Amount(site.rng.choice((1, 1, 2))), site.rng.choice((None, 2)))


def job(site: Site) -> str | None:
    if _enough(site):
        return None
    name, shape = site.called("job"), _shape(site)
    indexed = site.rng.random() < 0.7
    if not indexed:
        shape = Shape(shape.size, shape.amount)
    site.controllers.make_job(name, shape, indexed=indexed)
    return f"makes {'indexed' if indexed else 'plain'} Job {name}: {shape}"


def job_set(site: Site) -> str | None:
    if _enough(site):
        return None
    name, shape = site.called("set"), _shape(site)
    site.controllers.make_set(name, shape)
    return f"makes JobSet {name}: {shape}"


def server(site: Site) -> str | None:
    """One is enough: it stays."""
    if _enough(site) or _there(site, kinds.LEADER_WORKER_SET):
        return None
    name, shape = site.called("lws"), Shape(2)
    leader_first = site.rng.random() < 0.5
    site.controllers.make_group(name, shape, leader_first=leader_first)
    return f"makes LeaderWorkerSet {name}{', the leader first' if leader_first else ''}"


def group(site: Site) -> str | None:
    """A PodGroup of either API, and its pods one after the other, perhaps one more than needed."""
    if _enough(site):
        return None
    core = site.rng.random() < 0.5
    name, least = site.called("g"), 2
    if core:
        spec = {"schedulingPolicy": {"gang": {"minCount": least}}}
        site.create(kinds.CORE_POD_GROUP, name, spec=spec)
    else:
        site.create(kinds.POD_GROUP, name, spec={"minMember": least})
    size = least + site.rng.choice((0, 0, 1))
    delay = 0.0
    for rank in range(size):
        site.later(delay, lambda rank=rank: _joins(site, name, rank, core=core))  # type: ignore[misc]
        delay += site.rng.choice((0.0, 0.0, 1.0, 4.0))
    return f"makes {'core ' if core else ''}PodGroup {name} of {size}"


def _joins(site: Site, name: str, rank: int, *, core: bool) -> str:
    labels = {GANG: name, RANK: str(rank), LEAST: "2"}
    labels |= {} if core else {words.POD_GROUP: name}
    more = {"schedulingGroup": {"podGroupName": name}} if core else {}
    spec = pod_spec(Amount(), **more)
    site.create(kinds.POD, f"{name}-{rank}", metadata={"labels": labels}, spec=spec)
    return f"{name}-{rank} is made"


def _there(site: Site, kind: Kind) -> list[str]:
    return [key.name for key, _ in site.kube.all(kind)]


def delete_pod(site: Site) -> str | None:
    name = site.any(site.pods)
    if name is None:
        return None
    force = site.rng.random() < 0.2
    how = Deletion(grace_seconds=0) if force else Deletion()
    site.kube.answer(requests.delete(kinds.POD, Key(NAMESPACE, name), how))
    return f"deletes {name}{' by force' if force else ''}"


def delete_workload(site: Site) -> str | None:
    kind = site.rng.choice((kinds.JOB, kinds.JOB_SET, kinds.LEADER_WORKER_SET, kinds.POD_GROUP))
    name = site.any(_there(site, kind))
    if name is None:
        return None
    site.kube.answer(requests.delete(kind, Key(NAMESPACE, name)))
    return f"deletes {kind.kind} {name}"
