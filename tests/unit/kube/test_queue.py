import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from windlass.kube.queue import Backoff, Closed, Queue, Schedule
from windlass.testing.virtual import clock, run

Scenario = Callable[[Queue[str]], Coroutine[Any, Any, None]]


def play(scenario: Scenario) -> None:
    """Run a scenario on an empty queue in virtual time."""

    async def main() -> None:
        await scenario(Queue(clock, backoff=Backoff(first=1, most=10)))

    run(main())


async def take_all(queue: Queue[str]) -> list[str]:
    """Everything ready, in the order it is handed out."""
    taken = []
    while len(queue):
        key = await queue.take()
        queue.done(key)
        taken.append(key)
    return taken


def test_a_key_added_twice_is_handed_out_once() -> None:
    async def scenario(queue: Queue[str]) -> None:
        for key in "abab":
            queue.add(key)
        assert await take_all(queue) == ["a", "b"]

    play(scenario)


def test_a_key_added_while_worked_on_runs_again_afterwards_and_not_before() -> None:
    async def scenario(queue: Queue[str]) -> None:
        queue.add("a")
        assert await queue.take() == "a"
        queue.add("a")
        assert len(queue) == 0
        queue.done("a")
        assert await take_all(queue) == ["a"]

    play(scenario)


def test_equals_are_served_in_turn() -> None:
    async def scenario(queue: Queue[str]) -> None:
        queue.add("greedy")
        queue.add("patient")
        first = await queue.take()
        queue.add(first)
        queue.done(first)
        assert await take_all(queue) == ["patient", "greedy"]

    play(scenario)


def test_a_higher_priority_goes_first_and_lifts_a_key_that_waits() -> None:
    async def scenario(queue: Queue[str]) -> None:
        for key, priority in (("low", -1), ("a", 0), ("b", 0), ("b", 5), ("b", 1)):
            queue.add(key, priority=priority)
        assert await take_all(queue) == ["b", "a", "low"]

    play(scenario)


def test_a_delayed_key_comes_when_it_is_due() -> None:
    async def scenario(queue: Queue[str]) -> None:
        queue.add_after("a", 30)
        assert await queue.take() == "a"
        assert clock() == 30

    play(scenario)


def test_the_earliest_of_several_delays_wins() -> None:
    async def scenario(queue: Queue[str]) -> None:
        for seconds in (30, 10, 20):
            queue.add_after("a", seconds)
        queue.add_after("end", 60)
        seen = [(await queue.take(), clock()), (await queue.take(), clock())]
        assert seen == [("a", 10), ("end", 60)]

    play(scenario)


def test_an_addition_now_fulfils_the_one_planned_for_later() -> None:
    async def scenario(queue: Queue[str]) -> None:
        queue.add_after("a", 10, priority=7)
        queue.add("b")
        queue.add("a")
        assert await take_all(queue) == ["a", "b"]
        queue.add_after("end", 60)
        assert await queue.take() == "end"

    play(scenario)


def test_a_key_that_becomes_due_while_worked_on_runs_again_afterwards() -> None:
    async def scenario(queue: Queue[str]) -> None:
        queue.add("a")
        await queue.take()
        queue.add_after("a", 5)
        await asyncio.sleep(10)
        assert len(queue) == 0
        queue.done("a")
        assert await take_all(queue) == ["a"]

    play(scenario)


def test_failures_wait_longer_each_time_up_to_the_most_and_success_forgets_them() -> None:
    async def scenario(queue: Queue[str]) -> None:
        assert [queue.retry("a") for _ in range(6)] == [1, 2, 4, 8, 10, 10]
        assert queue.failures("a") == 6
        queue.forget("a")
        assert queue.retry("a") == 1

    play(scenario)


def test_a_key_may_fail_for_years() -> None:
    assert Backoff(first=0.005, most=60).after(10**9) == 60


def test_a_closed_queue_hands_out_what_is_ready_and_drops_what_is_delayed() -> None:
    async def scenario(queue: Queue[str]) -> None:
        queue.add("a")
        queue.add_after("later", 5)
        queue.close()
        queue.add("too late")
        assert await queue.take() == "a"
        queue.done("a")
        with pytest.raises(Closed):
            await queue.take()

    play(scenario)


def test_closing_sends_waiting_workers_home() -> None:
    async def scenario(queue: Queue[str]) -> None:
        async with asyncio.TaskGroup() as tasks:
            workers = [tasks.create_task(goes_home(queue)) for _ in range(3)]
            await asyncio.sleep(1)
            queue.close()
        assert [worker.result() for worker in workers] == [True, True, True]

    play(scenario)


async def goes_home(queue: Queue[str]) -> bool:
    try:
        await queue.take()
    except Closed:
        return True
    return False


def test_a_drain_waits_for_work_in_hand_and_for_what_is_to_run_again() -> None:
    async def scenario(queue: Queue[str]) -> None:
        queue.add("a")
        await queue.take()
        queue.add("a")
        async with asyncio.TaskGroup() as tasks:
            drain = tasks.create_task(queue.drain(within=60))
            await asyncio.sleep(5)
            queue.done("a")
            await asyncio.sleep(5)
            assert not drain.done()
            assert await take_all(queue) == ["a"]
        assert drain.result() == frozenset()
        assert clock() == 10

    play(scenario)


def test_a_drain_is_bounded_and_names_what_is_left() -> None:
    async def scenario(queue: Queue[str]) -> None:
        queue.add("stuck")
        queue.add("waiting")
        await queue.take()
        assert await queue.drain(within=20) == {"stuck", "waiting"}
        assert clock() == 20

    play(scenario)


def test_a_cancelled_worker_loses_no_key() -> None:
    async def scenario(queue: Queue[str]) -> None:
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(queue.take())
            second = tasks.create_task(queue.take())
            await asyncio.sleep(1)
            queue.add("a")  # wakes the first, which is cancelled before it runs
            first.cancel()
            assert await second == "a"

    play(scenario)


def test_every_waiting_worker_gets_one_of_the_keys_that_fall_due_together() -> None:
    async def scenario(queue: Queue[str]) -> None:
        async with asyncio.TaskGroup() as tasks:
            takers = [tasks.create_task(queue.take()) for _ in range(3)]
            await asyncio.sleep(0)
            for key in "abc":
                queue.add_after(key, 5)
        assert sorted(taker.result() for taker in takers) == ["a", "b", "c"]
        assert clock() == 5

    play(scenario)


def test_distant_plans_made_over_and_over_do_not_pile_up() -> None:
    schedule: Schedule[str] = Schedule()
    for turn in range(10_000):
        schedule.add_later("a", 36_000.0 + turn)
        schedule.add("a", 0.0)
        schedule.take()
        schedule.done("a", 0.0)
    assert len(schedule._dues) < 100


KEYS = st.sampled_from("abcde")
PRIORITIES = st.integers(-1, 1)


class ScheduleAgainstModel(RuleBasedStateMachine):
    """The model keeps plain lists and searches them; nothing in it is clever."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.real: Schedule[str] = Schedule()
        self.ready: list[tuple[str, int]] = []
        self.active: list[str] = []
        self.again: dict[str, int] = {}
        self.later: dict[str, tuple[float, int]] = {}

    def model_add(self, key: str, priority: int) -> None:
        if key in self.later:
            priority = max(priority, self.later.pop(key)[1])
        if key in self.active:
            self.again[key] = max(priority, self.again.get(key, priority))
            return
        for place, (known, had) in enumerate(self.ready):
            if known == key:
                self.ready[place] = (key, max(had, priority))
                return
        self.ready.append((key, priority))

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        self.real.add(key, self.now, priority)
        self.model_add(key, priority)

    @rule(key=KEYS, wait=st.integers(1, 5), priority=PRIORITIES)
    def add_later(self, key: str, wait: int, priority: int) -> None:
        self.real.add_later(key, self.now + wait, priority)
        if key in self.again or key in [known for known, _ in self.ready]:
            return
        due, had = self.later.get(key, (self.now + wait, priority))
        self.later[key] = (min(due, self.now + wait), max(had, priority))

    @rule(seconds=st.integers(1, 4))
    def time_passes(self, seconds: int) -> None:
        for _ in range(seconds):  # second by second: what falls due together has no order
            self.now += 1
            due = [key for key, (when, _) in self.later.items() if when <= self.now]
            before = len(self.real)
            self.real.ripen(self.now)
            if len(due) == 1:
                self.model_add(due[0], self.later[due[0]][1])
            elif due:
                self.forget_order(due, before)

    def forget_order(self, due: list[str], before: int) -> None:
        """Several keys fell due at once: take the order in which the schedule put them."""
        for key in sorted(due, key=self.turn_of):
            self.model_add(key, self.later[key][1])
        assert len(self.real) - before == len([key for key in due if key not in self.active])

    def turn_of(self, key: str) -> int:
        place = self.real._ready.get(key)
        return place.turn if place else 0

    @rule()
    def take(self) -> None:
        taken = self.real.take()
        if not self.ready:
            assert taken is None
            return
        best = max(priority for _, priority in self.ready)
        want = next(entry for entry in self.ready if entry[1] == best)
        self.ready.remove(want)
        self.active.append(want[0])
        assert taken is not None
        assert taken[0] == want[0]

    @precondition(lambda self: self.active)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.active))
        self.real.done(key, self.now)
        self.active.remove(key)
        if key in self.again:
            self.ready.append((key, self.again.pop(key)))

    @invariant()
    def agrees(self) -> None:
        assert len(self.real) == len(self.ready)
        assert self.real.active == set(self.active)
        dues = [due for due, _ in self.later.values()]
        assert self.real.next_due() == (min(dues) if dues else None)
        assert len(set(self.active)) == len(self.active)


TestScheduleAgainstModel = ScheduleAgainstModel.TestCase
TestScheduleAgainstModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
