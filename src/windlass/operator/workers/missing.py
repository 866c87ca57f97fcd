"""The numbered workers that are missing, and where they have to be."""

from dataclasses import replace

from windlass.operator.workers.identity import Identity, absent
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.pins import pins


def missing_numbers(observed: Observed) -> list[Identity]:
    pinned = pins(observed)
    found = absent(observed.node_set, observed.pods)
    return [replace(each, host=pinned.get(str(each.ordinal), "")) for each in found]
