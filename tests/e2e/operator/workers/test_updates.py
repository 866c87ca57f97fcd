"""New revisions of workers: a few at a time, in a window, and back."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.operator.workers.crew import WORKERS, Crew
from windlass.api import labels
from windlass.testing.operated import until

pytestmark = pytest.mark.timeout(600)


def updated(crew: Crew) -> int:
    return int(crew.get("nodeset", "worker")["status"]["updatedReplicas"])


def revisions(crew: Crew) -> set[str]:
    found = crew.pods(f"{WORKERS},app.kubernetes.io/instance=worker")
    return {pod["metadata"]["labels"][labels.REVISION] for pod in found}


def test_a_new_template_takes_the_idle_at_once_and_the_busy_after_its_job(two: Crew) -> None:
    number = two.start("worker-0")
    before = two.workers()

    two.new_revision()

    until(lambda: two.is_new("worker-1", before), "one is new", 120)
    two.kill_both()
    until(lambda: two.drained("worker-0"), "the busy one drains", 120)
    assert two.job_state(number) == "RUNNING"
    assert not two.is_new("worker-0", before)

    two.finish(number, "worker-0")

    until(lambda: two.is_new("worker-0", before), "so is the other", 120)
    until(lambda: updated(two) == 2, "all are new")
    two.wait_idle(2)


def test_an_update_is_paused_goes_on_and_is_rolled_back(two: Crew) -> None:
    before, (old,) = two.workers(), revisions(two)
    fast = {"rollingUpdate": {"maxUnavailable": "100%"}}
    try:
        two.new_revision(revisionHistoryLimit=5, updateStrategy={"paused": True, **fast})
        until(lambda: "paused keeps them" in two.windlass("status"), "it is said that it waits", 30)
        assert two.workers() == before
        newest, second, *_ = two.windlass("history").splitlines()[1:]
        assert newest.split()[1] == "(current)"
        assert newest.split()[4] == "0"
        assert second.split()[1] == old
        assert second.split()[3] == "2"

        two.change(updateStrategy={"paused": False})
        two.windlass("status", "--watch", "--timeout=120")
        assert revisions(two) == {newest.split()[2]}

        assert "changed: slurmd" in two.windlass("rollback")
        two.windlass("status", "--watch", "--timeout=120")
        assert revisions(two) == {old}
    finally:
        two.change(revisionHistoryLimit=None, updateStrategy=None)
    two.wait_idle(2)


def test_a_scheduled_update_waits_for_its_window_and_for_the_jobs_in_it(two: Crew) -> None:
    number = two.start("worker-0")
    before = two.workers()
    start = datetime.now(UTC) + timedelta(seconds=15)
    window = {"startTime": f"{start:%Y-%m-%dT%H:%M:%SZ}", "duration": "10m"}
    try:
        two.new_revision(updateStrategy={"type": "ScheduledUpdate", "scheduledUpdate": window})
        two.wait_condition("nodeset", "worker", "ReservationCreated")
        assert "replaced in the reservation that begins at" in two.waits_for()
        assert two.workers() == before

        until(lambda: two.is_new("worker-1", before), "in the window the idle one is new", 120)
        assert datetime.now(UTC) >= start
        two.kill_both()
        until(lambda: two.drained("worker-0"), "the busy one drains", 120)
        assert two.job_state(number) == "RUNNING"
        assert not two.is_new("worker-0", before)
        two.finish(number, "worker-0")
        until(lambda: two.is_new("worker-0", before), "it is new after its job", 120)
        until(lambda: updated(two) == 2, "all are new")
    finally:
        two.change(updateStrategy=None)
    until(lambda: "worker" not in two.slurm("scontrol", "show", "reservation"), "it is over")
    two.wait_idle(2)
