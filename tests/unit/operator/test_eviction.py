"""Workers are evicted when their nodes are drained; that somebody asked is noted on them."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from windlass.api import labels
from windlass.kube import kinds, requests
from windlass.kube.admission import Allowed, Decision, Denied, Review
from windlass.kube.wire import Anything, Document
from windlass.operator import owned
from windlass.operator.eviction import handler
from windlass.operator.world import RESOURCES
from windlass.testing.fake_kube import FakeKube
from windlass.values.key import Key

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
BUSY = {labels.NAME: "slurmd", labels.POD_PROTECT: "true"}
SPEC = {"containers": [{"name": "c", "image": "i"}]}


def review(*, dry_run: bool = False, name: str = "w-0", **more: Any) -> Review:
    return Review(
        uid="u",
        operation="CREATE",
        group="policy",
        version="v1",
        kind="Eviction",
        name=name,
        namespace="slurm",
        subresource="eviction",
        user="drainer",
        groups=(),
        dry_run=dry_run,
        new={"metadata": {"name": name, "namespace": "slurm"}, **more},
        old=None,
    )


def noted(asked: Review, **metadata: Any) -> str | None:
    """The annotation after the request, which passed."""
    said, annotation = judged(asked, (), **metadata)
    assert said == Allowed()
    return annotation


def judged(
    asked: Review, states: tuple[str, ...], *, protects: bool = True, **metadata: Any
) -> tuple[Decision, str | None]:
    async def main() -> tuple[Decision, str | None]:
        kube = FakeKube(lambda: NOW, RESOURCES)
        namespace = {"metadata": {"name": "slurm"}}
        await kube.send(requests.create(kinds.NAMESPACE, "", namespace, Anything))
        wish = {"controllerRef": {"name": "slurm"}, "workloadDisruptionProtection": protects}
        of = {"metadata": {"name": "w"}, "spec": wish}
        made = await kube.send(requests.create(kinds.NODE_SET, "slurm", of, Document))
        owner = {**owned.reference(made.metadata, kinds.NODE_SET), "controller": True}
        body = {"metadata": {"name": "w-0", "ownerReferences": [owner], **metadata}, "spec": SPEC}
        await kube.send(requests.create(kinds.POD, "slurm", body, Anything))
        shown = [{"type": f"SlurmNodeState{state}", "status": "True"} for state in states]
        status = {"status": {"conditions": shown}}
        at = Key("slurm", "w-0")
        await kube.send(requests.merge_patch(kinds.POD, at, status, Anything, "status"))
        said = handler(kube, lambda: NOW)(asked)
        assert not isinstance(said, Allowed | Denied)
        decision = await said
        found = await kube.send(requests.get(kinds.POD, at, Document))
        return decision, (found.metadata.annotations or {}).get(labels.EVICTION_ASKED)

    return asyncio.run(main())


WORKER = {labels.NAME: "slurmd"}


@pytest.mark.parametrize(
    ("states", "waits"),
    [
        (("Idle",), True),
        (("Idle", "Drain"), False),
        (("Down", "NotResponding"), False),
        ((), False),
    ],
    ids=["takes jobs", "drained", "down", "Slurm does not know it"],
)
def test_an_idle_worker_goes_when_no_job_can_start_there(
    states: tuple[str, ...], waits: bool
) -> None:
    said, annotation = judged(review(), states, labels=WORKER)

    assert isinstance(said, Denied) == waits
    assert (annotation is not None) == waits
    if isinstance(said, Denied):
        assert said.later
        assert "ask again" in said.message


def test_a_trial_is_answered_truly_and_leaves_no_note() -> None:
    said, annotation = judged(review(dry_run=True), ("Idle",), labels=WORKER)

    assert (isinstance(said, Denied), annotation) == (True, None)


def test_workers_of_a_set_without_protection_go_at_once() -> None:
    said, annotation = judged(review(), ("Idle",), labels=WORKER, protects=False)

    assert (said, annotation) == (Allowed(), None)


def test_it_is_noted_on_a_worker_with_jobs() -> None:
    assert noted(review(), labels=BUSY) == "2026-07-01T12:00:00Z"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("2026-07-01T11:59:30Z", "2026-07-01T11:59:30Z"),
        ("2026-07-01T11:58:00Z", "2026-07-01T12:00:00Z"),
        ("nonsense", "2026-07-01T12:00:00Z"),
    ],
)
def test_who_asks_again_and_again_is_noted_now_and_then(before: str, after: str) -> None:
    assert noted(review(), labels=BUSY, annotations={labels.EVICTION_ASKED: before}) == after


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        (review(), {labels.NAME: "slurmd"}),
        (review(), {labels.NAME: "other", labels.POD_PROTECT: "true"}),
        (review(dry_run=True), BUSY),
        (review(deleteOptions={"dryRun": ["All"]}), BUSY),
        (review(name="gone"), BUSY),
    ],
    ids=["no jobs", "no worker", "dry run", "dry run by its options", "gone"],
)
def test_nothing_is_noted_otherwise(asked: Review, given: dict[str, str]) -> None:
    assert noted(asked, labels=given) is None


def test_a_server_that_does_not_answer_stops_no_eviction() -> None:
    class Silent:
        async def send(self, request: Any) -> Any:
            raise TimeoutError

    said = handler(Silent(), lambda: NOW)(review())
    assert not isinstance(said, Allowed | Denied)

    async def main() -> None:
        assert await said == Allowed()

    asyncio.run(main())
