"""The claims of workers go with those that are scaled away, and with the set, if it says so.

Who is scaled away is not wanted any more; a cordon, an eviction or an update says nothing of that.
A claim that is not wanted is marked, and deleted a while later if that is still so: the watch of
pods may lag, and users change their minds.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from windlass.api import labels
from windlass.kube.kinds import PERSISTENT_VOLUME_CLAIM
from windlass.kube.meta import Meta
from windlass.operator.plan import Action, AtOnce, Delete, Mark, Own, Tell
from windlass.operator.workers.course import NOTHING, Outcome, Pass, soonest
from windlass.operator.workers.identity import Identity, identity_on, ordinal_of
from windlass.operator.workers.missing import missing_numbers
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.volumes import claim_names, claim_owner, claim_suffix, mounted
from windlass.values.reason import Reason

GRACE: Final = 30.0
"""Seconds for which a claim is not wanted before it goes."""
SHOWN: Final = 5
UNWANTED: Final = Reason("ClaimUnwanted", "its worker was scaled away")


def claims(course: Pass) -> Outcome:
    observed = course.observed
    pods = frozenset(pod.metadata.uid for pod in observed.pods)
    ours = [each for each in observed.claims if _ours(observed, pods, each)]
    if not ours:
        return NOTHING
    policy = observed.node_set.spec.persistent_volume_claim_retention_policy
    wanted = _Wanted(observed) if policy.when_scaled == "Delete" else None
    kept = [each for each in ours if wanted is None or wanted.has(each)]
    unwanted = [each for each in ours if wanted is not None and not wanted.has(each)]
    left = {each.name: _left(each, course.now) for each in unwanted}
    return Outcome(
        actions=(
            *_together(_owned(observed, pods, each) for each in ours),
            *_together(_unmarked(each) for each in kept),
            *_together(_marked(each, course.now) for each in unwanted),
            *_deleted([each for each in unwanted if left[each.name] <= 0]),
        ),
        again=soonest(*(each for each in left.values() if each > 0)),
    )


def _ours(observed: Observed, pods: frozenset[str], claim: Meta) -> bool:
    """Whether we may touch it: somebody else's, or that of a set that is gone, we may not."""
    if claim.deletion_timestamp is not None or not claim_suffix(observed.node_set, claim.name):
        return False
    manager = claim.controller
    uid = observed.node_set.metadata.uid
    return manager is None or manager.uid == uid or manager.uid in pods


class _Wanted:
    """Whose claims are wanted: those of pods that are there, and of workers that should be."""

    def __init__(self, observed: Observed) -> None:
        self._node_set = observed.node_set
        coming = list(_coming(observed))
        numbers = {ordinal_of(pod) for pod in observed.pods} | {each.ordinal for each in coming}
        self._numbers = {str(number) for number in numbers if number is not None}
        self._names = {name for pod in observed.pods for name in mounted(pod)}
        for each in coming:
            self._names |= claim_names(observed.node_set, each)

    def has(self, claim: Meta) -> bool:
        suffix = claim_suffix(self._node_set, claim.name)
        number = (suffix.lstrip("0") or "0") if suffix.isdigit() else suffix
        return claim.name in self._names or number in self._numbers


def _coming(observed: Observed) -> Iterator[Identity]:
    if not observed.on_every_host:
        yield from missing_numbers(observed)
        return
    for name in observed.places.stay:
        yield identity_on(observed.node_set, observed.hosts[name])


def _owned(observed: Observed, pods: frozenset[str], claim: Meta) -> Own | None:
    """No pod stays an owner, as with Slinky: with it the data would go."""
    policy = observed.node_set.spec.persistent_volume_claim_retention_policy
    uid = observed.node_set.metadata.uid
    shown = {each.uid for each in claim.owner_references or ()}
    goes_with_set = policy.when_deleted == "Delete"
    kept = {uid} if goes_with_set else set()
    remove = tuple(sorted(each for each in shown - kept if each == uid or each in pods))
    add = (claim_owner(observed.node_set),) if goes_with_set and uid not in shown else ()
    if not (add or remove):
        return None
    return Own(PERSISTENT_VOLUME_CLAIM, claim.key, claim.uid, add, remove)


def _marked(claim: Meta, now: datetime) -> Mark | None:
    if _since(claim) is not None:
        return None
    return _mark(claim, now.strftime("%Y-%m-%dT%H:%M:%SZ"))


def _unmarked(claim: Meta) -> Mark | None:
    return _mark(claim, None) if labels.UNWANTED_SINCE in (claim.annotations or {}) else None


def _mark(claim: Meta, since: str | None) -> Mark:
    marks = {labels.UNWANTED_SINCE: since}
    return Mark(PERSISTENT_VOLUME_CLAIM, claim.key, claim.uid, annotations=marks)


def _since(claim: Meta) -> datetime | None:
    written = (claim.annotations or {}).get(labels.UNWANTED_SINCE, "")
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return None
    return found if found.tzinfo else None


def _left(claim: Meta, now: datetime) -> float:
    since = _since(claim)
    return GRACE - (now - since).total_seconds() if since else GRACE


def _together(steps: Iterator[Own | None] | Iterator[Mark | None]) -> Iterator[Action]:
    found = tuple(step for step in steps if step is not None)
    if found:
        yield AtOnce(found)


def _deleted(unwanted: list[Meta]) -> Iterator[Action]:
    if not unwanted:
        return
    yield AtOnce(
        tuple(Delete(PERSISTENT_VOLUME_CLAIM, each.key, each.uid, UNWANTED) for each in unwanted)
    )
    shown = ", ".join(each.name for each in unwanted[:SHOWN])
    more = f" and {len(unwanted) - SHOWN} more" if len(unwanted) > SHOWN else ""
    sentence = f"claims of workers that were scaled away are deleted: {shown}{more}"
    yield Tell(warning=False, reason=Reason("ClaimsDeleted", sentence), action="ScaleDown")
