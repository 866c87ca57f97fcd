from tests.unit.bridge.builders import (
    alike,
    core_pod_group,
    gang_job,
    indexed,
    pod,
    pod_group,
    slurm,
)
from windlass.bridge.devices import DEFAULT
from windlass.bridge.workloads.pod_group import gang
from windlass.bridge.workloads.surroundings import Owner, Surroundings

LABEL = {"scheduling.x-k8s.io/pod-group": "group"}
IN_CORE = {"schedulingGroup": {"podGroupName": "group"}}


def test_a_group_starts_with_its_least_and_takes_all_that_are_there() -> None:
    around = Surroundings(pod_group=pod_group(2))
    found = gang([pod(f"p{i}", labels=LABEL) for i in range(3)], alike(around), DEFAULT)
    assert (found.least, found.most, found.waits) == (2, 3, None)
    assert (found.name, found.uid) == ("group", "uid-group")


def test_a_group_waits_for_its_least() -> None:
    around = Surroundings(pod_group=pod_group(3))
    pods = [pod("a", labels=LABEL), pod("b", labels=LABEL), pod("c", labels=LABEL, phase="Failed")]
    found = gang(pods, alike(around), DEFAULT)
    assert str(found.waits) == "PodsMissing: 2 of 3 pods are there"
    assert found.most == 3


def test_a_group_that_is_not_there_is_waited_for() -> None:
    found = gang([pod(labels=LABEL)], alike(Surroundings()), DEFAULT)
    sentence = "there is no PodGroup.scheduling.x-k8s.io called group"
    assert str(found.waits) == f"PodGroupMissing: {sentence}"
    core = gang([pod(spec=IN_CORE)], alike(Surroundings()), DEFAULT)
    assert str(core.waits) == "PodGroupMissing: there is no PodGroup.scheduling.k8s.io called group"


def test_kubernetes_own_group_says_how_many_and_how_urgent() -> None:
    group = core_pod_group({"gang": {"minCount": 2}}, spec={"priorityClassName": "high"})
    pods = [indexed("p", 1, spec=IN_CORE), indexed("q", 0, spec=IN_CORE)]
    found = gang(pods, alike(Surroundings(core_pod_group=group)), DEFAULT)
    assert (found.least, found.most, found.priority_class) == (2, 2, "high")
    assert [key.name for key in found.pods] == ["q-0", "p-1"]


def test_the_group_is_nearer_to_the_pod_than_its_owners() -> None:
    owner = Owner("Job", gang_job(1, annotations=slurm(qos="job", account="job")))
    around = Surroundings((owner,), pod_group=pod_group(1, annotations=slurm(qos="group")))
    wishes = gang([pod(labels=LABEL)], alike(around), DEFAULT).wishes
    assert (wishes.qos, wishes.account) == ("group", "job")
