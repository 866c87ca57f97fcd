"""The control plane at work: its programs on the host, started in order, left running."""

from dataclasses import dataclass
from pathlib import Path

from windlass.local import control_plane, daemons
from windlass.local.addresses import Addresses
from windlass.local.control_plane import Place
from windlass.local.daemons import Daemon, alive
from windlass.local.errors import CommandFailed, LocalError, TimedOut
from windlass.local.kubectl import Kubectl
from windlass.local.pki import Authority, control_plane_subjects
from windlass.local.waiting import wait_for

KUBECONFIGS = ("admin", "controller-manager", "scheduler", "proxy")


@dataclass(frozen=True, slots=True)
class Masters:
    """The control plane of one cluster."""

    place: Place
    addresses: Addresses
    authority: Authority
    programs: dict[str, Path]
    logs: Path
    cgroup_entry: Path
    cluster: str
    prefix: tuple[str, ...] = ()
    """Words put before every program, such as `setpriv` for one that must not outlive us."""

    @property
    def kubectl(self) -> Kubectl:
        return Kubectl(self.programs["kubectl"], self.place.pki / "admin.conf")

    def write_credentials(self) -> None:
        self.authority.ensure(control_plane_subjects(self.addresses))
        for file in KUBECONFIGS:
            if not (self.authority.folder / f"{file}.conf").exists():
                self.authority.write_kubeconfig(file, self.place.server, self.cluster)

    def start_api(self) -> None:
        """Have etcd and the API server running and answering."""
        self._ensure(control_plane.etcd(self.place))
        services = str(self.addresses.services)
        api = self._ensure(control_plane.kube_apiserver(self.place, services))

        def answers() -> bool:
            if api.running() is None:
                raise LocalError(f"the API server ended; its last words:\n{tail(api.log)}")
            return self._ready()

        try:
            wait_for(answers, "the API server answers", within=90, every=0.2)
        except TimedOut as late:
            raise LocalError(f"{late}; its last words:\n{tail(api.log)}") from late

    def start_controllers(self) -> None:
        """The two that need an API server to begin with."""
        self._ensure(control_plane.kube_controller_manager(self.place, self.addresses))
        self._ensure(control_plane.kube_scheduler(self.place))

    def _ready(self) -> bool:
        try:
            return self.kubectl("get", "--raw=/readyz", "--request-timeout=2s") == "ok"
        except CommandFailed:
            return False

    def _ensure(self, argv: list[str]) -> Daemon:
        name = argv[0]
        daemon = Daemon(
            name=name,
            argv=(*self.prefix, str(self.programs[name]), *argv[1:]),
            mark=mark(self.place.data, name),
            log=self.logs / f"{name}.log",
            cgroup_entry=self.cgroup_entry,
        )
        if daemon.running() is None:
            daemon.start().close()
        return daemon


def stop(data: Path) -> None:
    """End every program of a control plane, the one that others lean on last."""
    for name in reversed(control_plane.NAMES):
        daemons.stop(mark(data, name))


def mark(data: Path, name: str) -> Path:
    return data / "run" / f"{name}.json"


def running(data: Path) -> dict[str, bool]:
    """Which programs of a control plane run."""
    return {name: alive(mark(data, name)) is not None for name in control_plane.NAMES}


def tail(log: Path, lines: int = 15) -> str:
    if not log.exists():
        return "(no log)"
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
