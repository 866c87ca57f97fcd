from typing import Any

import pytest

from tests.unit.operator.workers.host_pods import host_pod
from tests.unit.operator.workers.observed import node_set, pod
from windlass.api import labels
from windlass.kube.meta import Meta
from windlass.kube.objects import Pod, PodSpec
from windlass.operator.workers.identity import absent, host_of, identity, ordinal_of, slurm_name


@pytest.mark.parametrize(
    ("spec", "ordinal", "name", "hostname"),
    [
        ({}, 7, "w-7", "w-7"),
        ({"ordinalPadding": 3}, 7, "w-007", "w-007"),
        ({"ordinalPadding": 1}, 12, "w-12", "w-12"),
        ({"template": {"spec": {"hostname": "gpu-"}}}, 7, "w-7", "gpu-7"),
        ({"ordinalPadding": 2, "template": {"spec": {"hostname": "gpu"}}}, 7, "w-07", "gpu07"),
    ],
)
def test_a_worker_is_named_by_its_set_and_number(
    spec: dict[str, Any], ordinal: int, name: str, hostname: str
) -> None:
    worker = identity(node_set(**spec), ordinal)

    assert (worker.pod, worker.hostname) == (name, hostname)


@pytest.mark.parametrize(
    ("name", "ordinal"), [("w-7", 7), ("w-007", 7), ("a-b-12", 12), ("w-x", None), ("w-", None)]
)
def test_the_number_of_a_pod_is_read_whatever_its_padding(name: str, ordinal: int | None) -> None:
    assert ordinal_of(Pod(metadata=Meta(name=name))) == ordinal


@pytest.mark.parametrize(
    ("present", "replicas", "expected"),
    [
        ([], 2, ["w-0", "w-1"]),
        ([0, 2], 4, ["w-1", "w-3"]),
        ([5], 2, ["w-0"]),
        ([0, 1, 2], 2, []),
        ([], 0, []),
    ],
)
def test_gaps_are_filled_first(present: list[int], replicas: int, expected: list[str]) -> None:
    pods = [pod(ordinal) for ordinal in present]

    assert [worker.pod for worker in absent(node_set(replicas=replicas), pods)] == expected


def test_a_pod_on_its_way_out_keeps_its_number_and_its_place() -> None:
    assert absent(node_set(replicas=2), [pod(0, going=True), pod(1)]) == []


def test_slurm_knows_a_pod_by_its_hostname_or_its_host() -> None:
    assert slurm_name(pod(3)) == "w-3"
    hosted = Pod(metadata=Meta(name="w-3"), spec=PodSpec(host_network=True, node_name="n1.example"))
    assert slurm_name(hosted) == "n1"
    spec = PodSpec(host_network=True, node_name="n1.example", hostname="gpu7")
    of_a_host = Meta(name="w-x", labels={labels.SCALING_MODE: "DaemonSet"})
    assert slurm_name(Pod(metadata=of_a_host, spec=spec)) == "gpu7"


def test_a_worker_of_a_host_takes_nobodys_place() -> None:
    assert [each.pod for each in absent(node_set(replicas=1), [host_pod("n1")])] == ["w-0"]


def test_a_pod_belongs_to_the_host_that_it_is_on_or_is_made_for() -> None:
    assert host_of(host_pod("n1")) == host_of(host_pod("n1", placed=False)) == "n1"
    assert host_of(pod(3)) == "n3"
    assert host_of(pod(3, node="")) == ""
