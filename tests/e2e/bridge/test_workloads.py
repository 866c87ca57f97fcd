"""Workloads of other people's controllers: all of their pods are one job, in the order of ranks."""

from typing import Any

from tests.e2e.bridge.manifests import template
from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged, job_of, node_of

JOB_SET = f"""
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  annotations:
    slurmjob.slinky.slurm.net/job-name: training
spec:
  replicatedJobs:
    - name: driver
      replicas: 1
      template:
        spec:
          completions: 1
          parallelism: 1
          template:
            {template(12, set="train").replace("RESTART", "Never")}
    - name: workers
      replicas: 1
      template:
        spec:
          completions: 2
          parallelism: 2
          template:
            {template(12, set="train").replace("RESTART", "Never")}
"""
LEADER_WORKER_SET = f"""
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: serve
  annotations:
    slurmjob.slinky.slurm.net/job-name: serving
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      {template(6, command="sleep infinity", set="serve").replace("RESTART", "Always")}
"""


def only(found: set[str]) -> str:
    (one,) = found
    return one


def test_a_job_set_is_one_job_and_is_done_when_its_pods_are(bridged: Bridged) -> None:
    bridged.apply(JOB_SET)
    pods = bridged.wait_phases("Running", 3, "set=train")

    job = only({job_of(pod) for pod in pods.values()})
    found = bridged.queue()[job]
    assert found["name"] == "training"
    assert found["tasks"]["number"] == 3

    def done() -> bool:
        status = bridged.get("jobset", "train").get("status", {})
        return any(
            each["type"] == "Completed" and each["status"] == "True"
            for each in status.get("conditions", ())
        )

    wait_for(done, "the JobSet is completed", within=60, every=0.3)
    wait_for(lambda: job not in bridged.queue(), "its job has ended", within=30)


def test_each_group_of_a_leader_worker_set_is_one_job(bridged: Bridged) -> None:
    bridged.apply(LEADER_WORKER_SET)
    pods = bridged.wait_phases("Running", 4, "set=serve")

    groups: dict[str, list[Any]] = {}
    for pod in pods.values():
        index = pod["metadata"]["labels"]["leaderworkerset.sigs.k8s.io/group-index"]
        groups.setdefault(index, []).append(pod)
    jobs = {only({job_of(pod) for pod in group}) for group in groups.values()}
    assert sorted(groups) == ["0", "1"]
    assert len(jobs) == 2
    queue = bridged.queue()
    assert {queue[job]["name"] for job in jobs} == {"serving"}
    assert all(node_of(pod) for pod in pods.values())

    bridged.delete("leaderworkerset", "serve")
    wait_for(lambda: not jobs & set(bridged.queue()), "both jobs have ended", within=60, every=0.3)
