"""Things made once and kept in the cache: whole or absent, whoever else makes them meanwhile."""

import fcntl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from windlass.local import process

Runner = Callable[[Sequence[str | Path], process.Line], None]

# Put before a command: its processes die with ours, its mounts with them.
CONTAINED: Final = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"),
)


def run_contained(argv: Sequence[str | Path], line: process.Line) -> None:
    """Run a program to its end so that, however this ends, no process or mount of it stays."""
    process.run_lines((*CONTAINED, *argv), line)


def make_once(target: Path, make: Callable[[Path], Path]) -> Path:
    """Return `target`; if it is absent, `make` it in an empty folder and move it to its place."""
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.with_name(f".{target.name}.lock")):
        if not target.exists():
            with _scratch(target.with_name(f".{target.name}.making")) as scratch:
                make(scratch).rename(target)
    return target


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # released by the kernel when the file is closed
        yield


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    remove(folder)  # whoever was killed here left it half-written
    folder.mkdir()
    try:
        yield folder
    finally:
        remove(folder)


def remove(path: Path) -> None:
    """Remove a file or a tree, but nothing that is mounted in it."""
    process.run(["rm", "-rf", "--one-file-system", "--", path])
