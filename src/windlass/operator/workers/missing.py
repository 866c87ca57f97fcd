"""The numbered workers that are missing, and where they have to be."""

from collections.abc import Iterator
from dataclasses import replace

from windlass.operator.workers.identity import Identity, absent
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.pins import pins
from windlass.operator.workers.volumes import claim_suffix


def missing_numbers(observed: Observed) -> list[Identity]:
    """Where claims go with workers that are scaled away, a number that has one was not: it is the
    first to come back."""
    pinned = pins(observed)
    policy = observed.node_set.spec.persistent_volume_claim_retention_policy
    first = frozenset(_claimed(observed)) if policy.when_scaled == "Delete" else frozenset[int]()
    found = absent(observed.node_set, observed.pods, first)
    return [replace(each, host=pinned.get(str(each.ordinal), "")) for each in found]


def _claimed(observed: Observed) -> Iterator[int]:
    for claim in observed.claims:
        suffix = claim_suffix(observed.node_set, claim.name)
        if suffix.isascii() and suffix.isdigit() and claim.deletion_timestamp is None:
            yield int(suffix)
