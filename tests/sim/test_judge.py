"""The judge finds what is wrong: operators that were broken on purpose do not get by."""

import itertools
from collections.abc import Callable
from typing import Any, Final

import pytest

from tests.sim.simulate import simulate
from windlass.kube.applying import Rendered, apply_if_different
from windlass.operator import slurm_writes
from windlass.operator.executor import MANAGER, Executor
from windlass.operator.slurms.link import Link
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers import worker
from windlass.operator.workers.phases import drain, retire, update
from windlass.values.key import Key

WITHIN: Final = 60
"""Seeds."""

Break = Callable[[pytest.MonkeyPatch], None]


def takes_busy_workers(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Seen, "free", lambda self, node: node in self.nodes)


def goes_on_in_silence(patch: pytest.MonkeyPatch) -> None:
    """What was read last counts for ever."""
    last: dict[Key, Seen | None] = {}
    seen = Link.seen

    def remembered(link: Link) -> Seen | None:
        last[link.of] = seen(link) or last.get(link.of)
        return last[link.of]

    async def stale(link: Link) -> Seen | None:
        return remembered(link)

    patch.setattr(Link, "seen", remembered)
    patch.setattr(Link, "fresh", stale)


def takes_all_drains_for_its_own(patch: pytest.MonkeyPatch) -> None:
    for module in (worker, drain, slurm_writes):
        patch.setattr(module, "ours", bool)


def updates_all_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(update, "budget", lambda course: len(course.workers))


def never_gives_back(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(drain, "_returns", lambda *_: False)


def never_lets_go(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(retire, "_retired", lambda *_, **_more: ())


def writes_the_same_again(patch: pytest.MonkeyPatch) -> None:
    async def show(self: Executor, subject: Any, status: Any, live: Any) -> None:
        rendered = Rendered(subject.kind, _named(subject, status), "status")
        await apply_if_different(self._client, rendered, None, MANAGER)

    patch.setattr(Executor, "show", show)


def _named(subject: Any, status: Any) -> dict[str, Any]:
    at = subject.metadata
    return {"metadata": {"name": at.name, "namespace": at.namespace}, "status": status}


@pytest.mark.parametrize(
    ("broken", "verdict"),
    [
        (takes_busy_workers, "in which job"),
        (goes_on_in_silence, "does not answer"),
        (takes_all_drains_for_its_own, "which an administrator had set to"),
        (updates_all_at_once, "an update took"),
        (never_gives_back, "is left DRAIN"),
        (never_lets_go, "are wanted"),
        (writes_the_same_again, "writes although all was right"),
    ],
)
def test_a_broken_operator_is_found_out(
    broken: Break, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    found = (simulate(seed, 40).violation or "" for seed in itertools.count())

    assert any(verdict in each for each in itertools.islice(found, WITHIN))
