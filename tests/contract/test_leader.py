"""Leader election between real processes over a real API server."""

import asyncio
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.contract.kube_access import as_admin
from windlass.kube import kinds, requests
from windlass.kube.client import Client
from windlass.kube.leader import Lease, Taken
from windlass.kube.leases import ClientLeases
from windlass.local.waiting import wait_for
from windlass.testing.kube import RealKube
from windlass.values.key import Key


@dataclass(frozen=True)
class Candidate:
    """A process of our own and what it has said."""

    process: subprocess.Popen[bytes]
    said: Path

    def lines(self, word: str) -> list[float]:
        rows = [line.split() for line in self.said.read_text().splitlines()]
        return [float(row[1]) for row in rows if len(row) == 2 and row[0] == word]

    def wait_until_it(self, word: str, after: float = 0.0) -> float:
        def found() -> list[float]:
            return [when for when in self.lines(word) if when > after]

        return wait_for(found, f"a process says {word}", within=20, every=0.005)[0]


class Election:
    """Candidates for one Lease, all ended with the test."""

    def __init__(self, kube: RealKube, namespace: str, folder: Path) -> None:
        self.kube, self.namespace, self.folder = kube, namespace, folder
        self.candidates: list[Candidate] = []

    def stand(self, identity: str) -> Candidate:
        said = self.folder / identity
        place = (str(self.kube.kubeconfig), self.namespace, identity)
        with said.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.contract.candidate", *place], stdout=out
            )
        self.candidates.append(Candidate(process, said))
        return self.candidates[-1]

    def lease(self) -> dict[str, object]:
        found = self.kube.kubectl.get("lease", "election", "-n", self.namespace)
        spec: dict[str, object] = found["spec"]
        return spec


@pytest.fixture
def election(kube: RealKube, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Election]:
    namespace = f"election-{tmp_path.name.replace('_', '-').lower()}"[:60].rstrip("-")
    kube.kubectl("create", "namespace", namespace)
    made = Election(kube, namespace, tmp_path)
    yield made
    for candidate in made.candidates:
        candidate.process.kill()
        candidate.process.wait()


def test_a_paused_leader_is_replaced_and_never_acts_after_it_wakes(election: Election) -> None:
    first = election.stand("first")
    first.wait_until_it("act")
    second = election.stand("second")

    last = first.wait_until_it("act", after=time.monotonic())
    first.process.send_signal(signal.SIGSTOP)  # right after an act: it sleeps
    taken = second.wait_until_it("act")
    assert taken - last > 3 - 0.25  # not before the lease has run out
    first.process.send_signal(signal.SIGCONT)
    assert first.process.wait(timeout=10) == 0

    assert max(first.lines("act")) == last
    assert first.lines("lost")
    assert second.lines("act")[-1] > first.lines("lost")[0] - 1
    assert election.lease()["holderIdentity"] == "second"
    assert election.lease()["leaseTransitions"] == 1


def test_a_leader_that_ends_in_order_hands_over_at_once(election: Election) -> None:
    first = election.stand("first")
    first.wait_until_it("act")
    second = election.stand("second")
    first.process.send_signal(signal.SIGINT)
    assert first.process.wait(timeout=10) == 0
    stopped = first.lines("stopped")[0]
    assert second.wait_until_it("act") - stopped < 2.5
    assert max(first.lines("act")) < min(second.lines("act"))


def test_a_killed_leader_is_replaced_when_its_lease_has_run_out(election: Election) -> None:
    first = election.stand("first")
    first.wait_until_it("act")
    second = election.stand("second")
    last = first.wait_until_it("act", after=time.monotonic())
    first.process.kill()
    assert 3 - 0.25 < second.wait_until_it("act") - last < 8


def test_only_the_current_version_may_be_replaced(kube: RealKube) -> None:
    async def main() -> None:
        async with Client(as_admin(kube)) as client:
            leases = ClientLeases(client, Key("default", "versions"))
            assert await leases.read() is None
            made = await leases.create(Lease("a", 15))
            with pytest.raises(Taken):
                await leases.create(Lease("b", 15))
            renewed = await leases.replace(replace(made, transitions=1))
            with pytest.raises(Taken):
                await leases.replace(made)
            assert await leases.read() == renewed

    asyncio.run(main())


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "deleted and made again"])
def test_a_lease_that_was_deleted_is_taken_and_not_made_by_renewing(
    kube: RealKube, again: bool
) -> None:
    """The server makes Leases by PUT, whatever version the PUT names, unless it names a uid."""
    key = Key("default", f"deleted-{again}".lower())

    async def main() -> None:
        async with Client(as_admin(kube)) as client:
            leases = ClientLeases(client, key)
            made = await leases.create(Lease("a", 15))
            await client.send(requests.delete(kinds.LEASE, key))
            theirs = await leases.create(Lease("b", 15)) if again else None
            with pytest.raises(Taken):
                await leases.replace(replace(made, transitions=1))
            assert await leases.read() == theirs
            if theirs is None:
                remade = await leases.replace(replace(made, uid=""))
                assert remade.uid != made.uid

    asyncio.run(main())
