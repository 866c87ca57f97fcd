import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest

from windlass.kube.controller import Controller, Pace, Requeue, Terminal
from windlass.kube.metrics import Metrics
from windlass.kube.queue import Backoff, Queue
from windlass.testing.virtual import clock, run

Reconcile = Callable[[str], Awaitable[Requeue]]
PACE = Pace(workers=2, slow=5, limit=60)


@dataclass
class Diary:
    """Passes as they began: the second and the key."""

    passes: list[tuple[float, str]] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)

    def wrote(self, key: str) -> None:
        self.passes.append((clock(), key))

    def count(self, outcome: str) -> float | None:
        labels = {"controller": "demo", "outcome": outcome}
        return self.metrics.registry.get_sample_value("windlass_passes_total", labels)


def play(diary: Diary, reconcile: Reconcile, keys: str, seconds: float) -> None:
    """Run a controller for so many virtual seconds after adding some keys."""

    async def main() -> None:
        queue: Queue[str] = Queue(
            clock, backoff=Backoff(first=1, most=100), meter=diary.metrics.queue("demo")
        )
        controller = Controller(
            "demo", reconcile, queue, pace=PACE, meter=diary.metrics.controller("demo")
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(controller.run())
            for key in keys:
                queue.add(key)
            await asyncio.sleep(seconds)
            assert await queue.drain(within=100) == frozenset()

    run(main())


def test_a_pass_that_wants_no_other_gets_none() -> None:
    diary = Diary()

    async def reconcile(key: str) -> Requeue:
        diary.wrote(key)
        return Requeue.never()

    play(diary, reconcile, "ab", seconds=1000)
    assert diary.passes == [(0, "a"), (0, "b")]
    assert diary.count("done") == 2


def test_a_pass_may_ask_for_another_after_some_seconds() -> None:
    diary = Diary()

    async def reconcile(key: str) -> Requeue:
        diary.wrote(key)
        return Requeue.in_seconds(30) if clock() < 50 else Requeue.never()

    play(diary, reconcile, "a", seconds=1000)
    assert diary.passes == [(0, "a"), (30, "a"), (60, "a")]
    assert (diary.count("again"), diary.count("done")) == (2, 1)


def test_a_key_rests_as_long_as_its_pass_says_however_often_it_is_asked_for() -> None:
    diary = Diary()

    async def main() -> None:
        queue: Queue[str] = Queue(clock)

        async def reconcile(key: str) -> Requeue:
            diary.wrote(key)
            return Requeue(rest=3.0 if key == "a" else 0.0)

        controller = Controller("demo", reconcile, queue, pace=Pace(workers=1))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(controller.run())
            for _ in range(5):
                queue.add("a")
                queue.add("b")
                await asyncio.sleep(1)
            assert await queue.drain(within=100) == frozenset()

    run(main())
    # The last does not rest to its end: the queue is closed.
    assert [moment for moment, key in diary.passes if key == "a"] == [0, 3, 5]
    assert [moment for moment, key in diary.passes if key == "b"] == [0, 1, 2, 3, 4]


def test_an_exception_backs_off_and_success_forgets_it() -> None:
    diary = Diary()

    async def reconcile(key: str) -> Requeue:
        diary.wrote(key)
        if len(diary.passes) in (1, 2, 3, 5):
            raise ValueError("not yet")
        return Requeue.in_seconds(100) if len(diary.passes) < 6 else Requeue.never()

    play(diary, reconcile, "a", seconds=1000)
    assert [second for second, _ in diary.passes] == [0, 1, 3, 7, 107, 108]
    assert diary.count("failed") == 4


def test_a_terminal_error_is_told_and_not_retried(caplog: pytest.LogCaptureFixture) -> None:
    diary = Diary()

    async def reconcile(key: str) -> Requeue:
        diary.wrote(key)
        raise Terminal("spec.slurm: no such cluster")

    with caplog.at_level(logging.INFO):
        play(diary, reconcile, "a", seconds=1000)
    assert len(diary.passes) == 1
    assert diary.count("terminal") == 1
    assert "no such cluster" in caplog.text
    assert "Traceback" not in caplog.text


def test_a_failing_key_does_not_kill_the_workers_of_others() -> None:
    diary = Diary()

    async def reconcile(key: str) -> Requeue:
        diary.wrote(key)
        if key == "b":
            raise RuntimeError("always")
        return Requeue.in_seconds(10)

    play(diary, reconcile, "ab", seconds=35)
    assert [second for second, key in diary.passes if key == "a"] == [0, 10, 20, 30]


def test_a_pass_that_awaits_something_cancelled_does_not_take_its_worker_along() -> None:
    diary = Diary()

    async def reconcile(key: str) -> Requeue:
        diary.wrote(key)
        gone = asyncio.get_running_loop().create_future()
        gone.cancel()
        if len(diary.passes) < 6:
            await gone
        return Requeue.never()

    play(diary, reconcile, "a", seconds=100)
    assert len(diary.passes) == 6
    assert (diary.count("failed"), diary.count("done")) == (5, 1)


def test_every_pass_writes_one_line_with_its_fields(caplog: pytest.LogCaptureFixture) -> None:
    async def reconcile(key: str) -> Requeue:
        await asyncio.sleep(2)
        return Requeue.never()

    with caplog.at_level(logging.INFO):
        play(Diary(), reconcile, "a", seconds=1)
    lines = [record for record in caplog.records if "pass" in record.message]
    assert len(lines) == 1
    want = {"controller": "demo", "key": "a", "outcome": "done", "seconds": 2.0}
    assert vars(lines[0])["fields"] == want


def test_a_slow_pass_is_visible_while_it_still_runs(caplog: pytest.LogCaptureFixture) -> None:
    diary = Diary()

    async def reconcile(key: str) -> Requeue:
        await asyncio.sleep(6)
        assert "slow pass controller='demo' key='a'" in caplog.text
        return Requeue.never()

    play(diary, reconcile, "a", seconds=1)
    assert diary.count("done") == 1
    slow = diary.metrics.registry.get_sample_value(
        "windlass_slow_passes_total", {"controller": "demo"}
    )
    assert slow == 1


def test_a_pass_over_its_limit_is_ended_and_retried() -> None:
    diary = Diary()

    async def reconcile(key: str) -> Requeue:
        diary.wrote(key)
        if len(diary.passes) == 1:
            await asyncio.sleep(10_000)
        return Requeue.never()

    play(diary, reconcile, "a", seconds=100)
    assert diary.passes == [(0, "a"), (61, "a")]


def test_a_pass_that_cannot_be_ended_is_stuck() -> None:
    async def deaf(key: str) -> Requeue:
        end = clock() + 200
        while clock() < end:
            try:
                await asyncio.sleep(end - clock())
            except asyncio.CancelledError:
                continue
        return Requeue.never()

    async def main() -> None:
        queue: Queue[str] = Queue(clock)
        controller = Controller("demo", deaf, queue, pace=PACE)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(controller.run())
            queue.add("a")
            await asyncio.sleep(89)
            assert controller.stuck() is None
            await asyncio.sleep(10)
            stuck = controller.stuck()
            assert stuck is not None
            assert (stuck.key, stuck.seconds) == ("a", 99)
            queue.close()

    run(main())


def test_one_key_is_never_in_two_passes_at_once() -> None:
    running: list[str] = []

    async def reconcile(key: str) -> Requeue:
        assert key not in running
        running.append(key)
        await asyncio.sleep(3)
        running.remove(key)
        return Requeue.never()

    async def main() -> None:
        diary = Diary()
        queue: Queue[str] = Queue(clock)
        controller = Controller("demo", reconcile, queue, meter=diary.metrics.controller("demo"))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(controller.run())
            for _ in range(20):
                queue.add("a")
                await asyncio.sleep(1)
            await queue.drain(within=100)
        assert diary.count("failed") is None

    run(main())


@pytest.mark.parametrize(
    ("one", "other", "want"),
    [
        (Requeue.never(), Requeue.never(), Requeue.never()),
        (Requeue.never(), Requeue.in_seconds(3), Requeue.in_seconds(3)),
        (Requeue.in_seconds(2), Requeue.in_seconds(3), Requeue.in_seconds(2)),
    ],
)
def test_the_soonest_of_two_wishes_is_kept(one: Requeue, other: Requeue, want: Requeue) -> None:
    assert one.soonest(other) == want
    assert other.soonest(one) == want


def test_metrics_are_printed_for_prometheus_under_our_own_names() -> None:
    metrics = Metrics()
    metrics.requested("GET", "pods", 200, 0.02)
    text = metrics.exposition().decode()
    assert 'windlass_api_requests_total{code="200",kind="pods",verb="GET"} 1.0' in text
    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert all(name.startswith("windlass_") for name in families)
