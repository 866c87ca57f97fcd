import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import aiohttp
import pytest

from tests.unit.kube.test_leader import Line, Server
from windlass.kube.controller import Controller, Pace, Requeue
from windlass.kube.leader import Elector, Lost, Terms
from windlass.kube.manager import Manager, Settings
from windlass.kube.metrics import Metrics
from windlass.kube.parts import Elected, Ended, Part, Started, Tree, Working
from windlass.kube.queue import Queue
from windlass.testing.virtual import clock, run

SETTINGS = Settings(host="127.0.0.1", port=0, grace=20)


class Diary:
    """What the parts did, in order."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def part(
        self, name: str, *, start: float = 0, end: float | None = None, fail: float | None = None
    ) -> Part:
        """A part that takes a while to start, to end, or fails after a while."""

        async def body(started: Started) -> None:
            await asyncio.sleep(start)
            self.said.append(f"+{name}")
            started()
            try:
                if fail is not None:
                    await asyncio.sleep(fail)
                    raise ValueError(name)
                await asyncio.Event().wait()
            finally:
                self.said.append(f"-{name}")

        return Part(name, body)


def play(
    parts: list[Part], scene: Callable[[Tree], Awaitable[None]] | None = None, within: float = 20
) -> None:
    """Run a tree in virtual time, and stop it after the scene."""

    async def main() -> None:
        tree = Tree("test", parts, clock)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(tree.run(lambda: None))
            if scene is not None:
                await scene(tree)
                await tree.stop(within)

    run(main())


def test_parts_start_in_order_and_stop_in_reverse() -> None:
    diary = Diary()

    async def scene(tree: Tree) -> None:
        await asyncio.sleep(2)
        assert diary.said == ["+a"]
        assert tree.awaited == "b"
        await asyncio.sleep(10)
        assert tree.awaited is None

    play([diary.part("a"), diary.part("b", start=5), diary.part("c")], scene)
    assert diary.said == ["+a", "+b", "+c", "-c", "-b", "-a"]


def test_a_stop_while_starting_starts_nothing_more() -> None:
    diary = Diary()
    play(
        [diary.part("a"), diary.part("slow", start=1000), diary.part("never")],
        lambda _: asyncio.sleep(1),
    )
    assert diary.said == ["+a", "-a"]


@pytest.mark.parametrize(
    ("seconds", "done"), [(5, ["flushed", "-events"]), (500, ["-events"])], ids=["in time", "late"]
)
def test_a_part_flushes_before_it_ends_but_not_beyond_the_grace(
    seconds: float, done: list[str]
) -> None:
    diary = Diary()

    async def flush() -> None:
        await asyncio.sleep(seconds)
        diary.said.append("flushed")

    async def scene(_tree: Tree) -> None:
        await asyncio.sleep(1)

    body = diary.part("events").run
    play([Part("events", body, flush), diary.part("controller")], scene)
    assert diary.said == ["+events", "+controller", "-controller", *done]


def test_a_part_that_fails_ends_all_with_its_error() -> None:
    diary = Diary()
    with pytest.raises(ExceptionGroup) as caught:
        play([diary.part("a"), diary.part("b", fail=7), diary.part("c")])
    assert caught.group_contains(ValueError, match="b")
    assert sorted(diary.said) == ["+a", "+b", "+c", "-a", "-b", "-c"]


def test_a_part_that_ends_unasked_is_an_error() -> None:
    async def body(started: Started) -> None:
        started()

    with pytest.raises(ExceptionGroup) as caught:
        play([Diary().part("a"), Part("brief", body)])
    assert caught.group_contains(Ended, match="brief ended")


def working(reconcile: Callable[[str], Awaitable[Requeue]]) -> tuple[Queue[str], Part]:
    queue: Queue[str] = Queue(clock)
    pace = Pace(workers=1, limit=50)
    return queue, Working(Controller("demo", reconcile, queue, pace=pace), queue)


def test_a_controller_ends_when_its_queue_is_drained() -> None:
    done: list[str] = []

    async def reconcile(key: str) -> Requeue:
        await asyncio.sleep(3)
        done.append(key)
        return Requeue.never()

    async def main() -> None:
        queue, part = working(reconcile)
        tree = Tree("test", [part], clock)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(tree.run(lambda: None))
            for key in "abc":
                queue.add(key)
            await asyncio.sleep(1)
            await tree.stop(20)
        assert done == ["a", "b", "c"]
        assert clock() == 9

    run(main())


def test_a_stop_takes_no_longer_than_its_grace() -> None:
    async def reconcile(key: str) -> Requeue:
        await asyncio.sleep(1000)
        return Requeue.never()

    async def main() -> None:
        queue, part = working(reconcile)
        tree = Tree("test", [Diary().part("a"), part], clock)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(tree.run(lambda: None))
            queue.add("slow")
            await asyncio.sleep(1)
            await tree.stop(20)
        assert clock() == 21

    run(main())


def test_a_stuck_controller_ails() -> None:
    async def deaf(key: str) -> Requeue:
        end = clock() + 200
        while clock() < end:
            try:
                await asyncio.sleep(end - clock())
            except asyncio.CancelledError:
                continue
        return Requeue.never()

    async def main() -> None:
        queue, part = working(deaf)
        tree = Tree("test", [part], clock)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(tree.run(lambda: None))
            queue.add("k")
            await asyncio.sleep(70)
            assert tree.ailment() is None
            await asyncio.sleep(30)
            assert tree.ailment() == "demo: the pass of k is stuck since 100 s"
            await asyncio.sleep(200)
            await tree.stop(20)

    run(main())


# --- Leading ---------------------------------------------------------------------------------


def elector(line: Line, identity: str) -> Elector:
    terms = Terms(identity=identity, lease=15, renew=10, retry=2)
    return Elector(line, terms, clock, lambda: datetime(2026, 11, 15, tzinfo=UTC))


def test_only_the_leader_runs_its_parts_and_it_hands_over_when_stopped() -> None:
    diary = Diary()

    async def main() -> None:
        server = Server()
        trees = []
        async with asyncio.TaskGroup() as tasks:
            for name in "ab":
                part = Elected(elector(Line(server), name), [diary.part(name)], clock)
                trees.append(Tree(name, [part], clock))
                tasks.create_task(trees[-1].run(lambda: None))
                await asyncio.sleep(1)
            assert diary.said == ["+a"]
            assert trees[1].awaited is None  # one that waits its turn has started
            await trees[0].stop(20)
            assert diary.said == ["+a", "-a"]
            await asyncio.sleep(3)
            assert diary.said == ["+a", "-a", "+b"]
            await trees[1].stop(20)
        assert server.lease is not None
        assert server.lease.holder == ""

    run(main())


def test_a_lost_lease_ends_the_process_with_an_error() -> None:
    diary = Diary()

    async def main() -> None:
        line = Line(Server())

        async def cut() -> None:
            if clock() > 30:
                raise ConnectionError("no route")

        line.before = cut
        await Tree(
            "test",
            [diary.part("a"), Elected(elector(line, "a"), [diary.part("b")], clock)],
            clock,
        ).run(lambda: None)

    with pytest.raises(ExceptionGroup) as caught:
        run(main())
    assert caught.group_contains(Lost)
    assert sorted(diary.said) == ["+a", "+b", "-a", "-b"]


# --- The whole process, over HTTP and with signals -------------------------------------------


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


async def asked(manager: Manager, path: str) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{manager.port}{path}") as answer,
    ):
        return answer.status, await answer.text()


def process(parts: list[Part], scene: Callable[[Manager], Coroutine[Any, Any, None]]) -> None:
    """Run a manager for real; the scene has to end it."""

    async def main() -> None:
        manager = Manager(parts, clock, Metrics(), SETTINGS)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(manager.run())
            await until(lambda: manager.port)
            await scene(manager)

    asyncio.run(main())


def test_it_is_ready_when_all_parts_have_started_and_not_while_it_stops() -> None:
    gate, hold = asyncio.Event(), asyncio.Event()

    async def gated(started: Started) -> None:
        await gate.wait()
        started()
        try:
            await asyncio.Event().wait()
        finally:
            await hold.wait()

    async def scene(manager: Manager) -> None:
        assert await asked(manager, "/readyz") == (503, "waiting for gated")
        assert await asked(manager, "/healthz") == (200, "ok")
        gate.set()
        await until(lambda: manager.unready() is None)
        assert await asked(manager, "/readyz") == (200, "ok")
        os.kill(os.getpid(), signal.SIGTERM)
        await until(manager.unready)
        assert await asked(manager, "/readyz") == (503, "stopping")
        hold.set()

    diary = Diary()
    process([diary.part("a"), Part("gated", gated)], scene)
    assert diary.said == ["+a", "-a"]


def test_an_ailing_part_makes_the_process_unhealthy() -> None:
    class Ailing(Part):
        def ailment(self) -> str | None:
            return "feverish"

    async def body(started: Started) -> None:
        started()
        await asyncio.Event().wait()

    async def scene(manager: Manager) -> None:
        await until(lambda: manager.unready() is None)
        assert await asked(manager, "/healthz") == (500, "feverish")
        manager.request_stop()

    process([Ailing("x", body)], scene)


def test_metrics_are_exposed() -> None:
    async def scene(manager: Manager) -> None:
        status, text = await asked(manager, "/metrics")
        assert status == 200
        assert "# TYPE windlass_leading gauge" in text
        manager.request_stop()

    process([Diary().part("a")], scene)


def test_a_failing_part_ends_the_process_with_its_error() -> None:
    async def scene(manager: Manager) -> None:
        await asyncio.Event().wait()

    with pytest.raises(ExceptionGroup) as caught:
        process([Diary().part("a"), Diary().part("b", fail=0.05)], scene)
    assert caught.group_contains(ValueError, match="b")
