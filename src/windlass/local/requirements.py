"""What a machine must have; each lack is one line that says what to do about it."""

import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from windlass.local.errors import CommandFailed, LocalError
from windlass.local.process import run

PACKAGES = {
    "buildah": "buildah",
    "ip": "iproute2",
    "iptables": "iptables",
    "mmdebstrap": "mmdebstrap",
    "nsenter": "util-linux",
    "ssh": "openssh-client",
    "unshare": "util-linux",
}
"""Program -> the Debian package that brings it."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What we ask of a machine, so that a test can describe any."""

    system: str
    root: bool
    filesystems: str
    namespaces: frozenset[str]
    find: Callable[[str], str | None]
    forwarding: bool


def this_machine() -> Machine:
    namespaces = Path("/proc/self/ns")
    return Machine(
        system=platform.system(),
        root=os.geteuid() == 0,
        filesystems=_read(Path("/proc/filesystems")),
        namespaces=frozenset(p.name for p in namespaces.iterdir())
        if namespaces.is_dir()
        else frozenset(),
        find=shutil.which,
        forwarding=Path("/proc/sys/net/ipv4/ip_forward").exists(),
    )


def check_root(machine: Machine) -> None:
    if machine.system != "Linux":
        raise LocalError(
            f"a local cluster needs Linux and this is {machine.system}; "
            "use a Linux machine, or `windlass up --kubeconfig FILE` for a cluster elsewhere"
        )
    if not machine.root:
        raise LocalError("a local cluster needs root (namespaces, mounts, cgroups); use sudo")


def check(machine: Machine) -> None:
    """Raise for the first thing that stands in the way."""
    check_root(machine)
    lacking = {"mnt", "pid", "net", "uts", "ipc"} - machine.namespaces
    if lacking:
        raise LocalError(
            f"this kernel lacks the {', '.join(sorted(lacking))} namespace(s); "
            "use a kernel with CONFIG_NAMESPACES"
        )
    if not machine.forwarding:
        raise LocalError("this kernel has no IPv4 forwarding; use a kernel with CONFIG_INET")
    if "overlay" not in machine.filesystems.split():
        raise LocalError("this kernel has no overlayfs; load it with `modprobe overlay`")
    packages = missing_packages(machine)
    if packages:
        raise LocalError(
            f"missing: {', '.join(packages)}; `apt-get install {' '.join(packages)}` "
            "or `windlass local packages` installs them"
        )


def check_network() -> None:
    """Try what nodes are joined by, in a network namespace that is gone afterwards."""
    for command, need in _NETWORK_NEEDS:
        try:
            run(["unshare", "--net", *command])
        except CommandFailed as failure:
            last = failure.output.strip().splitlines()[-1:] or ["no reason given"]
            raise LocalError(f"this kernel lacks {need}: {last[0]}") from failure


_NETWORK_NEEDS = (
    (("ip", "link", "add", "probe0", "type", "bridge"), "bridges; try `modprobe bridge`"),
    (("ip", "link", "add", "probe0", "type", "veth"), "veth pairs; try `modprobe veth`"),
    (("iptables", "-t", "nat", "-L", "-n"), "iptables with NAT; try `modprobe iptable_nat`"),
)


def missing_packages(machine: Machine) -> list[str]:
    lacking = (package for program, package in PACKAGES.items() if machine.find(program) is None)
    return sorted(set(lacking))


def install_packages(machine: Machine) -> list[str]:
    """Install what is missing of the Debian packages; returns what it installed."""
    packages = missing_packages(machine)
    if not packages:
        return []
    if machine.find("apt-get") is None:
        raise LocalError(
            f"missing: {', '.join(packages)}; they are installed by apt-get, which this machine "
            "lacks: install them with its own package manager"
        )
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        run(["apt-get", "update", "-qq"], env=quiet)
        run(["apt-get", "install", "-qq", "--no-install-recommends", *packages], env=quiet)
    except CommandFailed as failure:
        raise LocalError(f"could not install {', '.join(packages)}: {failure}") from failure
    return packages


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
