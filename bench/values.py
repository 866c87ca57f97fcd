"""How fast hostlists of 15,000 names fold and expand: `python -m bench.values`.

The floor is what any reader or writer of so many names pays: joining them with commas, or
splitting them again. Figures are the best of several rounds, in CPU time of this process.
"""

import random
import time
from collections.abc import Callable

from windlass.values.hostlist import expand, fold

COUNT = 15_000
ROUNDS = 15
LIMIT = 50.0  # milliseconds


def milliseconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
    return best * 1000


def show(what: str, took: float, floor: float) -> None:
    ratio = f"floor {floor:.1f} ms, ratio {took / floor:.0f}"
    print(f"{what:<44}{took:7.1f} ms  limit {LIMIT:g} ms  {ratio}")


def measure(what: str, names: list[str]) -> None:
    plain, folded = ",".join(names), fold(names)
    joining, splitting = (
        milliseconds(lambda: ",".join(names)),
        milliseconds(lambda: plain.split(",")),
    )
    show(f"fold, {what}", milliseconds(lambda: fold(names)), joining)
    show(f"expand, {what}", milliseconds(lambda: expand(folded)), splitting)
    show(f"expand unfolded, {what}", milliseconds(lambda: expand(plain)), splitting)


def main() -> None:
    measure("one run", [f"w-{number:05d}" for number in range(COUNT)])
    scattered = random.Random(1).sample(range(100_000), COUNT)
    measure("in random order", [f"w-{number}" for number in scattered])
    measure("racks of 50", [f"r{n // 50}n{n % 50:02d}" for n in range(COUNT)])


if __name__ == "__main__":
    main()
