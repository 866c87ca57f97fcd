"""A real Slurm on the cluster, from a plain manifest."""

from collections.abc import Iterator

import pytest

from windlass.local.slurm import NAMESPACE, Slurm
from windlass.testing.local import LocalCluster


@pytest.fixture(scope="module")
def slurm(cluster: LocalCluster) -> Iterator[Slurm]:
    cluster.local("image", "load", "slurm")
    running = Slurm(cluster.kubectl, "localhost/windlass/slurm:26.05")
    running.install()
    running.wait_until_idle()
    yield running
    cluster.kubectl("delete", "namespace", NAMESPACE)


def test_a_job_runs_across_two_worker_pods_on_two_nodes(slurm: Slurm) -> None:
    hosts = slurm.run("srun", "--nodes=2", "--ntasks=2", "hostname").split()
    assert sorted(hosts) == ["slurmd-0", "slurmd-1"]
    pods = slurm.kubectl.get("pods", "-n", NAMESPACE, "-l", "app=slurmd")["items"]
    assert len({pod["spec"]["nodeName"] for pod in pods}) == 2


def test_a_job_is_held_to_its_memory_and_cores(slurm: Slurm) -> None:
    look = (
        "memory=$(grep :memory: /proc/self/cgroup | cut -d/ -f2- | grep -o 'slurm_.*step_0');"
        'cat "/sys/fs/cgroup/memory/$memory/memory.limit_in_bytes";'
        "nproc"
    )
    limit, cores = slurm.run("srun", "--nodes=1", "--mem=150", "sh", "-c", look).split()
    assert int(limit) == 150 * 2**20
    assert int(cores) == 1


def test_a_job_that_takes_more_memory_than_it_asked_for_is_ended(slurm: Slurm) -> None:
    hoard = "perl -e '\\$x = q(x) x (300 * 1024 * 1024)'"
    ended = slurm.run("sh", "-c", f'srun --mem=100 sh -c "{hoard}" || echo ended')
    assert ended.strip().endswith("ended")


def test_a_new_slurmctld_pod_knows_the_jobs_of_the_old_one(slurm: Slurm) -> None:
    job = slurm.run("sbatch", "--parsable", "--hold", "--wrap=true").strip()
    slurm.kubectl("delete", "pod", "slurmctld-0", "-n", NAMESPACE)
    slurm.kubectl(
        "wait", "-n", NAMESPACE, "--for=condition=Ready", "pod/slurmctld-0", "--timeout=90s"
    )
    assert slurm.run("squeue", "--noheader", "--format=%i %T").split() == [job, "PENDING"]
    slurm.run("scancel", job)
    slurm.wait_until_idle()
