"""Our hostlists beside Slurm's own: the same names, in the same order, folded the same way."""

import random
from collections.abc import Iterator

import pytest

from windlass.testing.slurm import RealSlurm
from windlass.values.hostlist import MAX_NAMES, expand, fold
from windlass.values.malformed import Malformed

SEED = 20260505
FENCE = "one-case-ends-here"


def a_number(chance: random.Random) -> str:
    number = chance.choice((chance.randrange(12), chance.randrange(95, 112)))
    return f"{number:0{chance.randint(1, 4)}d}"


def a_range(chance: random.Random) -> str:
    low = chance.choice((chance.randrange(12), chance.randrange(95, 105)))
    high = low + chance.choice((0, 1, 3, 9))
    return f"{low:0{chance.randint(1, 4)}d}-{high:0{chance.randint(1, 3)}d}"


def an_item(chance: random.Random) -> str:
    text = chance.choice(("a", "w-", "rack1n", "x.y", "n0", ""))
    for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 4))):
        parts = [
            chance.choice((a_number, a_range))(chance) for _ in range(chance.choice((1, 1, 2)))
        ]
        text += f"[{','.join(parts)}]" + chance.choice(("", "", "n", "-", ".dom", "7"))
    return text or "plain"


def hostlists(count: int) -> Iterator[str]:
    chance = random.Random(SEED)
    for _ in range(count):
        yield ",".join(an_item(chance) for _ in range(chance.randint(1, 4)))


def names(count: int) -> Iterator[list[str]]:
    """Runs, gaps, steps back, duplicates and changes of width."""
    chance = random.Random(SEED)
    for _ in range(count):
        some: list[str] = []
        for _ in range(chance.randint(1, 4)):
            stem, width = chance.choice(("a", "b-", "r1n", "a1b", "")), chance.randint(1, 3)
            number = chance.choice((0, 7, 8, 95, 98, 997))
            for _ in range(chance.randint(1, 7)):
                some.append(f"{stem}{number:0{width}d}{'x' * (chance.random() < 0.05)}")
                number = max(0, number + chance.choice((1, 1, 1, 1, 2, 0, -1)))
        yield some


def hostnames(slurm: RealSlurm, text: str) -> tuple[str, ...]:
    """What Slurm makes of a hostlist; of one it refuses, nothing, though scontrol ends with 0."""
    return tuple(slurm.scontrol("show", "hostnames", text).split())


def test_slurm_expands_as_we_do(slurm: RealSlurm) -> None:
    cases = list(hostlists(400))

    answer = hostnames(slurm, f",{FENCE},".join(cases))

    got = [tuple(case.split()) for case in " ".join(answer).split(FENCE)]
    assert dict(zip(cases, got, strict=True)) == {case: expand(case) for case in cases}


def test_slurm_folds_as_we_do_and_keeps_the_order(slurm: RealSlurm) -> None:
    cases = list(names(400))

    answer = slurm.scontrol("show", "hostlist", f",{FENCE},".join(map(",".join, cases)))

    got = [folded.strip(",\n") for folded in answer.split(FENCE)]
    assert got == [fold(case) for case in cases]


def test_fifteen_thousand_names_are_the_same_for_both(slurm: RealSlurm) -> None:
    chance = random.Random(SEED)
    some = [f"w-{number:05d}" for number in chance.sample(range(99_999), 15_000)]

    assert hostnames(slurm, fold(some)) == tuple(some)


@pytest.mark.parametrize(
    "text", ["a[1", "a[3-1]", "a[]", "a[1,]", "a[x]", "a[1-x]", "a[ 1-2 ]", "n[0-65536]"]
)
def test_what_slurm_refuses_we_refuse(slurm: RealSlurm, text: str) -> None:
    assert hostnames(slurm, text) == ()
    with pytest.raises(Malformed):
        expand(text)


@pytest.mark.parametrize(
    ("text", "slurm_reads"),
    [
        pytest.param("a[1-]", "a1", id="a range without an end"),
        pytest.param("a[[1]]", "a[1]", id="brackets in brackets"),
        pytest.param("a1]", "a1]", id="a bracket that closes nothing"),
    ],
)
def test_slips_that_slurm_passes_over_are_refused_by_us(
    slurm: RealSlurm, text: str, slurm_reads: str
) -> None:
    assert hostnames(slurm, text) == (slurm_reads,)
    with pytest.raises(Malformed):
        expand(text)


def test_slurm_folds_a_run_that_it_cannot_read_and_we_do_not(slurm: RealSlurm) -> None:
    longest = f"n[0-{MAX_NAMES - 1}]"
    too_long = slurm.scontrol("show", "hostlist", f"{longest},n{MAX_NAMES}").strip()

    assert too_long == f"n[0-{MAX_NAMES}]"
    assert hostnames(slurm, too_long) == ()
    ours = fold([*expand(longest), f"n{MAX_NAMES}"])
    assert len(hostnames(slurm, ours)) == MAX_NAMES + 1
