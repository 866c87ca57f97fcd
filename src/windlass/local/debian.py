"""Root file systems made of Debian's packages: what a node runs on, what images are built on."""

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from windlass.local.layout import fingerprint
from windlass.local.making import Runner, make_once, run_contained
from windlass.local.progress import Display

SUITE: Final = "forky"
SERIAL: Final = "2026-11-15"  # forky moves: change this to have its newer packages
# All that is made is of this time, so that who makes the same again gets the same bits.
EPOCH: Final = int(datetime.fromisoformat(f"{SERIAL}T00:00:00Z").timestamp())

APT: Final = Path("/etc/apt")
DEBIAN_SUITES: Final = frozenset(
    {"oldstable", "stable", "testing", "unstable", "bookworm", "trixie", "forky", "sid"}
)

OPTIONS: Final = (
    '--aptopt=Acquire::Check-Valid-Until "false"',  # a mirror may be a snapshot
    '--aptopt=Acquire::Languages "none"',
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/info/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    # mmdebstrap copies these from the machine it runs on
    '--customize-hook=: > "$1/etc/resolv.conf"; rm -f "$1/etc/hostname"',
)


@dataclass(frozen=True, slots=True)
class Root:
    """The recipe of a root file system; `suffix` says whether it is a folder or a tar file."""

    name: str
    packages: tuple[str, ...] = ()
    suffix: str = ""

    @property
    def fingerprint(self) -> str:
        return fingerprint(SUITE, SERIAL, self.suffix, *OPTIONS, "include", *self.packages)

    @property
    def file_name(self) -> str:
        return f"{self.name}-{self.fingerprint}{self.suffix}"


NODE: Final = Root(
    "node",
    packages=(
        *("containerd", "runc", "containernetworking-plugins"),
        *("iptables", "nftables", "conntrack", "ethtool", "socat", "iproute2", "kmod"),
        *("bash", "mount", "util-linux", "procps", "ca-certificates", "curl"),
    ),
)
IMAGE: Final = Root("debian", suffix=".tar")


def ensure(root: Root, cache: Path, display: Display, run: Runner = run_contained) -> Path:
    """Return where `root` is kept, and make it first if this machine has not got it yet."""

    def make(scratch: Path) -> Path:
        made = scratch / root.file_name
        with display.step(f"root file system {root.name}") as step:
            run(command(root, made, find_mirror(APT)), step.note)
        return made

    return make_once(cache / "roots" / root.file_name, make)


def command(root: Root, target: Path, mirror: str | None) -> list[str | Path]:
    """The mmdebstrap call that writes `root` to `target`; it knows a mirror where we know none."""
    include = [f"--include={','.join(root.packages)}"] if root.packages else []
    # A tar file is packed from a folder under TMPDIR, and /tmp may be memory.
    return [
        *("env", f"TMPDIR={target.parent}", f"SOURCE_DATE_EPOCH={EPOCH}"),
        *("mmdebstrap", "--mode=root", "--variant=minbase", *OPTIONS, *include),
        *(SUITE, target),
        *([mirror] if mirror else []),
    ]


def find_mirror(apt: Path) -> str | None:
    """The Debian mirror that this machine's own apt uses, so that a site's mirror serves us too."""
    for uri, suites in _sources(apt):
        if DEBIAN_SUITES.intersection(suites):
            return _first_of_list(uri)
    return None


def _sources(apt: Path) -> Iterator[tuple[str, list[str]]]:
    """Every binary source as (address, suites), from both formats of apt."""
    parts = apt / "sources.list.d"
    for file in sorted(parts.glob("*.sources")):
        yield from _stanzas(file.read_text())
    for file in (apt / "sources.list", *sorted(parts.glob("*.list"))):
        if file.exists():
            yield from _one_liners(file.read_text().splitlines())


def _stanzas(text: str) -> Iterator[tuple[str, list[str]]]:
    for stanza in text.split("\n\n"):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        fields = {
            name.strip().lower(): value.split()
            for name, colon, value in (line.partition(":") for line in lines)
            if colon
        }
        if "deb" in fields.get("types", []) and fields.get("enabled") != ["no"]:
            for uri in fields.get("uris", []):
                yield uri, fields.get("suites", [])


def _one_liners(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    for line in lines:
        bare = line.partition("[")[0] + line.rpartition("]")[2] if "[" in line else line
        match shlex.split(bare, comments=True):
            case ["deb", uri, suite, *_]:
                yield uri, [suite]


def _first_of_list(uri: str) -> str | None:
    """Follow `mirror+file:`, which Debian's cloud images use: images cannot read that file."""
    scheme, _, path = uri.partition(":")
    if scheme != "mirror+file":
        return uri
    lines = Path("/" + path.lstrip("/")).read_text().split("\n")
    return next((line.split()[0] for line in lines if line.strip()), None)
