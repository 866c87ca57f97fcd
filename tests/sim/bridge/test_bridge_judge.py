"""The judge finds what is wrong: bridges that were broken on purpose do not get by."""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.sim.bridge.simulate import simulate
from windlass.bridge import deciding, feasible, node_plan, observe, standing
from windlass.bridge.ground import Ground
from windlass.bridge.link import Link, Seen
from windlass.bridge.observed import Observed, SlurmSide
from windlass.bridge.phases import bind, gone, release
from windlass.bridge.plan import EndJob, Seat
from windlass.bridge.sharing import Share, share
from windlass.bridge.standing import Standing
from windlass.slurm.model import Job

WITHIN: Final = 200
"""Seeds."""

Break = Callable[[pytest.MonkeyPatch], None]


def submits_twice(patch: pytest.MonkeyPatch) -> None:
    """It does not look whether a job is on its way."""
    patch.setattr(Link, "submit_in", lambda *_: 0.0)


def binds_before_the_job_runs(patch: pytest.MonkeyPatch) -> None:
    """To any node that there is."""
    waiting = deciding._waiting

    def hasty(seen: Observed, gang: Any, slurm: SlurmSide, at: Standing, stages: Any) -> Any:
        if at.current is None or at.current.job.nodes:
            return waiting(seen, gang, slurm, at, stages)
        seats = tuple(
            Seat(pod, at.current.job.id, node)
            for pod, node in zip(bind.unbound(seen), ("n0", "n1", "n2"), strict=False)
        )
        return deciding._plan([*stages, seats], 1.0)

    patch.setattr(deciding, "_waiting", hasty)


def releases_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(release, "_is_free", lambda pod, *_: pod.metadata.deletion_timestamp is not None)


def ends_too_early(patch: pytest.MonkeyPatch) -> None:
    """A pod that is being deleted counts for nothing any more."""
    patch.setattr(standing, "occupies", lambda pod, _: pod.metadata.deletion_timestamp is None)


def forgets_to_end(patch: pytest.MonkeyPatch) -> None:
    def never(_: Observed, __: Standing) -> Iterator[EndJob]:
        return iter(())

    patch.setattr(deciding, "end", never)


def forgets_to_delete(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(deciding, "gone", lambda *_: ())


def crowds(patch: pytest.MonkeyPatch) -> None:
    """It binds beside pods whose job has ended."""
    patch.setattr(observe, "crowded", lambda *_: False)


def takes_others_for_its_own(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(node_plan, "_is_ours", lambda *_, **__: True)


def gives_the_first_devices(patch: pytest.MonkeyPatch) -> None:
    """Whichever they are that Slurm gave."""

    def first(*given: Any) -> dict[int, Share]:
        return {index: _from_the_first(one) for index, one in share(*given).items()}

    patch.setattr(bind, "share", first)


def _from_the_first(one: Share) -> Share:
    moved = (replace(each, numbers=(1 << each.numbers.bit_count()) - 1) for each in one.devices)
    return replace(one, devices=tuple(moved))


def overlooks_what_kubelet_has(patch: pytest.MonkeyPatch) -> None:
    """To Slurm any GPU will do."""
    patch.setattr(feasible, "has_all", lambda *_: True)
    patch.setattr(Ground, "lack", lambda *_: None)


def undoes_drains(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(node_plan, "_drained_by_us", lambda _: True)


def deletes_in_doubt(patch: pytest.MonkeyPatch) -> None:
    """A pod goes whose job cannot be seen, or is not known to run."""
    reason = gone._reason

    def lost(number: int, job: Job | None) -> Any:
        return reason(job) if job is not None and job.ends_at is not None else None

    patch.setattr(gone, "_lost_its_job", lost)


def goes_on_in_silence(patch: pytest.MonkeyPatch) -> None:
    """What was read last counts for ever."""
    seen, last = Link.seen, dict[str, Seen | None]()

    def remembered(link: Link) -> Seen | None:
        last[link._cluster] = seen(link) or last.get(link._cluster)
        return last[link._cluster]

    patch.setattr(Link, "seen", remembered)


@pytest.mark.parametrize(
    ("broken", "verdict"),
    [
        (submits_twice, "beside job"),
        (binds_before_the_job_runs, "does not run"),
        (releases_too_early, "which still runs"),
        (ends_too_early, "ended job"),
        (forgets_to_end, "without faults"),
        (forgets_to_delete, "had ended"),
        (crowds, "use the same of"),
        (gives_the_first_devices, "have gpu-0 of n1"),
        (overlooks_what_kubelet_has, "has 4 CPUs and 2 devices"),
        (takes_others_for_its_own, "which belongs to"),
        (undoes_drains, "which an administrator had drained"),
        (deletes_in_doubt, "whose job"),
        (goes_on_in_silence, "into the silence"),
    ],
)
def test_a_broken_bridge_is_found_out(
    broken: Break, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    found = (simulate(seed, 20).violation or "" for seed in itertools.count())

    assert any(verdict in each for each in itertools.islice(found, WITHIN))


def test_a_seed_is_always_the_same_run() -> None:
    """In another process, too, where sets have another order."""
    told = {_transcript(seed=1, order=order) for order in ("1", "2")}
    assert told == {simulate(1, 20).transcript + "\n"}


def _transcript(seed: int, order: str) -> str:
    command = [sys.executable, "-m", "tests.sim.bridge", str(seed), "20"]
    settings = {**os.environ, "PYTHONHASHSEED": order}
    return subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout
