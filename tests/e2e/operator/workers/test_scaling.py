"""More workers and fewer, while jobs run."""

import pytest

from tests.e2e.operator.workers.crew import UNTIL_TOLD, Crew
from windlass.testing.operated import until

pytestmark = pytest.mark.timeout(600)


def worker_of(crew: Crew, number: str) -> str:
    return crew.slurm("squeue", "--noheader", f"--jobs={number}", "--format=%N").strip()


def test_from_none_to_four_to_one_while_jobs_run(none: Crew) -> None:
    short = none.submit(UNTIL_TOLD, "--ntasks=1", "--time=10")
    assert none.job_state(short) == "PENDING"
    none.scale(4)
    none.wait_job(short, "RUNNING")
    none.wait_idle(3)
    first = worker_of(none, short)
    last = min(none.idle())
    long = none.start(last, "--time=60")

    none.scale(1)

    until(lambda: set(none.workers()) == {first, last}, "the idle ones go", 120)
    until(lambda: none.drained(first), "of the busy, whose job ends first is drained", 60)
    assert none.given_back(last)
    assert none.job_state(short) == "RUNNING"
    none.finish(short, first)
    until(lambda: set(none.workers()) == {last}, "and goes when it has ended", 120)
    until(lambda: none.node(first) == {}, "Slurm has forgotten the others", 60)
    none.finish(long, last)


def test_a_scale_in_that_is_cancelled_gives_back_what_it_drained(two: Crew) -> None:
    number = two.start("worker-0")
    before = two.workers()

    two.scale(0)
    until(lambda: two.drained("worker-0"), "the busy worker drains", 60)
    until(lambda: "worker-0 runs 1 job" in two.waits_for(), "it is said for whom we wait", 30)
    until(lambda: set(two.workers()) == {"worker-0"}, "the idle one goes", 60)
    two.scale(2)

    until(lambda: two.given_back("worker-0"), "it is given back", 60)
    two.wait_idle(1)
    assert two.workers()["worker-0"] == before["worker-0"]
    two.finish(number, "worker-0")


def test_a_scale_in_survives_the_death_of_operator_and_slurmctld(two: Crew) -> None:
    number = two.start("worker-1")
    two.scale(0)
    until(lambda: two.drained("worker-1"), "the busy worker drains", 60)

    two.kill_both()

    two.wait_job(number, "RUNNING")
    assert "worker-1" in two.workers()
    two.finish(number, "worker-1")
    until(lambda: not two.workers(), "the last one goes when its job has ended", 120)


def test_jobs_that_hold_a_worker_for_too_long_are_requeued_only_where_that_is_said(
    two: Crew,
) -> None:
    number = two.submit(UNTIL_TOLD, "--ntasks=1")
    two.wait_job(number, "RUNNING")
    held = worker_of(two, number)
    try:
        two.change(drain={"deadline": "3s"})
        two.scale(0)
        fault = two.wait_condition("nodeset", "worker", "Degraded")
        assert fault["reason"] == "DrainOverdue"
        assert f"longer than 3s: {held}" in fault["message"]
        assert two.job_state(number) == "RUNNING"
        assert held in two.workers()

        two.change(drain={"deadline": "3s", "requeueJobs": True})

        two.wait_job(number, "PENDING")
        until(lambda: not two.workers(), "the worker goes", 120)
        assert "DrainOverdue" in two.events("NodeSet", "worker")
    finally:
        two.change(drain=None)
