"""Who gets the place, and who loses it: Slurm decides, and pods follow."""

import itertools

from tests.e2e.bridge.conftest import HOME, URGENT
from tests.e2e.bridge.manifests import pod
from windlass.bridge import words
from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged, job_of, node_of


def gone(bridged: Bridged, name: str) -> None:
    wait_for(lambda: bridged.get("pod", name) is None, f"pod {name} is gone", within=60, every=0.3)


def waiting(bridged: Bridged, name: str) -> str | None:
    """The job of this name that waits."""
    found = (
        number
        for number, job in bridged.queue().items()
        if (job["name"], job["job_state"]) == (name, ["PENDING"])
    )
    return next(found, None)


def there(node: str) -> str:
    return f"\n  nodeSelector: {{kubernetes.io/hostname: {node}}}\n"


def events(bridged: Bridged, name: str) -> set[str]:
    found = bridged.bridge.kubectl.get(
        *("events.events.k8s.io", "-n", bridged.bridge.namespace),
        *("--field-selector", f"regarding.name={name}"),
    )
    return {event["reason"] for event in found["items"]}


def test_a_job_that_is_cancelled_takes_its_pod_with_it(bridged: Bridged) -> None:
    bridged.apply(pod("victim"))
    running = bridged.wait_phases("Running", 1)["victim"]

    bridged.bridge.slurm.run("scancel", job_of(running))
    gone(bridged, "victim")
    assert "SlurmJobCancelled" in events(bridged, "victim")
    state = bridged.accounted(job_of(running), "State")[0]
    assert state.startswith("CANCELLED")


def test_a_pod_of_higher_rank_takes_the_place_of_another_once_that_is_gone(
    bridged: Bridged,
) -> None:
    bridged.apply(pod("lowly", exclusive="true"))
    first = bridged.wait_phases("Running", 1)["lowly"]
    node = node_of(first)
    urgent = pod("urgent", "3", exclusive="true", partition=URGENT)
    bridged.apply(urgent.replace("\nspec:\n", f"\nspec:{there(node)}", 1))

    gone(bridged, "lowly")
    bridged.wait_phases("Succeeded", 1)
    second = bridged.get("pod", "urgent")
    assert node_of(second) == node
    assert bridged.accounted(job_of(first), "State")[0].startswith("PREEMPTED")


def test_pods_wait_beside_jobs_of_slurmd_and_priority_decides(bridged: Bridged) -> None:
    """A node with a slurmd and no EXTERNAL node of its own: one ledger for both."""
    kubectl, slurm = bridged.bridge.kubectl, bridged.bridge.slurm
    worker = next(iter(slurm.idle() - bridged.bridge.ready()))
    at = kubectl.get("pod", "-n", HOME, "-l", "app.kubernetes.io/name=slurmd")["items"]
    node = next(
        each["spec"]["nodeName"]
        for each in at
        if worker in (each["spec"].get("hostname"), each["metadata"]["name"])
    )
    kubectl("label", "node", node, f"{words.EXTERNAL_NODE}-")
    kubectl("label", "node", node, f"{words.NODE_NAME}={worker}")
    try:
        wait_for(
            lambda: node not in bridged.bridge.ready(), f"{node} is no EXTERNAL node", within=60
        )
        batch = (
            "sbatch",
            "--parsable",
            f"--nodelist={worker}",
            "--exclusive",
            "--output=/dev/null",
        )
        holder = slurm.run(*batch, "--wrap=sleep 300").strip()
        wait_for(lambda: bridged.queue()[holder]["job_state"] == ["RUNNING"], "it runs", within=60)
        humble = slurm.run(*batch, "--wrap=sleep 1").strip()
        eager = pod("eager", "5", exclusive="true", partition="all")
        bridged.apply(eager.replace("\nspec:\n", f"\nspec:{there(node)}", 1))
        number = wait_for(lambda: waiting(bridged, "eager"), "the pod waits, too", within=30)
        slurm.run("scontrol", "update", f"jobid={number}", "priority=1000")

        slurm.run("scancel", holder)
        running = bridged.wait_phases("Running", 1)["eager"]
        assert node_of(running) == node
        assert bridged.queue()[job_of(running)]["nodes"] == worker
        assert bridged.queue()[humble]["job_state"] == ["PENDING"]
        bridged.wait_phases("Succeeded", 1)
        wait_for(lambda: humble not in bridged.queue(), "then the other one runs", within=60)
    finally:
        slurm.run("scancel", "--user=root")
        kubectl("label", "node", node, f"{words.NODE_NAME}-", f"{words.EXTERNAL_NODE}=true")
        bridged.bridge.give(node)


def test_no_pod_is_lost_or_submitted_twice_while_the_bridge_dies_again_and_again(
    bridged: Bridged,
) -> None:
    kubectl = bridged.bridge.kubectl
    before = set(all_jobs(bridged))
    kill = ("delete", "pod", "-n", HOME, "-l", "app.kubernetes.io/name=windlass-bridge")
    names = [f"steady-{number}" for number in range(6)]
    for number, name in enumerate(names):
        bridged.apply(pod(name, "4"))
        if number % 2 == 0:
            kubectl(*kill, "--grace-period=0", "--force")
    bridged.wait_phases("Succeeded", len(names), within=180)

    jobs = [job_of(each) for each in bridged.pods().values()]
    assert len(set(jobs)) == len(names)
    wait_for(lambda: not bridged.queue(), "no job is left", within=60)
    made = sorted(set(all_jobs(bridged)) - before, key=int)
    assert made == sorted(jobs, key=int), list(itertools.islice(made, 12))


def all_jobs(bridged: Bridged) -> list[str]:
    listed = ("sacct", "--allusers", "--allocations", "--noheader", "--parsable2")
    return bridged.bridge.slurm.run(*listed, "--format=JobID").split()
