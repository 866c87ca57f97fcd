"""Programs of inpod, run as containers run them: the file by itself, in a Python of its own."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from windlass import inpod

FOLDER = Path(inpod.__file__).parent


def program(name: str) -> list[str]:
    """The start of its command line; -I: nothing of this project can be imported."""
    return [sys.executable, "-I", str(FOLDER / f"{name}.py")]


@contextmanager
def running(
    name: str, *words: str, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A program that is told to stop in the end, if it has not ended by itself."""
    process = subprocess.Popen(
        [*program(name), *words],
        env={"PATH": "/usr/bin:/bin", **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
