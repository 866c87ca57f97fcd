import pytest

from tests.unit.bridge.builders import alike, job, other, pod, slurm
from windlass.api.validation.findings import Problem
from windlass.bridge.devices import DEFAULT
from windlass.bridge.gang import Gang, GangKey, Member
from windlass.bridge.resources import Needs
from windlass.bridge.workloads.pod import gang
from windlass.bridge.workloads.surroundings import Owner, Surroundings
from windlass.kube.objects import Pod
from windlass.values.key import Key


def alone(one: Pod, *owners: Owner) -> Gang:
    return gang([one], alike(Surroundings(owners)), DEFAULT)


def test_a_pod_is_a_gang_of_one() -> None:
    found = alone(pod("p", cpus=3, spec={"nodeName": "n1", "priorityClassName": "high"}))
    assert found.key == GangKey("Pod", "team", "p")
    assert found.members == (Member(0, Needs(cpus=3), Key("team", "p"), "uid-p", "n1"),)
    assert (found.least, found.most, found.uid, found.name) == (1, 1, "uid-p", "p")
    assert found.priority_class == "high"
    assert found.waits is None
    assert not found.findings


@pytest.mark.parametrize(
    ("seconds", "of_job", "minutes"),
    [
        (None, None, None),
        (60, None, 1),
        (61, None, 2),
        (None, 3600, 60),
        (60, 3600, 60),
        (0, 0, None),
    ],
)
def test_the_deadline_of_the_job_goes_before_that_of_the_pod(
    seconds: int | None, of_job: int | None, minutes: int | None
) -> None:
    one = pod(spec={"activeDeadlineSeconds": seconds})
    assert alone(one, Owner("Job", job(activeDeadlineSeconds=of_job))).time_limit == minutes


def test_annotations_of_all_owners_are_heard_and_the_pod_s_own_wins() -> None:
    found = alone(
        pod(annotations=slurm(qos="pod")),
        other("ReplicaSet", annotations=slurm(qos="set", account="set")),
        other("Deployment", annotations=slurm(account="far", wckey="far")),
    )
    wishes = found.wishes
    assert (wishes.qos, wishes.account, wishes.wckey) == ("pod", "set", "far")
    assert [level.of for level in found.levels] == ["Deployment it", "ReplicaSet it", ""]


def test_a_mistake_of_an_owner_names_the_owner() -> None:
    found = alone(pod(), other("ReplicaSet", "web", annotations=slurm(quality="x")))
    assert found.problems[0].field.startswith("ReplicaSet web metadata.annotations[")


def test_an_annotation_may_raise_what_a_pod_needs() -> None:
    found = alone(
        pod(cpus=2, annotations=slurm(cpu_per_task="4", mem_per_node="1Gi", gres="gpu:1"))
    )
    needs = found.members[0].needs
    assert (needs.cpus, needs.memory, [str(one) for one in needs.gres]) == (4, 1024, ["gpu:1"])
    assert not found.findings


@pytest.mark.parametrize(
    ("amounts", "wish", "sentence"),
    [
        ({"cpu": "4"}, slurm(cpu_per_task="2"), "the pod itself asks for 4 CPUs"),
        ({"memory": "2Gi"}, slurm(mem_per_node="1Gi"), "the pod itself asks for 2048 MiB"),
        ({"nvidia.com/gpu": "2"}, slurm(gres="gpu:h100:1"), "the pod itself asks for gpu:2"),
        (
            {"deviceclass.resource.kubernetes.io/dra.cpu": "2"},
            slurm(cpu_per_task="2"),
            "the pod asks for deviceclass.resource.kubernetes.io/dra.cpu",
        ),
        (
            {"deviceclass.resource.kubernetes.io/gpu.nvidia.com": "1"},
            slurm(gres="gpu:1"),
            "the pod asks for deviceclass.resource.kubernetes.io/gpu.nvidia.com",
        ),
    ],
)
def test_an_annotation_that_says_less_than_the_pod_is_refused(
    amounts: dict[str, str], wish: dict[str, str], sentence: str
) -> None:
    spec = {"containers": [{"resources": {"limits": amounts}}]}
    (found,) = alone(pod(annotations=wish, spec=spec)).findings
    assert isinstance(found, Problem)
    assert found.sentence == sentence


def test_a_typed_device_may_stand_for_any() -> None:
    spec = {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "2"}}}]}
    assert not alone(pod(annotations=slurm(gres="gpu:h100:2"), spec=spec)).findings


def test_a_pod_with_gates_waits() -> None:
    found = alone(pod(spec={"schedulingGates": [{"name": "kueue"}]}))
    assert str(found.waits) == "SchedulingGated: pod p is held by kueue"
