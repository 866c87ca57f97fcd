"""Elections in virtual time, with an API server that is slow, deaf or cut off at will."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from windlass.kube.leader import Elector, Lease, Lost, NotLeading, Taken, Terms
from windlass.testing.virtual import clock, run

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
TERMS = Terms(identity="a", lease=15, renew=10, retry=2)


def wall_clock() -> datetime:
    return NOON + timedelta(seconds=clock())


@dataclass
class Server:
    """The one true Lease."""

    lease: Lease | None = None
    writes: int = 0

    def put(self, lease: Lease) -> Lease:
        current = (self.lease.version, self.lease.uid) if self.lease else ("", "")
        if (lease.version, lease.uid) != current:
            raise Taken
        self.writes += 1
        uid = lease.uid or f"made-by-{self.writes}"
        self.lease = replace(lease, version=str(self.writes), uid=uid)
        return self.lease


@dataclass
class Line:
    """One candidate's way to the server; `before` and `after` may wait or fail."""

    server: Server
    before: Callable[[], Awaitable[None]] = field(default=lambda: asyncio.sleep(0))
    after: Callable[[], Awaitable[None]] = field(default=lambda: asyncio.sleep(0))
    reads: int = 0

    async def read(self) -> Lease | None:
        self.reads += 1
        await self.before()
        lease = self.server.lease
        await self.after()
        return lease

    async def create(self, lease: Lease) -> Lease:
        return await self.replace(lease)

    async def replace(self, lease: Lease) -> Lease:
        await self.before()
        written = self.server.put(lease)
        await self.after()
        return written


def candidate(line: Line, identity: str) -> Elector:
    return Elector(line, replace(TERMS, identity=identity), clock, wall_clock)


async def for_ever() -> None:
    await asyncio.Event().wait()


def test_the_first_leads_at_once_and_renews_without_reading() -> None:
    async def main() -> None:
        line = Line(Server())
        elector = candidate(line, "a")

        async def lead() -> None:
            elector.check()
            await asyncio.sleep(100)
            elector.check()

        await elector.run(lead)
        assert clock() == 100
        assert line.reads == 1
        assert line.server.writes > 100 / TERMS.retry * 0.9

    run(main())


def test_a_lease_is_released_on_exit_and_taken_within_a_retry() -> None:
    async def main() -> None:
        server = Server()
        first, second = candidate(Line(server), "a"), candidate(Line(server), "b")

        async def lead_second() -> None:
            assert clock() <= 31 + TERMS.retry

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(first.run(lambda: asyncio.sleep(31)))
            await asyncio.sleep(1)
            tasks.create_task(second.run(lead_second))
        assert server.lease is not None
        assert (server.lease.holder, server.lease.transitions) == ("", 1)

    run(main())


def test_a_lease_is_released_when_the_leader_is_cancelled() -> None:
    async def main() -> None:
        server = Server()
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(candidate(Line(server), "a").run(for_ever))
            await asyncio.sleep(20)
            assert server.lease is not None
            assert server.lease.holder == "a"
            task.cancel()
        assert server.lease.holder == ""

    run(main())


def test_a_dead_leaders_lease_is_taken_when_it_has_run_out_and_not_before() -> None:
    async def main() -> None:
        server = Server(Lease("dead", 15, version=""))
        server.put(Lease("dead", 15))
        elector = candidate(Line(server), "b")

        async def lead() -> None:
            assert 15 <= clock() <= 15 + TERMS.retry

        await elector.run(lead)

    run(main())


@pytest.mark.parametrize("renewed", [NOON - timedelta(days=1), NOON + timedelta(days=1)])
def test_the_others_clock_is_never_trusted(renewed: datetime) -> None:
    async def main() -> None:
        server = Server()
        server.put(Lease("dead", 15, renewed=renewed))
        elector = candidate(Line(server), "b")

        async def lead() -> None:
            assert 15 <= clock() <= 15 + TERMS.retry

        await elector.run(lead)

    run(main())


def test_a_changed_label_is_no_renewal() -> None:
    async def main() -> None:
        server = Server()
        server.put(Lease("dead", 15))

        async def label() -> None:
            while clock() < 14:
                await asyncio.sleep(3)
                assert server.lease is not None
                server.put(server.lease)

        async def lead() -> None:
            assert clock() <= 15 + TERMS.retry

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(label())
            tasks.create_task(candidate(Line(server), "b").run(lead))

    run(main())


def test_a_leader_cut_off_stops_before_its_lease_can_be_taken() -> None:
    async def main() -> None:
        server = Server()
        line = Line(server)
        elector = candidate(line, "a")
        stopped: list[float] = []

        async def lead() -> None:
            try:
                await for_ever()
            finally:
                stopped.append(clock())

        async def cut() -> None:
            raise ConnectionError("no route")

        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(lost(elector, lead))
            await asyncio.sleep(21)
            line.before = cut
            await task
        assert 28 <= stopped[0] <= 21 + TERMS.renew
        with pytest.raises(NotLeading):
            elector.check()

    run(main())


async def lost(elector: Elector, lead: Callable[[], Awaitable[None]]) -> None:
    with pytest.raises(Lost):
        await elector.run(lead)


def test_a_server_that_never_answers_counts_as_cut_off() -> None:
    async def main() -> None:
        line = Line(Server())
        elector = candidate(line, "a")
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(lost(elector, for_ever))
            await asyncio.sleep(5)
            line.before = for_ever
            await task
        assert clock() <= 5 + TERMS.renew

    run(main())


def test_an_answer_that_comes_too_late_makes_no_leader() -> None:
    """The write was sent at 0 and is true, but its ten seconds are over when the answer comes."""

    async def main() -> None:
        now = 0.0
        server = Server()
        line = Line(server)

        async def pause() -> None:
            nonlocal now
            now += 11  # a pause that the event loop does not see

        line.after = pause
        elector = Elector(line, TERMS, lambda: now, lambda: NOON)
        await elector._attempt()
        assert server.lease is not None
        assert server.lease.holder == "a"
        assert not elector.leading

    run(main())


def test_a_renewal_whose_answer_was_lost_does_not_depose() -> None:
    async def main() -> None:
        server = Server()
        line = Line(server)
        elector = candidate(line, "a")

        async def lose_answers() -> None:
            if 10 < clock() < 13:
                raise ConnectionError("reset")

        line.after = lose_answers
        await elector.run(lambda: asyncio.sleep(60))
        assert clock() == 60

    run(main())


def test_a_leader_steps_down_as_soon_as_it_reads_another_name() -> None:
    async def main() -> None:
        server = Server()
        elector = candidate(Line(server), "a")
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(lost(elector, for_ever))
            await asyncio.sleep(5)
            assert server.lease is not None
            server.put(replace(server.lease, holder="usurper"))
            await task
        assert clock() <= 5 + TERMS.retry
        assert server.lease.holder == "usurper"

    run(main())


def test_a_paused_leader_that_wakes_up_may_not_act_before_any_timer_has_run() -> None:
    async def main() -> None:
        now = 0.0
        elector = Elector(Line(Server()), TERMS, lambda: now, lambda: NOON)
        await elector._attempt()
        assert elector.leading
        now = 9.99
        assert elector.leading
        now = 10.0
        with pytest.raises(NotLeading):
            elector.check()

    run(main())


def test_what_fails_while_leading_is_told_and_the_lease_released() -> None:
    async def main() -> None:
        server = Server()

        async def lead() -> None:
            raise ValueError("broken")

        with pytest.raises(ExceptionGroup) as caught:
            await candidate(Line(server), "a").run(lead)
        assert caught.group_contains(ValueError)
        assert server.lease is not None
        assert server.lease.holder == ""

    run(main())


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"lease": 10, "renew": 10}, "make each longer"),
        ({"renew": 2, "retry": 2}, "make each longer"),
        ({"retry": 0}, "make each longer"),
        ({"identity": ""}, "identity"),
    ],
)
def test_terms_that_cannot_be_safe_are_refused(terms: dict[str, float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Terms(**{"identity": "a", **terms})  # type: ignore[arg-type]


async def campaign(elector: Elector, chance: random.Random) -> None:
    """Stand again and again, leading for a while each time."""
    while True:
        try:
            await elector.run(lambda: asyncio.sleep(chance.uniform(1, 120)))
        except Lost:
            await asyncio.sleep(chance.uniform(0, 5))


async def reigns(electors: list[Elector]) -> list[str]:
    """Who led, moment by moment; there is never more than one."""
    seen: list[str] = []
    for _ in range(10_000):
        await asyncio.sleep(0.2)
        leaders = [elector._terms.identity for elector in electors if elector.leading]
        assert len(leaders) <= 1
        seen += leaders
    return seen


@pytest.mark.parametrize("seed", range(15))
def test_never_two_lead_whatever_the_network_does(seed: int) -> None:
    """Five candidates; requests and answers are slow, late by more than a lease, or lost."""
    chance = random.Random(seed)

    async def trouble() -> None:
        await asyncio.sleep(chance.choice([0, 0.01, 0.5, 3, 12, 40]) * chance.random())
        if chance.random() < 0.15:
            raise ConnectionError("reset")

    async def main() -> list[str]:
        server = Server()
        electors = [candidate(Line(server, trouble, trouble), name) for name in "abcde"]
        async with asyncio.TaskGroup() as tasks:
            campaigns = [tasks.create_task(campaign(elector, chance)) for elector in electors]
            seen = await reigns(electors)
            for task in campaigns:
                task.cancel()
        return seen

    assert len(set(run(main()))) > 1
