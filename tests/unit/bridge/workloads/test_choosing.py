import pytest

from tests.unit.bridge.builders import (
    alike,
    core_pod_group,
    gang_job,
    job,
    job_set,
    leader_worker_set,
    other,
    pod,
    pod_group,
    replicated,
    slurm,
)
from windlass.bridge.devices import DEFAULT
from windlass.bridge.workloads import choosing
from windlass.bridge.workloads.surroundings import Owner, Surroundings
from windlass.kube.objects import Pod

JOB_SET = Owner("JobSet", job_set(replicated("workers", 2)))
GANG_JOB = Owner("Job", gang_job(2))
IN_GROUP = {"scheduling.x-k8s.io/pod-group": "group"}
IN_CORE_GROUP = {"schedulingGroup": {"podGroupName": "group"}}
IN_LWS = {
    "leaderworkerset.sigs.k8s.io/group-index": "3",
    "leaderworkerset.sigs.k8s.io/worker-index": "0",
}
GANG = core_pod_group({"gang": {"minCount": 2}})
BASIC = core_pod_group({"basic": {}})


@pytest.mark.parametrize(
    ("pod", "around", "key"),
    [
        (pod(), Surroundings(), "Pod team/p"),
        (pod(), Surroundings((other("ReplicaSet"), other("Deployment"))), "Pod team/p"),
        (pod(), Surroundings((other("RayCluster"),)), "Pod team/p"),
        (pod(), Surroundings((Owner("Job", job()),)), "Pod team/p"),
        (pod(), Surroundings((Owner("Job", job(parallelism=4)),)), "Pod team/p"),
        (pod(), Surroundings((GANG_JOB,)), "Job team/train"),
        (pod(), Surroundings((GANG_JOB, other("CronJob"))), "Job team/train"),
        (pod(annotations=slurm(gang="false")), Surroundings((GANG_JOB,)), "Pod team/p"),
        (
            pod(),
            Surroundings((Owner("Job", job(parallelism=4, annotations=slurm(gang="true"))),)),
            "Job team/train",
        ),
        (pod(), Surroundings((GANG_JOB, JOB_SET)), "JobSet team/set"),
        (pod(annotations=slurm(gang="false")), Surroundings((GANG_JOB, JOB_SET)), "Pod team/p"),
        (
            pod(labels=IN_LWS),
            Surroundings((other("StatefulSet"), Owner("LeaderWorkerSet", leader_worker_set(2)))),
            "LeaderWorkerSet team/lws/3",
        ),
        (
            pod(labels=IN_GROUP),
            Surroundings((GANG_JOB,), pod_group=pod_group(2)),
            "PodGroup.scheduling.x-k8s.io team/group",
        ),
        (
            pod(labels=IN_GROUP),
            Surroundings((GANG_JOB,)),
            "PodGroup.scheduling.x-k8s.io team/group",
        ),
        (
            pod(spec=IN_CORE_GROUP),
            Surroundings((GANG_JOB,), core_pod_group=GANG),
            "PodGroup.scheduling.k8s.io team/group",
        ),
        (
            pod(spec=IN_CORE_GROUP),
            Surroundings((GANG_JOB,)),
            "PodGroup.scheduling.k8s.io team/group",
        ),
        (pod(spec=IN_CORE_GROUP), Surroundings((GANG_JOB,), core_pod_group=BASIC), "Pod team/p"),
    ],
)
def test_a_pod_belongs_to_one_gang(pod: Pod, around: Surroundings, key: str) -> None:
    found = choosing.key(pod, around)
    assert str(found) == key
    assert choosing.gang([pod], alike(around), DEFAULT).key == found
