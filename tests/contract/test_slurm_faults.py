"""A client, a writer and a mirror behind a bad network, on a real Slurm.

Nothing is missed, nothing is new twice, no write is sent twice, no task dies.
"""

import asyncio
import json
import random
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
from msgspec import Struct
from msgspec.structs import replace

from tests.contract.slurm_faults import (
    Fault,
    Proxy,
    cut_after,
    cut_before,
    dribbled,
    half_sent,
    nothing,
    proxied,
    refused,
    rewritten,
    silence,
)
from tests.contract.slurm_steps import WallClock, external, minted, mirrored, until
from windlass.local.pki import Authority, Subject
from windlass.slurm import MintedToken, connect, requests
from windlass.slurm.call import Request
from windlass.slurm.client import Client
from windlass.slurm.errors import Absent, Busy, SlurmError, Unavailable
from windlass.slurm.feed import Feed
from windlass.slurm.job_reading import Thrift
from windlass.slurm.mirror import Mirror
from windlass.slurm.model import Job, Listing, Submitted
from windlass.slurm.pace import Pace
from windlass.slurm.specs import JobSpec, NodeUpdate, PartitionSpec, ReservationSpec
from windlass.slurm.table import Change
from windlass.slurm.transport import Address, HttpTransport
from windlass.slurm.versions import Version
from windlass.slurm.writes import NodeWriter
from windlass.testing.slurm import RealSlurm
from windlass.values.clock import Seconds

T = TypeVar("T", bound=Struct)

TIMEOUT: Final = 1.0
BUSY: Final = refused("429 Too Many Requests")
BROKEN: Final = refused("500 Internal Server Error")
AWAY: Final = refused("503 Service Unavailable")
FAULTS: Final[list[Fault]] = [
    cut_before,
    cut_after,
    half_sent,
    dribbled,
    silence,
    BUSY,
    BROKEN,
    AWAY,
    nothing,
]


@asynccontextmanager
async def a_client(url: str, slurm: RealSlurm, timeout: float = 30.0) -> AsyncIterator[Client]:
    async with HttpTransport(Address.parse(url), timeout) as transport:
        yield Client(transport, minted(slurm), max(Version))


def through(
    slurm: RealSlurm,
    scenario: Callable[[Client, Client, Proxy], Awaitable[None]],
    timeout: float = TIMEOUT,
) -> None:
    """Play with a client behind a proxy, one that goes straight, and the proxy."""

    async def main() -> None:
        async with (
            proxied(slurm.slurmrestd_port) as proxy,
            a_client(proxy.url, slurm, timeout) as client,
            a_client(slurm.url, slurm) as direct,
        ):
            async with asyncio.timeout(120):
                await scenario(client, direct, proxy)

    asyncio.run(main())


# --- Reads ---------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [cut_before, cut_after, half_sent])
def test_a_read_is_repeated_once(own_slurm: RealSlurm, fault: Fault) -> None:
    async def scenario(client: Client, _direct: Client, proxy: Proxy) -> None:
        proxy.faults += [fault]
        assert await client.send(requests.nodes())
        assert len(proxy.seen) == 2
        proxy.faults += [fault, fault]
        with pytest.raises(Unavailable) as caught:
            await client.send(requests.nodes())
        assert caught.value.sent
        assert len(proxy.seen) == 4

    through(own_slurm, scenario)


def test_a_dribbled_body_is_read_whole(own_slurm: RealSlurm) -> None:
    async def scenario(client: Client, direct: Client, proxy: Proxy) -> None:
        await direct.send(requests.create_nodes(external("dribbled-[0-30]")))
        proxy.faults += [dribbled]
        listing = await client.send(requests.nodes())
        assert listing is not None
        assert {f"dribbled-{index}" for index in range(31)} <= {each.name for each in listing.items}
        assert len(proxy.seen) == 1

    through(own_slurm, scenario, timeout=20.0)


# --- Writes --------------------------------------------------------------------------------


def named(name: str) -> JobSpec:
    """A job that waits."""
    return JobSpec(name=name, external=True, nodes="1", directory="/tmp", hold=True)


async def jobs_named(direct: Client, name: str) -> list[Job]:
    listing = await direct.send(requests.jobs())
    assert listing is not None
    return [job for job in listing.items if job.name == name]


@pytest.mark.parametrize(
    ("fault", "carried_out"),
    [(cut_before, 0), (cut_after, 1), (half_sent, 1), (BROKEN, 0), (AWAY, 0)],
    ids=["cut before", "cut after", "half sent", "500", "503"],
)
@pytest.mark.parametrize("warm", [False, True], ids=["fresh", "warm"])
def test_a_write_is_sent_exactly_once_and_may_have_been_carried_out(
    own_slurm: RealSlurm, fault: Fault, carried_out: int, warm: bool
) -> None:
    name = f"once-{fault.__qualname__}-{id(fault)}-{warm}"

    async def scenario(client: Client, direct: Client, proxy: Proxy) -> None:
        if warm:
            await client.send(requests.ping())
        before = len(proxy.seen)
        proxy.faults += [fault]
        with pytest.raises(Unavailable) as caught:
            await client.send(requests.submit(named(name)))
        assert caught.value.sent
        assert len(proxy.seen) == before + 1
        assert len(await jobs_named(direct, name)) == carried_out

    through(own_slurm, scenario)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_what_became_of_each_of_many_writes_is_what_its_caller_was_told(
    own_slurm: RealSlurm, seed: int
) -> None:
    chance = random.Random(seed)

    async def scenario(client: Client, direct: Client, proxy: Proxy) -> None:
        proxy.faults += chance.choices(FAULTS, k=40)
        names = [f"fate-{seed}-{number}" for number in range(40)]
        answers = await asyncio.gather(
            *(client.send(requests.submit(named(name))) for name in names), return_exceptions=True
        )
        assert len(proxy.seen) == len(names)
        listing = await direct.send(requests.jobs())
        assert listing is not None
        made = Counter(job.name for job in listing.items)
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, Unavailable):
                assert answer.sent
                assert made[name] <= 1
            else:
                assert made[name] == (0 if isinstance(answer, Busy) else 1)
        assert {type(answer) for answer in answers} == {Submitted, Busy, Unavailable}

    through(own_slurm, scenario)


def test_a_write_that_is_not_answered_in_time_may_have_been_carried_out(
    own_slurm: RealSlurm,
) -> None:
    async def scenario(client: Client, direct: Client, proxy: Proxy) -> None:
        proxy.faults += [silence]
        with pytest.raises(Unavailable, match="within") as caught:
            await client.send(requests.submit(named("silent")))
        assert caught.value.sent
        assert len(proxy.seen) == 1
        assert await jobs_named(direct, "silent") == []

    through(own_slurm, scenario, timeout=0.3)


def test_too_many_requests_is_busy_and_left_to_the_caller(own_slurm: RealSlurm) -> None:
    async def scenario(client: Client, direct: Client, proxy: Proxy) -> None:
        calls: list[Request[Any]] = [requests.submit(named("busy")), requests.nodes()]
        for request in calls:
            proxy.faults += [BUSY]
            with pytest.raises(Busy):
                await client.send(request)
        assert proxy.forwarded == []
        await client.send(requests.submit(named("busy")))
        assert len(await jobs_named(direct, "busy")) == 1

    through(own_slurm, scenario)


def test_where_nobody_listens_nothing_was_sent(own_slurm: RealSlurm) -> None:
    async def scenario(client: Client, direct: Client, proxy: Proxy) -> None:
        await client.send(requests.ping())
        await proxy.shut()
        calls: list[Request[Any]] = [requests.ping(), requests.submit(named("nobody"))]
        for request in calls:
            with pytest.raises(Unavailable) as caught:
                await client.send(request)
            assert not caught.value.sent
        assert await jobs_named(direct, "nobody") == []

    through(own_slurm, scenario)


def test_a_writers_bulk_call_that_was_cut_is_not_sent_again_in_halves(
    own_slurm: RealSlurm,
) -> None:
    async def scenario(client: Client, direct: Client, proxy: Proxy) -> None:
        await direct.send(requests.create_nodes(external("halves-[0-7]")))
        writer = NodeWriter(client)
        running = asyncio.create_task(writer.run())
        proxy.faults += [cut_after]
        note = NodeUpdate(comment="written")
        told = await asyncio.gather(
            *(writer.update(f"halves-{index}", note) for index in range(8)), return_exceptions=True
        )
        running.cancel()
        assert [each.sent for each in told if isinstance(each, Unavailable)] == [True] * 8
        assert len(proxy.seen) == 1
        assert (await direct.send(requests.node("halves-7"))).comment == "written"

    through(own_slurm, scenario)


# --- The mirror ----------------------------------------------------------------------------


class Witness:
    """Follows a table by what its subscribers are told, and complains of what cannot be."""

    def __init__(self, feed: Feed[Any]) -> None:
        self.feed = feed
        self.now: dict[str, Struct] = dict(feed.table.items)
        self.born: Counter[str] = Counter()
        feed.subscribe(self.hear)

    def hear(self, change: Change[Any]) -> None:
        assert (change.name in self.now) == (not change.came)
        if change.after is None:
            del self.now[change.name]
        else:
            self.now[change.name] = change.after
        self.born[change.name] += change.came


QUICK: Final = Pace(
    busy=Seconds(0.02), rest=Seconds(0.1), failed_first=Seconds(0.02), failed_most=Seconds(0.2)
)


async def churn(direct: Client, stem: str, chance: random.Random) -> Counter[str]:
    """Make, change and take away nodes and jobs; answer how often each node was made."""
    born: Counter[str] = Counter()
    there: set[str] = set()
    for number in range(60):
        name = f"{stem}-{number % 8}"
        if name not in there:
            await direct.send(requests.create_nodes(external(name)))
            there.add(name)
            born[name] += 1
        await direct.send(requests.update_node(name, NodeUpdate(comment=str(number))))
        if chance.random() < 0.2:
            await direct.send(requests.delete_node(name))
            there.discard(name)
        if chance.random() < 0.3:
            job_id = (await direct.send(requests.submit(named(stem)))).job_id
            if chance.random() < 0.5:
                await direct.send(requests.cancel(job_id))
        await asyncio.sleep(0.02)
    return born


def unlike(mine: dict[str, T], theirs: Listing[T] | None, key: Callable[[T], str]) -> set[str]:
    """The names of what is not the same on both sides."""
    assert theirs is not None
    there = {key(item): item for item in theirs.items}
    return {name for name in mine.keys() | there.keys() if mine.get(name) != there.get(name)}


async def differences(mirror: Mirror, direct: Client) -> set[str]:
    """Where the mirror does not show what Slurm shows."""
    unknown = {feed.kind for feed in mirror.feeds if feed.table.unknown_since is not None}
    nodes, jobs = await direct.send(requests.nodes()), await direct.send(requests.jobs())
    return (
        unknown
        | unlike(mirror.nodes.table.items, nodes, lambda node: node.name)
        | unlike(mirror.jobs.table.items, jobs, lambda job: str(job.id))
    )


async def becomes_current(mirror: Mirror, direct: Client) -> None:
    deadline = time.monotonic() + 30
    while found := await differences(mirror, direct):
        assert time.monotonic() < deadline, f"still different: {sorted(found)}"
        await asyncio.sleep(0.05)


def let_be(client: Client) -> None:
    """From now on a slow machine is no fault."""
    assert isinstance(client.transport, HttpTransport)
    client.transport.timeout = 30.0


def quick_mirror() -> dict[str, Any]:
    return {"pace": QUICK, "slow": QUICK, "thrift": Thrift(Seconds(0.5))}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_mirror_survives_whatever_happens_to_it(own_slurm: RealSlurm, seed: int) -> None:
    chance = random.Random(seed)

    async def scenario(client: Client, direct: Client, proxy: Proxy) -> None:
        async with mirrored(client, **quick_mirror()) as mirror:
            witnesses = [Witness(feed) for feed in mirror.feeds]
            proxy.faults += chance.choices(FAULTS, k=150)
            born = await churn(direct, f"storm{seed}", chance)
            await direct.send(requests.create_nodes(external(f"last{seed}")))
            await until(lambda: not proxy.faults, within=60)
            let_be(client)
            await becomes_current(mirror, direct)
            assert f"last{seed}" in mirror.nodes.table.items
            for witness in witnesses:
                assert witness.now == witness.feed.table.items
            for name, count in witnesses[0].born.items():
                assert count <= max(born[name], 1)
            assert max(witnesses[1].born.values()) == 1

    through(own_slurm, scenario, timeout=0.5)


def test_a_mirror_is_current_again_after_slurmctld_was_killed_amid_faults(
    own_slurm: RealSlurm,
) -> None:
    chance = random.Random(4)

    async def scenario(client: Client, direct: Client, proxy: Proxy) -> None:
        await direct.send(requests.create_nodes(external("killed-[0-3]")))
        async with mirrored(client, **quick_mirror()) as mirror:
            witness = Witness(mirror.nodes)
            proxy.faults += chance.choices(FAULTS, k=40)
            await asyncio.to_thread(own_slurm.rest_slurmctld)
            await until(lambda: mirror.nodes.table.unknown_since is not None)
            assert "killed-0" in mirror.nodes.table.items
            proxy.faults += chance.choices(FAULTS, k=40)
            await asyncio.to_thread(own_slurm.wake_slurmctld)
            await direct.send(requests.create_nodes(external("risen-[0-3]")))
            await until(lambda: not proxy.faults, within=60)
            let_be(client)
            await becomes_current(mirror, direct)
            assert witness.now == mirror.nodes.table.items
            assert [witness.born[f"risen-{index}"] for index in range(4)] == [1] * 4

    through(own_slurm, scenario, timeout=0.5)


# --- Without slurmctld ---------------------------------------------------------------------


EVERYTHING: Final[list[Request[Any]]] = [
    requests.diag(),
    requests.conf(),
    requests.licenses(),
    requests.shares(),
    requests.reconfigure(),
    requests.nodes(),
    requests.node("any"),
    requests.update_node("any", NodeUpdate(comment="x")),
    requests.update_nodes(["any"], NodeUpdate(comment="x")),
    requests.create_nodes(external("never")),
    requests.delete_node("any"),
    requests.jobs(),
    requests.job(1),
    requests.job_states(),
    requests.submit(named("never")),
    requests.update_job(1, JobSpec(comment="x")),
    requests.cancel(1),
    requests.cancel_jobs([1]),
    requests.requeue(1),
    requests.requeue_jobs([1]),
    requests.resources(1),
    requests.partitions(),
    requests.partition("any"),
    requests.write_partition(PartitionSpec(name="any")),
    requests.delete_partition("any"),
    requests.reservations(),
    requests.reservation("any"),
    requests.write_reservation(ReservationSpec(name="any")),
    requests.delete_reservation("any"),
]


async def outcome(client: Client, request: Request[Any]) -> str:
    try:
        await client.send(request)
    except SlurmError as error:
        # What the client gave up by itself would hide what slurmrestd says.
        return "no answer" if "within" in error.sentence else type(error).__name__
    return "done"


def test_without_slurmctld_no_call_is_refused_absent_or_done(
    slurm_with: Callable[[str], RealSlurm],
) -> None:
    slurm = slurm_with("MessageTimeout=1\n")

    async def main() -> list[str]:
        async with a_client(slurm.url, slurm, timeout=120) as client:
            return await asyncio.gather(*(outcome(client, each) for each in EVERYTHING))

    slurm.rest_slurmctld()
    told = asyncio.run(main())
    calls = [f"{each.method} {each.path}" for each in EVERYTHING]
    assert dict(zip(calls, told, strict=True)) == dict.fromkeys(calls, "Unavailable")


def test_a_cancel_that_is_not_allowed_silences_slurmctld_until_it_is_started_again(
    slurm_with: Callable[[str], RealSlurm],
) -> None:
    """A fault of slurmctld 26.05.5: it keeps its locks. scancel asks in another way."""
    slurm = slurm_with("MessageTimeout=1\n")

    async def cancelled() -> None:
        async with a_client(slurm.url, slurm) as root:
            daemon = root.acting_with(slurm.token("daemon"))
            others, own = [
                (await root.send(requests.submit(replace(named(user), user=user)))).job_id
                for user in ("root", "daemon")
            ]
            await daemon.send(requests.cancel(own))
            assert (await root.send(requests.job(own))).state.ended
            calls: list[Request[Any]] = [requests.cancel(others), requests.job_states()]
            for request in calls:
                with pytest.raises(Unavailable):
                    await daemon.send(request)
            assert (await root.send(requests.ping()))[0].responding

    async def asked() -> None:
        async with a_client(slurm.url, slurm) as root:
            await root.send(requests.job_states())

    asyncio.run(cancelled())
    slurm.rest_slurmctld()
    slurm.wake_slurmctld()
    asyncio.run(asked())


def test_a_slurmctld_that_dies_under_a_write_leaves_it_open_what_became_of_it(
    own_slurm: RealSlurm,
) -> None:
    def stopped() -> None:
        own_slurm.inside("sh", "-c", "kill -STOP $(cat /run/slurmctld.pid)")

    async def scenario(client: Client, _direct: Client, proxy: Proxy) -> None:
        for request in (requests.submit(named("dying")), requests.cancel(1)):
            await asyncio.to_thread(stopped)
            write = asyncio.create_task(client.send(request))
            await until(lambda: bool(proxy.forwarded))
            await until(lambda: waits_for_slurmctld(own_slurm))
            await asyncio.to_thread(own_slurm.rest_slurmctld)
            with pytest.raises(Unavailable) as caught:
                await write
            assert caught.value.sent
            await asyncio.to_thread(own_slurm.wake_slurmctld)
            proxy.forwarded.clear()

    through(own_slurm, scenario, timeout=60)


def waits_for_slurmctld(slurm: RealSlurm) -> bool:
    """Whether somebody's bytes lie unread at slurmctld's port: column 5 is tx:rx, in hex."""
    port = f":{slurm.slurmctld_port:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[1].endswith(port) and int(row[4].partition(":")[2], 16) > 0 for row in rows)


# --- A clock that is set back --------------------------------------------------------------


def hour_ahead(body: bytes) -> bytes:
    """The answer of a controller whose clock has not yet been set back by an hour."""
    answer = json.loads(body)
    for instant in (answer.get("last_update"), answer.get("statistics", {}).get("req_time")):
        if instant and instant["number"]:
            instant["number"] += 3600
    return json.dumps(answer).encode()


def test_a_mirror_goes_on_after_the_controllers_clock_was_set_back(own_slurm: RealSlurm) -> None:
    async def scenario(client: Client, direct: Client, proxy: Proxy) -> None:
        await direct.send(requests.create_nodes(external("clock-[0-1]")))
        proxy.afterwards = rewritten(hour_ahead)
        quick: dict[str, Any] = {"pace": QUICK, "slow": QUICK}
        async with mirrored(client, **quick, check_every=Seconds(1.0)) as mirror:
            items = mirror.nodes.table
            await until(lambda: (items.since or 0) > time.time() + 3000)
            proxy.afterwards = nothing
            await direct.send(requests.update_node("clock-1", NodeUpdate(comment="in the past")))
            await until(lambda: items.items["clock-1"].comment == "in the past")
            await direct.send(requests.update_node("clock-1", NodeUpdate(comment="and on")))
            await until(lambda: items.items["clock-1"].comment == "and on")
            await becomes_current(mirror, direct)

    through(own_slurm, scenario)


# --- A slurmctld that has enough of us -----------------------------------------------------

LIMITS: Final = "SlurmctldParameters=rl_enable,rl_bucket_size=2,rl_refill_rate=1,rl_refill_period=1"


def test_a_limited_user_is_served_late_or_not_at_all_and_never_refused(
    slurm_with: Callable[[str], RealSlurm],
) -> None:
    """slurmrestd waits for slurmctld's rate limit by itself: no caller ever sees the number."""
    slurm = slurm_with(f"{LIMITS}\n")
    plain = MintedToken(slurm.jwt_key.read_bytes(), WallClock(), user="nobody")

    async def ask(client: Client, times: int) -> None:
        for _ in range(times):
            await client.acting_with(plain).send(requests.job_states())

    async def main() -> None:
        async with a_client(slurm.url, slurm) as patient:
            began = time.monotonic()
            await ask(patient, 5)
            assert time.monotonic() - began > 1
            assert "telling to back off" in (slurm.logs / "slurmctld.log").read_text()
        async with a_client(slurm.url, slurm, timeout=0.3) as hasty:
            with pytest.raises(Unavailable, match="within") as caught:
                await ask(hasty, 5)
            assert caught.value.sent

    asyncio.run(main())


def test_more_jobs_than_slurmctld_keeps_are_busy(
    slurm_with: Callable[[str], RealSlurm],
) -> None:
    slurm = slurm_with("MaxJobCount=3\n")

    async def main() -> None:
        async with a_client(slurm.url, slurm) as client:
            answers = await asyncio.gather(
                *(client.send(requests.submit(named("too many"))) for _ in range(5)),
                return_exceptions=True,
            )
            refused_ = [each for each in answers if isinstance(each, Busy)]
            assert {each.name for each in refused_} == {"ESLURM_MAX_JOB_COUNT"}

    asyncio.run(main())


# --- TLS -----------------------------------------------------------------------------------


def test_a_slurmrestd_behind_tls(own_slurm: RealSlurm, tmp_path: Path) -> None:
    authority = Authority(tmp_path, datetime.now(UTC))
    authority.ensure([Subject("server", "slurmrestd", names=("127.0.0.1",))])
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(authority.certificate("server"), tmp_path / "server.key")
    trusting = ssl.create_default_context(cafile=tmp_path / "ca.crt")

    async def main() -> None:
        async with proxied(own_slurm.slurmrestd_port, serving) as proxy:
            async with connect(proxy.url, minted(own_slurm), tls=trusting) as client:
                for _ in range(3):
                    assert await client.send(requests.nodes())
                    with pytest.raises(Absent):
                        await client.send(requests.job(4_000_000))
                proxy.faults += [cut_after]
                assert await client.send(requests.nodes())
                proxy.faults += [cut_after]
                with pytest.raises(Unavailable) as caught:
                    await client.send(requests.submit(named("secret")))
                assert caught.value.sent
            before = len(proxy.seen)
            with pytest.raises(Unavailable, match="certificate") as stranger:
                async with connect(proxy.url, minted(own_slurm)):
                    pass
            assert not stranger.value.sent
            assert len(proxy.seen) == before

    asyncio.run(main())
