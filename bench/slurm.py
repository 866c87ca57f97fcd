"""What `windlass.slurm` costs beside the floor for the same work: `python -m bench.slurm`.

A real slurmctld and slurmrestd on loopback, with external nodes that only exist. The mirror's lag
and CPU at rest and while one node in a hundred changes each second; then 5,000 drains through the
writer. The floors: a change cannot be known before one bare GET of all nodes has come, asking as
often costs a bare loop of polls, and no drain is quicker than one bare bulk call. CPU is of this
process, and beside it that of Slurm's daemons. Needs root; it stops by itself.
"""

import asyncio
import gc
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec
from rich.console import Console

from windlass.local import images
from windlass.local.progress import Display
from windlass.mains import windlass
from windlass.slurm import connect, requests
from windlass.slurm.call import Request
from windlass.slurm.client import TOKEN_HEADER, Client
from windlass.slurm.mirror import Mirror
from windlass.slurm.model import Node
from windlass.slurm.specs import NodeUpdate
from windlass.slurm.table import Change
from windlass.slurm.wire import NodesAnswer
from windlass.slurm.writes import NodeWriter
from windlass.testing.slurm import RealSlurm
from windlass.values.clock import Instant, Seconds

SIZES, DRAINED = (1_000, 15_000), 5_000
SECONDS, PATIENCE, RUNS = 10, 120, 3
POLLS, BETWEEN = 20, 0.25
TICKS_A_SECOND = 100

T = TypeVar("T")


class WallClock:
    def now(self) -> Instant:
        return Instant(time.time())

    def monotonic(self) -> Seconds:
        return Seconds(time.monotonic())

    async def sleep(self, seconds: Seconds) -> None:
        await asyncio.sleep(seconds)


# --- Slurm ---------------------------------------------------------------------------------


@contextmanager
def real_slurm() -> Iterator[RealSlurm]:
    cache, display = windlass.folders().cache, Display(Console(stderr=True))
    root = images.root_of("slurm", cache, display, programs={})
    with tempfile.TemporaryDirectory() as folder:
        slurm = RealSlurm(root, Path(folder) / "slurm")
        slurm.start()
        try:
            yield slurm
        finally:
            slurm.stop()


def hostlist(first: int, count: int) -> str:
    return f"w-[{first}-{first + count - 1}]"


@dataclass(frozen=True, slots=True)
class Counted:
    """Sends like the client, and keeps count."""

    client: Client
    calls: list[bool] = field(default_factory=list)
    """Of each call, whether it brought the list of all nodes."""

    async def send(self, request: Request[T]) -> T:
        answer = await self.client.send(request)
        self.calls.append(request.path == "/nodes/" and answer is not None)
        return answer


@dataclass(frozen=True, slots=True)
class Bench:
    """One Slurm with its nodes."""

    slurm: RealSlurm
    client: Client
    token: str
    size: int

    def daemons(self) -> float:
        """The CPU seconds of slurmctld and slurmrestd so far."""
        stats = self.slurm.inside("sh", "-c", "cat /proc/[0-9]*/stat 2> /dev/null || true")
        fields = [line.rpartition(")") for line in stats.splitlines() if "(slurm" in line]
        return sum(sum(map(int, rest.split()[11:13])) for _, _, rest in fields) / TICKS_A_SECOND


@asynccontextmanager
async def bench_of(size: int) -> AsyncIterator[Bench]:
    with real_slurm() as slurm:
        token = slurm.token()
        async with connect(slurm.url, token, timeout=PATIENCE) as client:
            line = f"NodeName={hostlist(0, size)} CPUs=4 RealMemory=1000"
            await client.send(requests.create_nodes(f"{line} State=EXTERNAL NodeAddr=127.0.0.1"))
            yield Bench(slurm, client, token, size)


# --- The floors ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Floor:
    """What bare calls cost."""

    whole: float
    """Seconds of waiting for one bare list of all nodes."""
    decoding: float
    """CPU seconds of reading that list and decoding it into the wire's structs."""
    poll: float
    """CPU seconds of one bare poll that says that nothing changed."""


async def floor_of(bench: Bench) -> Floor:
    """By a bare socket: the request is ready, the head is hardly looked at."""
    decode = msgspec.json.Decoder(NodesAnswer).decode
    port = bench.slurm.slurmrestd_port
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)

    async def fetched(query: str) -> bytes:
        target = f"/slurm/{bench.client.version.path}/nodes/{query}"
        head = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n{TOKEN_HEADER}: {bench.token}\r\n\r\n"
        writer.write(head.encode())
        answer = await reader.readuntil(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 304" if query else b"HTTP/1.1 200"), answer
        length = 0 if query else int(answer.lower().split(b"content-length: ")[1].split(b"\r")[0])
        return await reader.readexactly(length)

    whole, decoding = float("inf"), float("inf")
    for _ in range(max(RUNS, 10_000 // bench.size)):
        cpu, wall = time.process_time(), time.monotonic()
        body = await fetched("")
        whole, found = min(whole, time.monotonic() - wall), decode(body)
        decoding = min(decoding, time.process_time() - cpu)
    cpu = time.process_time()
    for _ in range(POLLS):
        await fetched(f"?update_time={int(found.last_update.number)}")
        await asyncio.sleep(BETWEEN)  # in a tight loop, warm caches would flatter the floor
    poll = (time.process_time() - cpu) / POLLS
    writer.close()
    return Floor(whole, decoding, poll)


# --- The mirror ----------------------------------------------------------------------------


@dataclass(slots=True)
class Lags:
    """When which change was asked for, and how long the mirror took to show all of its nodes."""

    asked: dict[str, float] = field(default_factory=dict)
    missing: dict[str, int] = field(default_factory=dict)
    seen: list[float] = field(default_factory=list)
    all_seen: asyncio.Event = field(default_factory=asyncio.Event)

    def ask(self, stamp: str, count: int) -> None:
        self.asked[stamp], self.missing[stamp] = time.monotonic(), count

    def hear(self, change: Change[Node]) -> None:
        stamp = change.after.comment if change.after else ""
        if stamp in self.missing:
            self.missing[stamp] -= 1
            if not self.missing[stamp]:
                self.seen.append(time.monotonic() - self.asked[stamp])
        if len(self.seen) == SECONDS:
            self.all_seen.set()


@dataclass(frozen=True, slots=True)
class Spent:
    seconds: float
    ours: float
    theirs: float

    @property
    def ours_a_second(self) -> float:
        return self.ours / self.seconds * 1000

    @property
    def theirs_a_second(self) -> float:
        return self.theirs / self.seconds * 1000


async def spent_on(bench: Bench, work: Callable[[], Awaitable[object]]) -> Spent:
    gc.collect()
    theirs, ours, wall = bench.daemons(), time.process_time(), time.monotonic()
    await work()
    mine, seconds = time.process_time() - ours, time.monotonic() - wall
    return Spent(seconds, mine, bench.daemons() - theirs)


async def change_some(bench: Bench, lags: Lags) -> None:
    """Another hundredth of the nodes each second, in one call, as the clock strikes."""
    count, began = bench.size // 100, time.monotonic()
    for second in range(SECONDS):
        stamp = f"change {second}"
        lags.ask(stamp, count)
        update = NodeUpdate(comment=stamp)
        names = [hostlist(second * count, count)]
        await bench.client.send(requests.update_nodes(names, update))
        await asyncio.sleep(max(0.0, began + second + 1 - time.monotonic()))


async def measure_mirror(size: int) -> None:
    async with bench_of(size) as bench:
        floor = await floor_of(bench)
        sender = Counted(bench.client)
        mirror, lags = Mirror(sender, WallClock()), Lags()
        mirror.nodes.subscribe(lags.hear)
        began = time.monotonic()
        running = asyncio.create_task(mirror.run())
        await mirror.synced()
        synced = time.monotonic() - began
        show(f"{size:,} nodes: first reading", f"{synced:.2f} s", floor.whole, "s for a bare GET")
        await asyncio.sleep(floor.whole * 2 + 5)  # until its rhythm is that of rest
        sender.calls.clear()
        show_rest(size, await spent_on(bench, lambda: asyncio.sleep(SECONDS)), sender, floor)
        sender.calls.clear()

        async def busy() -> None:
            await change_some(bench, lags)
            await asyncio.wait_for(lags.all_seen.wait(), PATIENCE)

        show_busy(size, await spent_on(bench, busy), sender, floor)
        show_lags(size, lags, floor)
        running.cancel()
        await asyncio.wait([running])


# --- The writer ----------------------------------------------------------------------------


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.monotonic()
    await work()
    return time.monotonic() - began


async def measure_writer() -> None:
    names = [f"w-{number}" for number in range(DRAINED)]
    drain = NodeUpdate(state="DRAIN", reason="bench")
    async with bench_of(DRAINED) as bench:
        client, everything = bench.client, [hostlist(0, DRAINED)]
        writer = NodeWriter(client)
        running = asyncio.create_task(writer.run())

        async def back() -> None:
            await client.send(requests.update_nodes(everything, NodeUpdate(state="UNDRAIN")))

        async def gathered() -> None:
            await asyncio.gather(*(writer.update(name, drain) for name in names))

        bare, ours = [], []
        for _ in range(RUNS):
            request = requests.update_nodes(everything, drain)
            bare.append(await timed(lambda request=request: client.send(request)))  # type: ignore[misc]
            await back()
            ours.append(await timed(gathered))
            await back()
        running.cancel()
        await asyncio.wait([running])
    took, floor = min(ours) * 1000, min(bare) * 1000
    what = f"{DRAINED:,} drains, {writer.calls / RUNS:g} calls of the writer"
    show(what, f"{took:.0f} ms", floor, "ms for a bare bulk call", ratio=took / floor)


# --- What is printed -----------------------------------------------------------------------


def show(what: str, value: str, floor: float, unit: str, *, ratio: float | None = None) -> None:
    times = "" if ratio is None else f", ratio {ratio:.1f}"
    print(f"{what:<46}{value:>30}  floor {floor:.3g} {unit}{times}", flush=True)


def daemons(spent: Spent) -> str:
    return f"{spent.theirs_a_second:.0f} ms/s of Slurm's"


def show_rest(size: int, spent: Spent, sender: Counted, floor: Floor) -> None:
    least = floor.poll * len(sender.calls)
    rate = len(sender.calls) / spent.seconds
    value = f"{spent.ours_a_second:.1f} ms/s, {daemons(spent)}"
    show(
        f"{size:,} nodes at rest: CPU, {rate:.1f} calls/s",
        value,
        least / spent.seconds * 1000,
        "ms/s for as many bare polls",
        ratio=spent.ours / least,
    )


def show_busy(size: int, spent: Spent, sender: Counted, floor: Floor) -> None:
    lists, polls = sender.calls.count(True), sender.calls.count(False)
    least = floor.decoding * lists + floor.poll * polls
    value = f"{spent.ours_a_second:.0f} ms/s, {daemons(spent)}"
    show(
        f"{size:,} nodes, 1 %/s changing: CPU, {lists} lists",
        value,
        least / spent.seconds * 1000,
        "ms/s for bare calls and decoding",
        ratio=spent.ours / least,
    )


def show_lags(size: int, lags: Lags, floor: Floor) -> None:
    worst, mean = max(lags.seen), sum(lags.seen) / len(lags.seen)
    show(
        f"{size:,} nodes, 1 %/s changing: lag",
        f"mean {mean:.2f} s, worst {worst:.2f} s",
        floor.whole,
        "s for a bare GET",
        ratio=worst / floor.whole,
    )


async def measure() -> None:
    for size in SIZES:
        await measure_mirror(size)
    await measure_writer()


if __name__ == "__main__":
    asyncio.run(measure())
