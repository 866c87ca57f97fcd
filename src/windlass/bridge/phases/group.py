"""Kubernetes' own PodGroups are told whether their gang has its places.

Those of scheduling.x-k8s.io are told by the controller that they come with, from their pods.
"""

from collections.abc import Iterable
from typing import Final

from windlass.bridge.observed import Observed
from windlass.bridge.plan import Explain, TellGroup
from windlass.bridge.workloads.objects import CorePodGroup
from windlass.kube.meta import Condition
from windlass.values.moments import written
from windlass.values.reason import Reason

CONDITION: Final = "PodGroupScheduled"
SCHEDULED: Final = "Scheduled"
WAITS: Final = "Unschedulable"
"""Kubernetes' word; the sentence says more."""


def scheduled(seen: Observed, scheduler: str) -> tuple[TellGroup, ...]:
    """All that are there have their place, or get it now. It is said once."""
    shown = _shown(seen.group)
    if seen.group is None or (shown is not None and shown.status == "True"):
        return ()
    reason = Reason(SCHEDULED, f"Pod group admitted by {scheduler}")
    return (_tell(seen, seen.group, "True", reason),)


def waits(seen: Observed, told: Iterable[Explain]) -> tuple[TellGroup, ...]:
    """When pods are told something new; a group that once had its places is not taken back."""
    news = next((each.reason for each in told if each.event), None)
    shown = _shown(seen.group)
    if seen.group is None or news is None or (shown is not None and shown.status == "True"):
        return ()
    return (_tell(seen, seen.group, "False", Reason(WAITS, news.sentence)),)


def _tell(seen: Observed, group: CorePodGroup, status: str, reason: Reason) -> TellGroup:
    shown = _shown(group)
    since = shown.last_transition_time if shown and shown.status == status else None
    meta = group.metadata
    return TellGroup(
        meta.key, meta.uid, meta.generation, status, reason, written(since or seen.now)
    )


def _shown(group: CorePodGroup | None) -> Condition | None:
    every = (group.status.conditions or ()) if group else ()
    return next((each for each in every if each.type == CONDITION), None)
