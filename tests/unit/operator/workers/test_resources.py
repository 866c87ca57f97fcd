from typing import Any

import pytest

from tests.unit.operator.workers.observed import node_set
from windlass.operator.workers.resources import best_effort, limits_env

LIMITS = {"resources": {"limits": {"cpu": "1500m", "memory": "1Gi"}}}


@pytest.mark.parametrize(
    ("spec", "cpus", "memory"),
    [
        ({}, "0", "0"),
        ({"slurmd": LIMITS}, "2", "1024"),
        ({"template": {"spec": LIMITS}}, "2", "1024"),
        (
            {"template": {"spec": LIMITS}, "slurmd": {"resources": {"limits": {"cpu": 4}}}},
            "4",
            "1024",
        ),
        ({"slurmd": {"resources": {"limits": {"cpu": 0.5}}}}, "1", "0"),
        ({"template": {"spec": {"containers": [{"name": "slurmd", **LIMITS}]}}}, "2", "1024"),
        ({"template": {"spec": {"containers": [{"name": "other", **LIMITS}]}}}, "0", "0"),
    ],
)
def test_slurmd_is_told_the_limits_of_its_container_before_its_pods(
    spec: dict[str, Any], cpus: str, memory: str
) -> None:
    told = {entry["name"]: entry["value"] for entry in limits_env(node_set(**spec))}

    assert told == {"POD_CPUS": cpus, "POD_MEMORY": memory}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{"name": "slurmd"}]}, True),
        ({"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}, True),
        ({"containers": [{"resources": {"requests": {"cpu": 1}}}]}, False),
        ({"initContainers": [LIMITS], "containers": [{}]}, False),
        ({**LIMITS, "containers": [{}]}, False),
    ],
)
def test_a_pod_that_asks_for_nothing_is_best_effort(spec: dict[str, Any], expected: bool) -> None:
    assert best_effort(spec) is expected
