"""Who was asked to be evicted drains until the asking is forgotten."""

import pytest

from tests.unit.operator.workers.observed import pod, slurm
from tests.unit.operator.workers.phases.courses import course, draining, steps
from tests.unit.operator.workers.test_plan import drained
from windlass.api import labels
from windlass.kube.objects import Pod
from windlass.operator.plan import Mark
from windlass.operator.workers.phases.evict import evict
from windlass.operator.workers.plan import plan


def asked(when: str, ordinal: int = 0) -> Pod:
    return pod(ordinal, annotations={labels.EVICTION_ASKED: when})


def test_a_worker_drains_for_ten_minutes_after_the_last_asking() -> None:
    found = evict(course(pods=(asked("2026-07-01T11:55:00Z"), pod(1))))
    assert {name: why.sentence for name, why in found.drain.items()} == {
        "w-0": "Pod (hpc/w-0) is to be evicted"
    }
    assert found.again == 300
    assert found.actions == ()


@pytest.mark.parametrize("when", ["2026-07-01T11:50:00Z", "yesterday", "2026-07-01T11:59:00"])
def test_an_asking_that_is_over_or_makes_no_sense_is_forgotten(when: str) -> None:
    found = evict(course(pods=(asked(when),)))
    assert found.drain == {}
    (step,) = steps(found)
    assert isinstance(step, Mark)
    assert (step.uid, step.annotations) == ("u-0", {labels.EVICTION_ASKED: None})


def test_a_worker_that_goes_anyway_is_left_to_that() -> None:
    going = pod(0, going=True, annotations={labels.EVICTION_ASKED: "2026-07-01T11:59:00Z"})
    assert evict(course(pods=(going,))).drain == {}


def test_the_reason_of_a_cordon_stands() -> None:
    before = draining(w_0="Node (n0) was cordoned")
    found = evict(course(found=before, pods=(asked("2026-07-01T11:59:00Z"),)))
    assert (before + found).drain["w-0"].sentence == "Node (n0) was cordoned"


def test_the_plan_drains_it_in_slurm() -> None:
    seen = course(pods=(asked("2026-07-01T11:59:00Z"),), slurm=slurm(w_0="MIXED"))
    assert drained(plan(seen.observed, seen.now)) == {"DRAIN": ["w-0"]}
