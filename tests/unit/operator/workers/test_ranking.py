import pytest

from tests.unit.operator.workers.observed import pod
from windlass.api import labels
from windlass.kube.objects import Pod
from windlass.operator.workers.ranking import rank


def noted(ordinal: int, annotation: str, value: str) -> Pod:
    return pod(ordinal, annotations={annotation: value})


COST, DEADLINE, CORDON = labels.POD_DELETION_COST, labels.POD_DEADLINE, labels.POD_CORDON


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod(0, node=""), pod(1, ready=False)),
        (pod(0, phase="Pending", ready=False), pod(1, phase="Unknown", ready=False)),
        (pod(0, phase="Unknown"), pod(1)),
        (pod(0, ready=False), pod(1)),
        (noted(0, COST, "-1"), pod(1)),
        (pod(0), noted(1, COST, "5")),
        (pod(1), noted(0, COST, "+1")),
        (pod(1), noted(0, COST, "-99999999999")),
        (pod(0), noted(1, DEADLINE, "2026-07-01T13:00:00Z")),
        (noted(0, DEADLINE, "2026-07-01T13:00:00Z"), noted(1, DEADLINE, "2026-07-02T13:00:00Z")),
        (noted(0, DEADLINE, "2026-07-01T13:00:00Z"), noted(1, DEADLINE, "soon")),
        (noted(0, CORDON, "true"), pod(1)),
        (pod(3), pod(2)),
        (pod(0, since="2026-07-01T11:30:00Z"), pod(0)),
        (pod(0, created="2026-07-01T10:30:00Z"), pod(0)),
    ],
    ids=[
        "on no node",
        "pending before unknown",
        "unknown before running",
        "not ready",
        "cheap",
        "not dear",
        "a cost with a plus is none",
        "a cost out of range is none",
        "no job",
        "its jobs end sooner",
        "a deadline that cannot be read is far",
        "cordoned",
        "higher number",
        "ready for a shorter time",
        "younger",
    ],
)
def test_the_worker_that_loses_least_goes_first(first: Pod, second: Pod) -> None:
    assert rank(first) < rank(second)
