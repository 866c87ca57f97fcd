"""Hosts that lose power under workers with jobs."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.e2e.operator.workers.crew import Crew
from windlass.testing.local import LocalCluster
from windlass.testing.operated import until

pytestmark = pytest.mark.timeout(600)

OUT_OF_SERVICE = "node.kubernetes.io/out-of-service=power:NoExecute"


@dataclass(frozen=True, slots=True)
class Busy:
    """A worker with a job."""

    host: str
    worker: str
    job: str


@pytest.fixture
def impatient(none: Crew) -> Iterator[Crew]:
    """Two idle workers of a Slurm that soon gives up who is silent."""
    none.patch("controller", "slurm", {"spec": {"extraConf": "SlurmdTimeout=20"}})
    until(lambda: none.setting("SlurmdTimeout").startswith("20 "), "slurmctld knows it", 60)
    none.scale(2)
    none.wait_idle(2)
    yield none
    none.patch("controller", "slurm", {"spec": {"extraConf": ""}})


def two_busy(crew: Crew) -> tuple[Busy, Busy]:
    """One on the host of slurmctld, and one that is not."""
    found = {crew.host_of(worker): worker for worker in crew.workers()}
    near = crew.host_of("slurm-controller-0")
    (far,) = set(found) - {near}
    one, other = (Busy(each, found[each], crew.start(found[each])) for each in (near, far))
    return one, other


def restarts(crew: Crew, number: str) -> int:
    """How often Slurm has put a job back into the queue."""
    listed = crew.tried("scontrol", "show", "job", number)
    words = dict(each.split("=", 1) for each in listed.split() if "=" in each)
    return int(words.get("Restarts", "0"))


def test_a_worker_whose_host_loses_power_comes_back_on_another(
    cluster: LocalCluster, impatient: Crew
) -> None:
    crew, (safe, lost) = impatient, two_busy(impatient)
    before = crew.workers()

    cluster.local("node", "kill", lost.host)
    try:
        until(lambda: "DOWN" in crew.node(lost.worker).get("state", []), "Slurm gives it up", 90)
        crew.wait_job(lost.job, "PENDING")
        # Kubernetes waits for a node that may come back; an administrator who knows says so.
        crew.kubectl("wait", "--for=condition=Ready=Unknown", f"node/{lost.host}", "--timeout=90s")
        crew.kubectl("taint", "node", lost.host, OUT_OF_SERVICE)
        crew.kill_both()

        until(lambda: crew.is_new(lost.worker, before), "there is another worker", 120)
        until(lambda: crew.given_back(lost.worker), "which takes jobs", 120)
        assert crew.host_of(lost.worker) == safe.host
        # Slurm has it wait until nothing of its first run can be left.
        crew.slurm("scontrol", "update", f"jobid={lost.job}", "starttime=now")
        crew.wait_job(lost.job, "RUNNING")
        assert restarts(crew, lost.job) == 1
        crew.finish(lost.job, lost.worker)
        assert not crew.is_new(safe.worker, before)
        assert restarts(crew, safe.job) == 0
        crew.finish(safe.job, safe.worker)
    finally:
        cluster.local("node", "start", lost.host)
        crew.kubectl("taint", "node", lost.host, f"{OUT_OF_SERVICE}-")
    crew.wait_idle(2)


def test_a_worker_whose_host_is_back_soon_comes_back_with_it(
    cluster: LocalCluster, impatient: Crew
) -> None:
    crew, (safe, lost) = impatient, two_busy(impatient)
    before = crew.workers()

    cluster.local("node", "kill", lost.host)
    cluster.local("node", "start", lost.host)

    until(lambda: restarts(crew, lost.job) == 1, "Slurm knows that its job is gone", 120)
    until(lambda: crew.given_back(lost.worker), "its worker takes jobs", 120)
    assert crew.workers() == before
    assert restarts(crew, safe.job) == 0
    crew.finish(safe.job, safe.worker)
