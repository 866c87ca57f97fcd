import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from windlass.kube.certificates import Terms
from windlass.kube.rotation import Rotation, Stored, StoredMeanwhile
from windlass.kube.serving import Pair, Serving
from windlass.testing.virtual import clock, run

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
TERMS = Terms(
    names=("webhook.slurm.svc",),
    authority_life=timedelta(hours=12),
    leaf_life=timedelta(hours=3),
    overlap=timedelta(minutes=10),
)


class FakeStore:
    """A Secret under optimistic locking; everybody is slow enough to race."""

    def __init__(self) -> None:
        self.stored = Stored({})
        self.trusted = b""
        self.writes = 0
        self.refusals = 0
        self.error: Exception | None = None

    async def read(self) -> Stored:
        await asyncio.sleep(0.1)
        if self.error is not None:
            raise self.error
        return self.stored

    async def write(self, stored: Stored) -> None:
        await asyncio.sleep(0.1)
        if stored.version != self.stored.version:
            self.refusals += 1
            raise StoredMeanwhile
        self.writes += 1
        self.stored = Stored(stored.data, str(self.writes))

    async def trust(self, bundle: bytes) -> None:
        await asyncio.sleep(0.1)
        self.trusted = bundle


def wall_clock() -> datetime:
    return NOON + timedelta(seconds=clock())


def rotation(store: FakeStore, serving: Serving) -> Rotation:
    return Rotation(store, serving, TERMS, wall_clock)


def issuers(bundle: bytes) -> set[bytes]:
    return {part for part in bundle.split(b"-----BEGIN CERTIFICATE-----") if part.strip()}


def test_two_replicas_agree_on_one_certificate() -> None:
    async def main() -> None:
        store, one, other = FakeStore(), Serving(), Serving()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(rotation(store, one).look())
            tasks.create_task(rotation(store, other).look())
        assert (store.writes, store.refusals) == (1, 1)
        assert one._shown == other._shown == Pair.from_secret(store.stored.data)
        assert store.trusted == store.stored.data["ca.crt"]

    run(main())


def test_what_is_shown_was_trusted_before_through_many_rotations() -> None:
    async def main() -> None:
        store = FakeStore()
        shown: list[Pair] = []
        trusted_before: list[set[bytes]] = []

        class Watching(Serving):
            def show(self, pair: Pair) -> bool:
                if super().show(pair):
                    shown.append(pair)
                    trusted_before.append(issuers(store.trusted))
                    return True
                return False

        async with asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(rotation(store, Watching()).run(lambda: None))
            await asyncio.sleep(36 * 3600)
            keeping.cancel()
        assert len(shown) >= 15
        assert len(set.union(*trusted_before)) >= 4  # several authorities came and went
        assert max(len(bundle) for bundle in trusted_before) == 2
        assert len(issuers(store.trusted)) <= 2

    run(main())


def test_a_silent_api_server_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        store, started = FakeStore(), asyncio.Event()
        store.error = ConnectionError("no route")
        async with asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(rotation(store, Serving()).run(started.set))
            await asyncio.sleep(30)
            assert not started.is_set()
            store.error = None
            await started.wait()
            assert clock() < 37
            keeping.cancel()

    run(main())
    assert "no route" in caplog.text
