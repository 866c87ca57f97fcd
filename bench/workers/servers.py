"""The servers that all is measured on."""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.workers.audit import USER, Audit
from windlass.api.definitions import KINDS
from windlass.kube.crd import printed
from windlass.local import binaries, control_plane, images
from windlass.local.addresses import Addresses
from windlass.local.control_plane import Place
from windlass.local.daemons import Daemon
from windlass.local.masters import Masters, mark
from windlass.local.pki import Authority, Subject
from windlass.local.progress import Display
from windlass.mains import windlass
from windlass.testing import kwok
from windlass.testing.kube import DIES_WITH_US, RealKube
from windlass.testing.ports import free_ports
from windlass.testing.slurm import Besides, RealSlurm

LEASE_SECONDS: Final = 3600
"""Nobody looks at the leases of fake nodes here, and renewing a thousand is work for the server."""
# The operator speaks as Slurm's own user.
SLURM: Final = Besides(
    conf="SlurmUser=slurm\n",
    script="chown -R slurm /etc/slurm /var/lib/slurm /var/log; chmod 1777 /run\n",
)


@dataclass(frozen=True, slots=True)
class Servers:
    kube: RealKube
    audit: Audit
    slurm: RealSlurm
    operator_kubeconfig: Path


@contextmanager
def servers(*, pods_start: bool = True) -> Iterator[Servers]:
    """Without a scheduler and kwok if pods need not start by themselves."""
    display = Display(Console(stderr=True))
    with tempfile.TemporaryDirectory(prefix="bench-") as name, ExitStack() as started:
        folder, cache = Path(name), windlass.folders().cache
        programs = binaries.ensure(("kubernetes", "etcd", "kwok"), cache, display)
        root = images.root_of("slurm", cache, display, programs={})
        slurm = RealSlurm(root, folder / "slurm", SLURM)
        slurm.start()
        started.callback(slurm.stop)
        audit = Audit(folder)
        kube = audited_kube(folder / "kube", programs, audit)
        started.callback(kube.stop)
        kube.masters.start_api()
        for kind in KINDS:
            kube.kubectl("apply", "--server-side", "-f", "-", text=printed(kind))
        if pods_start:
            _scheduler(kube.masters)
            nodes = kwok.start(folder, programs, kube.kubectl, LEASE_SECONDS)
            started.callback(nodes.stop)
        yield Servers(kube, audit, slurm, operator_kubeconfig(kube))


def audited_kube(folder: Path, programs: dict[str, Path], audit: Audit) -> RealKube:
    """As for contract tests, but one that keeps an audit log."""
    folder.mkdir()
    audited = folder / "kube-apiserver"
    flags = " ".join(audit.flags())
    audited.write_text(f'#!/bin/sh\nexec {programs["kube-apiserver"]} "$@" {flags}\n')
    audited.chmod(0o700)
    pki = folder / "pki"
    masters = Masters(
        place=Place(pki, folder, "127.0.0.1", *free_ports(3)),
        addresses=Addresses(IPv4Network("10.96.0.0/16")),
        authority=Authority(pki, windlass.now()),
        programs={**programs, "kube-apiserver": audited},
        logs=folder / "logs",
        cgroup_entry=Path("/dev/null"),
        cluster="bench",
        prefix=DIES_WITH_US,
    )
    masters.write_credentials()
    return RealKube(masters)


def _scheduler(masters: Masters) -> None:
    """Alone: a controller manager would only look after objects that nobody measures."""
    argv = control_plane.kube_scheduler(masters.place)
    Daemon(
        name=argv[0],
        argv=(*masters.prefix, str(masters.programs[argv[0]]), *argv[1:]),
        mark=mark(masters.place.data, argv[0]),
        log=masters.logs / f"{argv[0]}.log",
        cgroup_entry=masters.cgroup_entry,
    ).start().close()


def operator_kubeconfig(kube: RealKube) -> Path:
    kube.authority.ensure([Subject("operator", USER, ("system:masters",))])
    return kube.authority.write_kubeconfig("operator", kube.server, "bench")
