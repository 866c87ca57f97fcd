"""What is printed: one line for each thing measured, with its floor and its limit."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    what: str
    value: float | None
    """None: the operator does not do this."""
    unit: str = ""
    floor: float | None = None
    most: float | None = None
    """The limit of the value."""
    times: float | None = None
    """The limit of the ratio to the floor."""
    least_times: float | None = None
    """The same for what is better the more it is."""
    note: str = ""

    @property
    def ratio(self) -> float | None:
        return self.value / self.floor if self.value is not None and self.floor else None

    @property
    def kept(self) -> bool | None:
        """Whether the limit was; None where there is none."""
        if self.most is not None:
            return self.value is not None and self.value <= self.most
        if self.times is not None:
            return self.ratio is not None and self.ratio <= self.times
        if self.least_times is not None:
            return self.ratio is not None and self.ratio >= self.least_times
        return None

    def __str__(self) -> str:
        value = "not served" if self.value is None else f"{_number(self.value)} {self.unit}"
        parts = [f"{self.what:<50}{value:>14}", _floor(self), _limit(self), self.note]
        return "  ".join(part for part in parts if part.strip()).rstrip()


def show(row: Row) -> None:
    print(row, flush=True)


def percentile(samples: Sequence[float], part: float) -> float:
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def _floor(row: Row) -> str:
    if row.floor is None:
        return " " * 33
    ratio = "" if row.ratio is None else f"ratio {row.ratio:6.2f}"
    return f"floor {_number(row.floor):>8} {row.unit:<4} {ratio:<12}"


def _limit(row: Row) -> str:
    if row.kept is None:
        return ""
    least = row.times if row.times is not None else row.least_times
    bound = f"{least:g} times" if row.most is None else f"{row.most:g} {row.unit}"
    return f"limit {bound:<10} {'kept' if row.kept else 'MISSED'}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.2f}"
