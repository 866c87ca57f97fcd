"""The first pods that somebody gives to Slurm: one alone, a gang, and groups that wait."""

from windlass.bridge import words
from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged, job_of, node_of

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: alone
  annotations:
    slurmjob.slinky.slurm.net/job-name: my-analysis
    slurmjob.slinky.slurm.net/timelimit: "5"
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: IMAGE
      command: [sleep, "5"]
      resources: {requests: {cpu: 50m, memory: 16Mi}}
"""
GANG = """
apiVersion: batch/v1
kind: Job
metadata:
  name: pair
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  template:
    metadata: {labels: {gang: pair}}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: IMAGE
          command: [sleep, "5"]
          resources: {requests: {cpu: 50m, memory: 16Mi}}
"""
# A ReplicaSet and two sleep pods, each in a group that wants whole nodes, and both of them.
FIRST = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata:
  name: first
  annotations:
    slurmjob.slinky.slurm.net/exclusive: "true"
    slurmjob.slinky.slurm.net/min-nodes: "2"
spec: {minMember: 2}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: first}
spec:
  replicas: 2
  selector: {matchLabels: {app: first}}
  template:
    metadata:
      labels: {app: first, scheduling.x-k8s.io/pod-group: first}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: main
          image: IMAGE
          command: [sleep, infinity]
          resources: {requests: {cpu: 50m, memory: 16Mi}}
"""
SECOND = """
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata:
  name: second
  annotations:
    slurmjob.slinky.slurm.net/exclusive: "true"
    slurmjob.slinky.slurm.net/min-nodes: "2"
spec: {minMember: 2}
"""
SLEEPER = """
---
apiVersion: v1
kind: Pod
metadata:
  name: sleep-NUMBER
  labels: {app: second, scheduling.x-k8s.io/pod-group: second}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: IMAGE
      command: [sleep, "3"]
      resources: {requests: {cpu: 50m, memory: 16Mi}}
"""


def test_a_pod_is_a_job_while_it_runs_and_is_in_accounting_afterwards(bridged: Bridged) -> None:
    bridged.apply(POD)
    pod = bridged.wait_phases("Running", 1)["alone"]

    job = bridged.queue()[job_of(pod)]
    assert pod["spec"]["schedulerName"] == words.SCHEDULER
    assert (job["name"], job["partition"]) == ("my-analysis", "slurm-bridge")
    assert job["job_state"] == ["RUNNING"]
    assert job["nodes"] == node_of(pod) == pod["metadata"]["annotations"][words.NODE]
    assert job["time_limit"]["number"] == 5

    bridged.wait_phases("Succeeded", 1)
    wait_for(lambda: not bridged.queue(), "the job has ended", within=30)
    wait_for(
        lambda: (
            bridged.accounted(job_of(pod), "JobName", "State", "ExitCode")
            == ["my-analysis", "COMPLETED", "0:0"]
        ),
        "accounting has its end",
        within=30,
    )
    assert words.FINALIZER not in bridged.get("pod", "alone")["metadata"].get("finalizers", [])


def test_the_pods_of_an_indexed_job_are_one_job(bridged: Bridged) -> None:
    bridged.apply(GANG)
    pods = bridged.wait_phases("Running", 2, "gang=pair")

    (job,) = {job_of(pod) for pod in pods.values()}
    assert bridged.queue()[job]["name"] == "pair"
    bridged.wait_phases("Succeeded", 2, "gang=pair")
    wait_for(
        lambda: bridged.get("job", "pair")["status"].get("succeeded") == 2, "it is done", within=30
    )


def test_a_group_waits_for_the_nodes_of_another_until_that_ends(bridged: Bridged) -> None:
    bridged.apply(FIRST)
    running = bridged.wait_phases("Running", 2, "app=first")
    assert len({node_of(pod) for pod in running.values()}) == 2

    bridged.apply(SECOND + SLEEPER.replace("NUMBER", "1") + SLEEPER.replace("NUMBER", "2"))
    said = bridged.wait_reason("sleep-1", "SlurmResources")
    assert said
    waiting = [job for job in bridged.queue().values() if job["job_state"] == ["PENDING"]]
    assert [job["name"] for job in waiting] == ["second"]
    assert set(bridged.phases("app=second").values()) == {"Pending"}

    bridged.delete("replicaset", "first")
    bridged.wait_phases("Succeeded", 2, "app=second")
