"""A real etcd and kube-apiserver on the loopback address, for contract tests."""

from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv4Network
from pathlib import Path

from windlass.local import binaries, masters
from windlass.local.addresses import Addresses
from windlass.local.control_plane import Place
from windlass.local.kubectl import Kubectl
from windlass.local.masters import Masters
from windlass.local.pki import Authority
from windlass.local.progress import Display
from windlass.testing.ports import free_ports

# The kernel ends them with us, also when we are killed.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")


@dataclass(frozen=True, slots=True)
class RealKube:
    """An API server without nodes or controllers: objects are kept, nothing happens to them."""

    masters: Masters

    @property
    def kubectl(self) -> Kubectl:
        return self.masters.kubectl

    @property
    def server(self) -> str:
        return self.masters.place.server

    @property
    def kubeconfig(self) -> Path:
        return self.kubectl.kubeconfig

    @property
    def authority(self) -> Authority:
        return self.masters.authority

    def stop(self) -> None:
        masters.stop(self.masters.place.data)


def start(folder: Path, cache: Path, display: Display, now: datetime) -> RealKube:
    """Start both in an empty folder, on free ports, and wait until they answer."""
    api, etcd, etcd_peer = free_ports(3)
    pki = folder / "pki"
    kube = RealKube(
        Masters(
            place=Place(pki, folder, "127.0.0.1", api, etcd, etcd_peer),
            addresses=Addresses(IPv4Network("10.96.0.0/16")),
            authority=Authority(pki, now),
            programs=binaries.ensure(("kubernetes", "etcd"), cache, display),
            logs=folder / "logs",
            cgroup_entry=Path("/dev/null"),
            cluster="contract",
            prefix=DIES_WITH_US,
        )
    )
    kube.masters.write_credentials()
    kube.masters.start_api()
    return kube
