"""One Slurm under test, the real one or the fake, spoken to in one version of the REST API."""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

from windlass.local.waiting import wait_for
from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.client import Client
from windlass.slurm.specs import JobSpec
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import Address, HttpTransport, Transport
from windlass.slurm.versions import Version
from windlass.testing.fake_accounting import FakeAccounting
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.slurm import RealSlurm
from windlass.testing.slurm_accounting import AccountedSlurm

T = TypeVar("T")
NEWEST: Final = max(Version)
_NUMBERS: Final = itertools.count()


@dataclass(frozen=True, slots=True)
class World:
    runner: asyncio.Runner
    client: Client
    forged: Client
    """With a token that is signed with another key."""
    plain: Client
    """With the token of a user who is no administrator."""
    nameless: Client
    """With no token."""
    look: Callable[[], object] = field(default=lambda: None, kw_only=True)
    """Lets a Slurm that has no time of its own look at its queue."""
    split: Callable[[int, int], object] = field(default=lambda _array, _task: None, kw_only=True)
    """Gives a task of an array a record of its own."""

    @property
    def version(self) -> Version:
        return self.client.version

    def send(self, request: Request[T]) -> T:
        """Ask in the version under test."""
        return self.runner.run(self.client.send(request))

    def prepare(self, request: Request[T]) -> T:
        """Ask in the newest version: for what the test needs and an old version cannot do."""
        newest = Client(self.client.transport, self.client.tokens, NEWEST)
        return self.runner.run(newest.send(request))

    def send_as(self, client: Client, request: Request[T]) -> T:
        return self.runner.run(client.send(request))

    def nodes(self, count: int, *, cpus: int = 4) -> list[str]:
        """New external nodes that no other test has."""
        stem = f"n{next(_NUMBERS)}"
        line = f"NodeName={stem}-[0-{count - 1}] CPUs={cpus} RealMemory=1000"
        self.prepare(requests.create_nodes(f"{line} State=EXTERNAL NodeAddr=127.0.0.1"))
        return [f"{stem}-{index}" for index in range(count)]

    def running_job(self, nodes: list[str], **fields: object) -> int:
        """An external job that holds these nodes."""
        job_id = self.prepare(requests.submit(external_job(nodes, **fields))).job_id
        self.wait(lambda: self.prepare(requests.job(job_id)).state.running)
        return job_id

    def wait(self, condition: Callable[[], bool]) -> None:
        def met() -> bool:
            self.look()
            return condition()

        wait_for(met, "the test's condition", within=20)


def external_job(nodes: list[str], **fields: object) -> JobSpec:
    base: dict[str, object] = {
        "name": "external",
        "external": True,
        "directory": "/tmp",
        "partition": "all",
        "nodes": str(len(nodes)),
        "required_nodes": tuple(nodes),
        "cpus_per_task": 1,
    }
    return JobSpec(**{**base, **fields})  # type: ignore[arg-type]


@contextmanager
def fake_world(version: Version) -> Iterator[World]:
    fake = fake_slurm()
    cluster = fake.cluster

    def split(array: int, task: int) -> object:
        return cluster.split(cluster.jobs[array], task)

    with asyncio.Runner() as runner:
        spoken = clients(fake, FAKE_TOKENS, version)
        yield World(runner, *spoken, look=cluster.look, split=split)


@contextmanager
def real_world(slurm: RealSlurm, version: Version) -> Iterator[World]:
    def split(array: int, task: int) -> object:
        return slurm.scontrol("update", f"JobId={array}_{task}", "Comment=differs")

    with asyncio.Runner() as runner:
        http = HttpTransport(Address.parse(slurm.url))
        yield World(runner, *clients(http, real_tokens(slurm), version), split=split)
        runner.run(http.close())


FAKE_TOKENS: Final = ("root", "forged", "plain", "")


def fake_slurm() -> FakeSlurm:
    fake = FakeSlurm(FakeCluster(now=time.time, name="contract"))
    fake.bad_tokens.add("forged")
    fake.plain_users.add("plain")
    return fake


def real_tokens(slurm: RealSlurm) -> tuple[str, ...]:
    token = slurm.token()
    forged = f"{token.rpartition('.')[0]}.bm90LXRoZS1rZXk"
    return (token, forged, slurm.token("daemon"), "")


def clients(transport: Transport, tokens: Iterable[str], version: Version) -> list[Client]:
    return [Client(transport, StaticToken(token), version) for token in tokens]


# --- With accounting -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outage:
    """Something that can be put to rest and woken."""

    rest: Callable[[], None]
    wake: Callable[[], None]


@dataclass(frozen=True, slots=True)
class Accounted:
    """A Slurm with slurmdbd, the real one or the fake."""

    transport_to: Callable[[], Transport]
    tokens: Callable[[], tuple[str, ...]]
    slurmctld_port: int
    outages: Mapping[str, Outage]

    @contextmanager
    def world(self, version: Version) -> Iterator[World]:
        with asyncio.Runner() as runner:
            transport = self.transport_to()
            yield World(runner, *clients(transport, self.tokens(), version))
            runner.run(transport.close())


def fake_accounted() -> Accounted:
    fake = fake_slurm()
    books = fake.accounting = FakeAccounting(fake.cluster)

    def turned(*, down: bool) -> None:
        books.down = down

    outage = Outage(lambda: turned(down=True), lambda: turned(down=False))
    outages = {"database": outage, "slurmdbd": outage}
    return Accounted(lambda: fake, lambda: FAKE_TOKENS, books.port, outages)


def real_accounted(server: AccountedSlurm) -> Accounted:
    slurm = server.slurm
    outages = {
        "database": Outage(server.database.rest, server.database.wake),
        "slurmdbd": Outage(server.rest_slurmdbd, server.wake_slurmdbd),
    }
    return Accounted(
        lambda: HttpTransport(Address.parse(slurm.url)),
        lambda: real_tokens(slurm),
        slurm.slurmctld_port,
        outages,
    )
