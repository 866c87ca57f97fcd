"""Kernel settings that a cluster changes for the whole machine, put back by the last one to go."""

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

# kubelet sets all but the first by itself, without asking.
NAMES = (
    "net/ipv4/ip_forward",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)


def remember(file: Path, proc: Path = Path("/proc/sys")) -> None:
    """Keep the settings as they are before the first cluster; a second one changes nothing."""
    if not file.exists():
        seen = {name: (proc / name).read_text().strip() for name in NAMES if (proc / name).exists()}
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.encode(seen))


def forward(proc: Path = Path("/proc/sys")) -> None:
    (proc / "net/ipv4/ip_forward").write_text("1")


def restore(file: Path, proc: Path = Path("/proc/sys")) -> None:
    """Put back what was there before the first cluster."""
    try:
        kept: Mapping[str, str] = msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except (FileNotFoundError, msgspec.DecodeError):
        return
    for name, value in kept.items():
        if (proc / name).read_text().strip() != value:
            with contextlib.suppress(OSError):
                (proc / name).write_text(value)
    file.unlink()
