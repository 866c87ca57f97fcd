"""A way to slurmrestd that passes every byte on and counts the calls."""

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

REQUEST: Final = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.1\r\n")
ANSWER: Final = re.compile(rb"HTTP/1\.[01] (\d{3})")
PARTICULAR: Final = re.compile(r"/slurm/v[\d.]+|\?.*")
"""What tells calls apart that are of one kind."""


@dataclass(frozen=True, slots=True)
class Call:
    what: str
    code: int


@dataclass(slots=True)
class Counting:
    """`port` is where the operator asks, `slurmrestd` where it is answered."""

    slurmrestd: int
    port: int = 0
    calls: list[Call] = field(default_factory=list)

    async def serve(self, started: threading.Event) -> None:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        async with server:
            await server.serve_forever()

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, on = await asyncio.open_connection("127.0.0.1", self.slurmrestd)
        asked: list[str] = []
        await asyncio.gather(
            self._passed(near, on, asked, REQUEST), self._passed(far, back, asked, ANSWER)
        )

    async def _passed(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        asked: list[str],
        pattern: re.Pattern[bytes],
    ) -> None:
        """The client never sends a second request before the first is answered."""
        try:
            while chunk := await source.read(1 << 18):
                if found := pattern.match(chunk):
                    self._note(found, asked)
                target.write(chunk)
                await target.drain()
        except ConnectionError:
            pass
        finally:
            target.close()

    def _note(self, found: re.Match[bytes], asked: list[str]) -> None:
        if found.re is REQUEST:
            method, path = found[1].decode(), found[2].decode()
            asked.append(f"{method} {PARTICULAR.sub('', path)}")
        elif asked:
            self.calls.append(Call(asked.pop(), int(found[1])))


def tally(calls: list[Call]) -> Counter[str]:
    return Counter(f"{each.what} {each.code}" for each in calls)


@contextmanager
def counting(slurmrestd: int) -> Iterator[Counting]:
    """In a thread, so that it does not wait for what else is measured."""
    proxy, started = Counting(slurmrestd), threading.Event()
    loop = asyncio.new_event_loop()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            try:
                runner.run(proxy.serve(started))
            except asyncio.CancelledError:
                return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield proxy
    finally:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        thread.join(5)
