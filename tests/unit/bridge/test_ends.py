"""Jobs end as their pods did, through the agent; and say it in words where there is none."""

import pytest
from prometheus_client import CollectorRegistry

from tests.unit.bridge.staging import Stage, play
from windlass.bridge.ends import fallbacks
from windlass.slurm.errors import Errno


async def bound(stage: Stage, name: str = "p") -> None:
    await stage.node("n1")
    await stage.pod(name)
    await stage.until(lambda: bool(stage.host(name)))
    await stage.phase(name, "Running")


async def released(stage: Stage, name: str = "p") -> None:
    await stage.until(lambda: not stage.live(name)["metadata"].get("finalizers"))


@pytest.mark.parametrize(
    ("phase", "code", "state", "comment"),
    [
        ("Succeeded", 0, "COMPLETED", ""),
        ("Failed", 3, "FAILED", "windlass-bridge: pod p failed: exit code 3"),
        ("Failed", 137, "FAILED", "windlass-bridge: pod p failed: exit code 137"),
    ],
)
def test_a_job_ends_as_its_pod_did(phase: str, code: int, state: str, comment: str) -> None:
    async def story(stage: Stage) -> None:
        await bound(stage)
        await stage.phase("p", phase, code)
        await released(stage)
        (job,) = stage.jobs()
        assert (job.job_state, job.comment) == ([state], comment)
        assert stage.agent is not None
        assert stage.agent.calls == [[1]]

    assert play(story, agent=True).calls("DELETE /job/1") == 0


def test_a_pod_that_is_deleted_before_its_end_has_its_job_cancelled() -> None:
    async def story(stage: Stage) -> None:
        await bound(stage)
        await stage.delete("p")
        await stage.phase("p", "Failed", 143)
        await released(stage)
        (job,) = stage.jobs()
        assert (job.job_state, job.comment) == (["CANCELLED"], "windlass-bridge: pod p was deleted")
        assert stage.agent is not None
        assert stage.agent.calls == []

    play(story, agent=True)


@pytest.mark.parametrize(
    ("cut", "refuses"), [(True, 0), (False, Errno.ESLURM_USER_ID_MISSING), (False, 2189)]
)
def test_without_the_agent_a_job_is_cancelled_with_the_code_in_its_comment(
    cut: bool, refuses: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def story(stage: Stage) -> None:
        await bound(stage)
        assert stage.agent is not None
        stage.agent.cut, stage.agent.refuses = cut, refuses
        await stage.phase("p", "Failed", 3)
        await released(stage)
        (job,) = stage.jobs()
        assert job.job_state == ["CANCELLED"]
        assert job.comment == "windlass-bridge: pod p failed: exit code 3 (exit code 3)"

    play(story, agent=True)
    assert "job 1 is cancelled, since the agent did not end it" in caplog.text


def test_while_slurmctld_is_silent_a_job_is_not_cancelled_instead() -> None:
    async def story(stage: Stage) -> None:
        await bound(stage)
        assert stage.agent is not None
        stage.agent.refuses = Errno.SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR
        await stage.phase("p", "Failed", 3)
        await stage.until(lambda: len(stage.agent.calls if stage.agent else ()) > 1)
        stage.agent.refuses = 0
        await released(stage)
        assert [job.job_state for job in stage.jobs()] == [["FAILED"]]

    assert play(story, agent=True).calls("DELETE /job/1") == 0


def test_a_job_that_ended_meanwhile_is_left_as_it_is() -> None:
    async def story(stage: Stage) -> None:
        await bound(stage)
        assert stage.agent is not None
        stage.agent.refuses = Errno.ESLURM_ALREADY_DONE
        await stage.phase("p", "Succeeded")
        await stage.until(lambda: len(stage.agent.calls if stage.agent else ()) == 1)
        stage.slurm.cluster.finish(1, "TIMEOUT")
        await released(stage)
        assert [job.job_state for job in stage.jobs()] == [["TIMEOUT"]]

    assert play(story, agent=True).calls("DELETE /job/1") == 0


def test_fallbacks_are_counted() -> None:
    registry = CollectorRegistry()
    count = fallbacks(registry)
    count()
    count()
    assert registry.get_sample_value("windlass_agent_fallbacks_total") == 2
