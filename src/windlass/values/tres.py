"""Slurm's trackable resources: an allocation, a limit or what is left, and whether it fits.

Memory is in MiB, as Slurm keeps it. GPUs of a type are also counted among all GPUs, as Slurm does
where it tracks both. That is for counting: a request with both is refused, so write it with Gres.

>>> node = Tres.parse("cpu=8,mem=16G,gres/gpu:h100=4")
>>> used = Tres.parse("cpu=2,mem=512M,gres/gpu:h100=1")
>>> print(node - used)
cpu=6,mem=15872M,gres/gpu=3,gres/gpu:h100=3
>>> (node - used).covers(Tres.parse("cpu=4,gres/gpu=3"))
True
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from windlass.values import amount
from windlass.values.gres import Gres
from windlass.values.malformed import Malformed

_NONE: Final = frozenset({"", "N/A", "(null)"})
_ORDER: Final = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")


@dataclass(frozen=True, slots=True)
class Tres:
    """Amounts by name in one order, so that equal amounts are equal; made by `of` and `parse`."""

    amounts: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, amounts: Mapping[str, int]) -> "Tres":
        """Amounts by name: `cpu`, `mem` in MiB, `gres/gpu:h100`, ..."""
        return _canonical({**_totals(amounts), **amounts})

    @classmethod
    def of_gres(cls, several: Iterable[Gres]) -> "Tres":
        """What these resources take; what is never used up takes nothing."""
        taken = (cls.of({gres.tres: gres.count}) for gres in several if gres.consumed)
        return sum(taken, start=cls())

    @classmethod
    def parse(cls, text: str) -> "Tres":
        """Read `cpu=4,mem=16G,node=1,gres/gpu=2`."""
        if text in _NONE:
            return cls()
        amounts: dict[str, int] = {}
        position = 0
        for part in text.split(","):
            name, number = _parse_part(text, position, part)
            amounts[name] = amounts.get(name, 0) + number
            position += len(part) + 1
        return cls.of(amounts)

    def amount(self, name: str) -> int:
        return dict(self.amounts).get(name, 0)

    def covers(self, wanted: "Tres") -> bool:
        """Whether all that is wanted is here."""
        return all(self.amount(name) >= number for name, number in wanted.amounts)

    def __add__(self, other: "Tres") -> "Tres":
        sums = dict(self.amounts)
        for name, number in other.amounts:
            sums[name] = sums.get(name, 0) + number
        return _canonical(sums)

    def __sub__(self, other: "Tres") -> "Tres":
        """What is left; less than nothing where more is used than there is."""
        return self + Tres(tuple((name, -number) for name, number in other.amounts))

    def __str__(self) -> str:
        return ",".join(f"{name}={_print(name, number)}" for name, number in self.amounts)


def _canonical(amounts: Mapping[str, int]) -> Tres:
    """Without zeros, except a total beside its types: left out, it would be read as their sum."""
    kept = (
        (name, number) for name, number in amounts.items() if number or name in _totals(amounts)
    )
    return Tres(tuple(sorted(kept, key=_place)))


def _totals(amounts: Mapping[str, int]) -> dict[str, int]:
    """`gres/gpu` for every `gres/gpu:h100`."""
    totals: dict[str, int] = {}
    for name, number in amounts.items():
        total, colon, _ = name.partition(":")
        if colon and number and name.startswith("gres/"):
            totals[total] = totals.get(total, 0) + number
    return totals


def _place(item: tuple[str, int]) -> tuple[int, str]:
    name = item[0]
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)


def _parse_part(text: str, position: int, part: str) -> tuple[str, int]:
    name, equals, number = part.partition("=")
    if not name or not equals:
        problem = f"{part!r} is no resource and amount"
        raise Malformed("TRES", text, position, problem, "write as in cpu=4,mem=16G")
    try:
        return name, amount.mebibytes(number) if name == "mem" else amount.count(number)
    except Malformed as error:
        at = position + len(name) + 1
        raise Malformed("TRES", text, at, error.problem, error.fix) from None


def _print(name: str, number: int) -> str:
    return amount.print_mebibytes(number) if name == "mem" else str(number)
