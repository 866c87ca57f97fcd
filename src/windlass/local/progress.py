"""Telling a waiting person what is being done, how far it is, and where the time went."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@dataclass(slots=True)
class Step:
    """One piece of work; `far(done, of)` moves its bar, `note(text)` says what it is at."""

    title: str
    _display: "Display"
    _task: int | None = None

    def far(self, done: int, of: int) -> None:
        self._display.move(self, done, of)

    def note(self, text: str) -> None:
        self._display.describe(self, text)


@dataclass(slots=True)
class Display:
    """Live bars on a terminal; one plain line at the start and end of a step anywhere else."""

    console: Console
    _bars: Progress | None = None
    _open: int = 0
    _lock: Lock = field(default_factory=Lock)
    _spent: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def step(self, title: str) -> Iterator[Step]:
        step = self._begin(title)
        started = time.monotonic()
        try:
            yield step
        except BaseException:
            self._end(step, "failed", time.monotonic() - started)
            raise
        self._end(step, "done", time.monotonic() - started)

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)

    def summary(self, at_least: float = 1.0) -> str:
        """Where the time went, longest first; steps that ran side by side overlap."""
        rows = sorted(self._spent, key=lambda row: -row[1])
        return "\n".join(f"  {spent:7.1f} s  {title}" for title, spent in rows if spent >= at_least)

    def move(self, step: Step, done: int, of: int) -> None:
        if self._bars is not None and step._task is not None:
            self._bars.update(step._task, completed=done, total=of)  # type: ignore[arg-type]

    def describe(self, step: Step, text: str) -> None:
        if self._bars is not None and step._task is not None:
            self._bars.update(step._task, note=text)  # type: ignore[arg-type]

    def _begin(self, title: str) -> Step:
        step = Step(title, self)
        with self._lock:
            if not self.console.is_terminal:
                self.say(f"-> {title}")
                return step
            if self._bars is None:
                self._bars = Progress(
                    SpinnerColumn(),
                    TextColumn("{task.description}"),
                    BarColumn(bar_width=24),
                    TimeElapsedColumn(),
                    TextColumn("{task.fields[note]}"),
                    console=self.console,
                    transient=True,
                )
                self._bars.start()
            self._open += 1
            step._task = self._bars.add_task(title, total=None, note="")
        return step

    def _end(self, step: Step, how: str, spent: float) -> None:
        with self._lock:
            self._spent.append((step.title, spent))
            if self._bars is not None and step._task is not None:
                self._bars.remove_task(step._task)  # type: ignore[arg-type]
                self._open -= 1
                if self._open == 0:
                    self._bars.stop()
                    self._bars = None
            mark = "ok" if how == "done" else how
            self.say(f"{mark:>6}  {step.title} ({spent:.1f} s)")
