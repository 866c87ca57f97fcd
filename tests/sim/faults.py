"""What goes wrong, and how it ends again."""

import asyncio
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, Protocol

from tests.sim.processes import Process, Processes
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import clock


class Silenced(Protocol):
    silent_since: float | None


class Powered(Protocol):
    """Who knows which nodes have lost their power."""

    lost: set[str]

    def lose(self, node: str) -> None: ...

    def restore(self, node: str, now: float) -> None: ...


class Stage(Protocol):
    """A cluster in which things go wrong."""

    kube: FakeKube
    slurm: FakeSlurm
    processes: Processes

    @property
    def rng(self) -> Random: ...

    @property
    def judge(self) -> Silenced: ...

    @property
    def kubelets(self) -> Powered: ...

    @property
    def nodes(self) -> Mapping[str, Any]: ...

    def later(self, seconds: float, what: Callable[[], str]) -> None:
        """Let a fault end by itself; what is called says what it did."""

    def end_faults(self) -> None: ...


Fault = Callable[[Stage], str | None]


def _leader(stage: Stage) -> Process | None:
    return stage.processes.alive[0] if stage.processes.alive else None


def kill_soon(stage: Stage) -> str | None:
    """Between two writes that nobody chose."""
    process = _leader(stage)
    if process is None or process.weather.dies_in is not None:
        return None
    process.weather.dies_in = stage.rng.randint(1, 6)
    process.weather.dies_after = stage.rng.random() < 0.5
    when = "after" if process.weather.dies_after else "before"
    return f"{process.name} will die {when} its write number {process.weather.dies_in}"


def kill_now(stage: Stage) -> str | None:
    process = _leader(stage)
    if process is None:
        return None
    process.kill()
    return None


def second(stage: Stage) -> str | None:
    """Two replicas, as in a rolling update of the program; then one again."""
    if stage.processes.wanted == 2:
        return None
    stage.processes.wanted = 2

    def end() -> str:
        stage.processes.wanted = 1
        if len(stage.processes.alive) > 1:
            stage.processes.alive[0].kill()
        return f"one {stage.processes.program.name} is wanted"

    stage.later(stage.rng.choice((5.0, 20.0)), end)
    return f"two {stage.processes.program.name}s are wanted"


def pause(stage: Stage) -> str | None:
    """A process that is stopped for a while, with what it has sent still on the way."""
    process = _leader(stage)
    if process is None or process.weather.paused is not None:
        return None
    gate = process.weather.paused = asyncio.Event()

    def end() -> str:
        process.weather.paused = None
        gate.set()
        return f"{process.name} goes on"

    stage.later(stage.rng.choice((1.0, 5.0, 17.0, 30.0)), end)
    return f"{process.name} is paused"


def hold(stage: Stage) -> str | None:
    """Between the look at the lease and the bytes of a write there is a gap that nothing closes."""
    process = _leader(stage)
    if process is None:
        return None
    process.weather.holds = stage.rng.choice((12.0, 40.0))
    process.weather.dies_in = stage.rng.randint(1, 10)
    return f"the next irrevocable write of {process.name} takes {process.weather.holds:g} s"


def failing(stage: Stage) -> str | None:
    process = _leader(stage)
    if process is None or process.weather.failing:
        return None
    process.weather.failing = part = stage.rng.choice((0.1, 0.5, 1.0))

    def end() -> str:
        process.weather.failing = 0.0
        return f"{process.name} is answered again"

    stage.later(stage.rng.choice((2.0, 8.0, 20.0)), end)
    return f"{part:.0%} of what {process.name} asks fails"


def late(stage: Stage) -> str | None:
    process = _leader(stage)
    if process is None or process.weather.late:
        return None
    process.weather.late = seconds = stage.rng.choice((0.3, 2.0, 10.0))

    def end() -> str:
        process.weather.late = 0.0
        return f"{process.name} hears of changes at once"

    stage.later(stage.rng.choice((5.0, 20.0)), end)
    return f"{process.name} hears of each change {seconds:g} s late"


def cut_watches(stage: Stage) -> str | None:
    stage.kube.cut()
    return "all watches are cut"


def compact(stage: Stage) -> str | None:
    """What happened while nobody watched is never told: only a new list shows it."""
    stage.kube.compact()
    stage.kube.compact()
    stage.kube.cut()
    return "all watches are cut, and history is forgotten"


def silence(stage: Stage) -> str | None:
    """slurmrestd away, slurmctld away, or both there and without an answer."""
    if stage.judge.silent_since is not None:
        return None
    how = stage.rng.choice(("cut", "down", "hung"))
    stage.judge.silent_since = clock()
    stage.slurm.cut, stage.slurm.down = how == "cut", how == "down"
    if how == "hung":
        stage.processes.hang()

    def end() -> str:
        stage.judge.silent_since = None
        stage.slurm.cut = stage.slurm.down = False
        stage.processes.unhang()
        return "Slurm answers again"

    stage.later(stage.rng.choice((2.0, 10.0, 45.0)), end)
    return f"Slurm is silent: {how}"


def lose_node(stage: Stage) -> str | None:
    node = stage.rng.choice(sorted(stage.nodes))
    if node in stage.kubelets.lost:
        return None
    stage.kubelets.lose(node)

    def end() -> str:
        stage.kubelets.restore(node, clock())
        return f"{node} has power again"

    stage.later(stage.rng.choice((5.0, 30.0, 90.0)), end)
    return f"{node} loses power"


def end_all(stage: Stage) -> None:
    """The weather clears up."""
    stage.end_faults()
    for process in stage.processes.alive:
        process.weather.dies_in, process.weather.holds = None, 0.0


FAULTS: Final[tuple[tuple[int, Fault], ...]] = (
    (6, kill_soon),
    (1, kill_now),
    (2, second),
    (2, pause),
    (2, hold),
    (3, failing),
    (3, late),
    (2, cut_watches),
    (1, compact),
    (5, silence),
    (3, lose_node),
)
"""How often each is chosen."""
