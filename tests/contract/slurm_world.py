"""One Slurm under test, the real one or the fake, spoken to in one version of the REST API."""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from windlass.local.waiting import wait_for
from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.client import Client
from windlass.slurm.specs import JobSpec
from windlass.slurm.tokens import StaticToken
from windlass.slurm.transport import Address, HttpTransport
from windlass.slurm.versions import Version
from windlass.testing.fake_cluster import FakeCluster
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.slurm import RealSlurm

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
        wait_for(condition, "the test's condition", within=20)


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
    fake = FakeSlurm(FakeCluster(now=time.time))
    fake.bad_tokens.add("forged")
    fake.plain_users.add("plain")
    with asyncio.Runner() as runner:
        yield World(
            runner,
            *(
                Client(fake, StaticToken(token), version)
                for token in ("root", "forged", "plain", "")
            ),
        )


@contextmanager
def real_world(slurm: RealSlurm, version: Version) -> Iterator[World]:
    token = slurm.token()
    forged = f"{token.rpartition('.')[0]}.bm90LXRoZS1rZXk"
    with asyncio.Runner() as runner:
        http = HttpTransport(Address.parse(slurm.url))
        tokens = (token, forged, slurm.token("nobody"), "")
        yield World(runner, *(Client(http, StaticToken(each), version) for each in tokens))
        runner.run(http.close())
