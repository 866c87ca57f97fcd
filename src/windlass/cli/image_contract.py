"""What an image must provide to run one of Slurm's daemons in a pod, and whether one does.

docs/reference/images.md says the same to people.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

SLURM_ID: Final = 401
OLDEST_PYTHON: Final = (3, 9)
PATHS: Final = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin")
LIBRARIES: Final = ("usr/lib", "usr/lib64", "usr/local/lib", "usr/local/lib64", "opt/slurm/lib")
KEYS: Final = ("etc/slurm/*.key", "etc/slurm/*.jwks", "etc/munge/*.key", "etc/ssh/ssh_host_*_key")


@dataclass(frozen=True, slots=True)
class Role:
    """What a pod of one kind runs from its image."""

    programs: tuple[str, ...]
    plugins: tuple[str, ...] = ("auth_slurm",)
    helpful: tuple[str, ...] = ()
    """Programs without which something that a user may ask for does not work."""


ROLES: Final[Mapping[str, Role]] = {
    "slurmctld": Role(("slurmctld", "scontrol", "python3"), ("auth_slurm", "auth_jwt")),
    "slurmd": Role(
        ("slurmd", "slurmstepd", "scontrol", "python3"),
        helpful=("sshd", "sssd"),
    ),
    "slurmdbd": Role(("slurmdbd",), ("auth_slurm", "auth_jwt", "accounting_storage_mysql")),
    "slurmrestd": Role(("slurmrestd",), ("auth_slurm", "auth_jwt")),
    "login": Role(("sackd", "sshd", "sbatch", "srun", "sinfo", "squeue"), helpful=("sssd",)),
}


@dataclass(frozen=True, slots=True)
class Contents:
    """An image: its files, and how its containers start."""

    root: Path
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def has_program(self, name: str) -> bool:
        """Whether it is there; a link counts, for where it leads is not to be asked out here."""
        files = [self.root / folder / name for folder in PATHS]
        return any(file.is_symlink() or file.exists() for file in files)

    def has_plugin(self, name: str) -> bool:
        """Distributions disagree on the folder: lib/slurm, lib64/slurm, lib/MACHINE/slurm-wlm."""
        patterns = (f"slurm*/{name}.so", f"*/slurm*/{name}.so")
        folders = [self.root / folder for folder in LIBRARIES]
        return any(any(folder.glob(pattern)) for folder in folders for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Finding:
    """One point of the contract, and whether the image keeps it."""

    well: bool
    what: str
    required: bool = True

    def __str__(self) -> str:
        word = "ok" if self.well else "missing" if self.required else "advice"
        return f"{word:8} {self.what}"


def role_of(contents: Contents) -> str | None:
    """The daemon that an image is for, by what it starts."""
    words = [Path(word).name for word in (*contents.entrypoint, *contents.command)]
    return next((role for role in ROLES if role in words), None)


def examine(contents: Contents, role: str) -> tuple[Finding, ...]:
    """Hold an image against the contract."""
    checks: tuple[Callable[[Contents, str], Iterator[Finding]], ...] = (
        _user,
        _programs,
        _python,
        _plugins,
        _start,
        _folders,
        _secrets,
    )
    return tuple(finding for check in checks for finding in check(contents, role))


def kept(findings: tuple[Finding, ...]) -> bool:
    return all(finding.well for finding in findings if finding.required)


def _user(contents: Contents, role: str) -> Iterator[Finding]:
    for name, file in (("user", "passwd"), ("group", "group")):
        entries = _entries(contents.root / "etc" / file)
        yield Finding(entries.get("slurm") == SLURM_ID, f"{name} slurm has number {SLURM_ID}")
    if role == "slurmrestd":
        first = contents.user.partition(":")[0]
        others = first not in ("", "0", "root", "slurm", str(SLURM_ID))
        yield Finding(
            others, "runs neither as root nor as slurm, by its own setting", required=False
        )


def _entries(file: Path) -> dict[str, int]:
    """Names and numbers of /etc/passwd or /etc/group."""
    text = file.read_text() if file.is_file() else ""
    rows = [line.split(":") for line in text.splitlines()]
    return {row[0]: int(row[2]) for row in rows if len(row) > 2 and row[2].isdigit()}


def _programs(contents: Contents, role: str) -> Iterator[Finding]:
    for name in ROLES[role].programs:
        yield Finding(contents.has_program(name), f"has the program {name}")
    for name in ROLES[role].helpful:
        found = contents.has_program(name)
        yield Finding(found, f"has the program {name}, for who logs in", required=False)


def _python(contents: Contents, role: str) -> Iterator[Finding]:
    if "python3" not in ROLES[role].programs:
        return
    versions = [
        tuple(int(part) for part in match.groups())
        for folder in PATHS
        for file in (contents.root / folder).glob("python3.*")
        if (match := re.fullmatch(r"python(3)\.(\d+)", file.name))
    ]
    wanted = ".".join(str(part) for part in OLDEST_PYTHON)
    yield Finding(max(versions, default=(0,)) >= OLDEST_PYTHON, f"its Python is {wanted} or later")


def _plugins(contents: Contents, role: str) -> Iterator[Finding]:
    for name in ROLES[role].plugins:
        yield Finding(contents.has_plugin(name), f"has Slurm's plugin {name}")


def _start(contents: Contents, _: str) -> Iterator[Finding]:
    words = (*contents.entrypoint, *contents.command)
    yield Finding(bool(words), "starts something by itself")
    shell = [Path(word).name for word in contents.entrypoint[:2]] in (["sh", "-c"], ["bash", "-c"])
    well = bool(contents.entrypoint) and not shell
    yield Finding(well, "its entrypoint hands a container's arguments on")


def _folders(contents: Contents, role: str) -> Iterator[Finding]:
    run = contents.root / "run/slurm"
    if role == "slurmd":
        well = not run.exists() or run.stat().st_uid == 0
        yield Finding(well, "/run/slurm belongs to root, or is not there: slurmd insists on it")


def _secrets(contents: Contents, _: str) -> Iterator[Finding]:
    keys = [file for pattern in KEYS for file in contents.root.glob(pattern)]
    names = ", ".join(f"/{file.relative_to(contents.root)}" for file in keys)
    yield Finding(not keys, f"holds no key{f': {names}' if keys else ''}")
