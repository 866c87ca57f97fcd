"""The containers of slurmctld's pod.

initconf      fills /etc/slurm with what was checked, and makes the pipe for the log
reconfigure   brings changes of the configuration into force, and reports (a sidecar)
logfile       prints the log (a sidecar)
slurmctld     under keeper.py, so that it can hand over to a new process of itself, and logs.py: its
              own output has its first words and its errors as JSON lines
"""

from collections.abc import Mapping
from typing import Any, Final

from windlass.api import names
from windlass.operator.plan import Body
from windlass.operator.pods.logged import BRIEF, PROGRAMS
from windlass.operator.pods.merge import merge_container
from windlass.operator.slurmctld import identity
from windlass.operator.slurmctld.observe import Observed
from windlass.operator.slurmctld.services import PORT_NAME

CANDIDATE: Final = "/mnt/slurm"
ETC: Final = "/etc/slurm"
LOGS: Final = "/var/log/slurm"
LOG: Final = f"{LOGS}/slurmctld.log"
SOCKETS: Final = "/run/slurmctld"

SLURMCTLD: Final = [
    *("python3", f"{PROGRAMS}/logs.py", "--node", "slurmctld", "--"),
    *("python3", f"{PROGRAMS}/keeper.py", "--", "slurmctld", "--systemd"),
]
# slurmctld must find a pipe, or it would make a file that nobody reads.
PREPARE: Final = f"""set -eu
[ -p "$SOCKET" ] || {{ rm -f "$SOCKET"; mkfifo -m 777 "$SOCKET"; }}
exec python3 {PROGRAMS}/reload.py init
"""
# An image that the user chose may have no Python: then the log comes as it is.
PRINT: Final = f"""if command -v python3 > /dev/null; then exec python3 {PROGRAMS}/logs.py; fi
trap 'exit 0' TERM
[ -p "$SOCKET" ] || {{ rm -f "$SOCKET"; mkfifo -m 777 "$SOCKET"; }}
while :; do cat <> "$SOCKET" & wait $!; sleep 1; done
"""

# Without a request it would get what busy workers on its node leave over, which is nothing.
REQUESTS: Final = {"cpu": "100m", "memory": "128Mi"}

LIVEZ: Final = {"path": "/livez", "port": PORT_NAME}
READYZ: Final = {"path": "/readyz", "port": PORT_NAME}
# A cluster with a long queue takes its time to read it back.
STARTUP: Final = {"httpGet": LIVEZ, "periodSeconds": 1, "failureThreshold": 600}
LIVENESS: Final = {"httpGet": LIVEZ, "periodSeconds": 10, "failureThreshold": 6}
READINESS: Final = {"httpGet": READYZ, "periodSeconds": 2}


def containers(observed: Observed) -> list[Body]:
    return [_slurmctld(observed)]


def init_containers(observed: Observed) -> list[Body]:
    return [_initconf(observed), _reconfigure(observed), _logfile(observed)]


def _slurmctld(observed: Observed) -> Body:
    controller = observed.controller
    base = {
        **_base("slurmctld", observed),
        "command": SLURMCTLD,
        "env": [BRIEF],
        "ports": [_port(PORT_NAME, identity.port(controller))],
        "startupProbe": STARTUP,
        "livenessProbe": LIVENESS,
        "readinessProbe": READINESS,
        "volumeMounts": [
            _mount("slurm-etc", ETC, read_only=True),
            _mount("run", "/run"),
            _mount("statesave", identity.state_folder(controller)),
            _mount("slurm-authsocket", SOCKETS),
            _mount("slurm-logfile", LOGS),
            _mount("programs", PROGRAMS, read_only=True),
        ],
    }
    if "resources" not in (controller.spec.slurmctld or {}):
        base["resources"] = {"requests": REQUESTS}
    return merge_container(base, controller.spec.slurmctld)


def _initconf(observed: Observed) -> Body:
    return {
        **_base("initconf", observed),
        "command": ["sh", "-c", PREPARE],
        "env": _env(SOCKET=LOG),
        "volumeMounts": [
            _mount("slurm-etc", ETC),
            _mount("slurm-config", CANDIDATE, read_only=True),
            _mount("statesave", identity.state_folder(observed.controller)),
            _mount("slurm-logfile", LOGS),
            _mount("programs", PROGRAMS, read_only=True),
        ],
    }


def _reconfigure(observed: Observed) -> Body:
    base = {
        **_base("reconfigure", observed),
        "restartPolicy": "Always",
        "command": ["python3", f"{PROGRAMS}/reload.py", "watch"],
        "env": _env(REPORT_PORT=str(names.REPORT_PORT)),
        "ports": [_port("report", names.REPORT_PORT)],
        "volumeMounts": [
            _mount("slurm-etc", ETC),
            _mount("slurm-config", CANDIDATE, read_only=True),
            _mount("run", "/run"),
            _mount("statesave", identity.state_folder(observed.controller)),
            _mount("slurm-authsocket", SOCKETS, read_only=True),
            _mount("slurm-logfile", LOGS, read_only=True),
            _mount("programs", PROGRAMS, read_only=True),
        ],
    }
    return merge_container(base, observed.controller.spec.reconfigure)


def _logfile(observed: Observed) -> Body:
    base = {
        **_base("logfile", observed),
        "restartPolicy": "Always",
        "command": ["sh", "-c", PRINT],
        "env": _env(SOCKET=LOG),
        "volumeMounts": [
            _mount("slurm-logfile", LOGS),
            _mount("programs", PROGRAMS, read_only=True),
        ],
    }
    return merge_container(base, observed.controller.spec.logfile)


def _base(name: str, observed: Observed) -> Body:
    chosen = (observed.controller.spec.slurmctld or {}).get("image")
    return {
        "name": name,
        "image": chosen or observed.setting.site.images.slurmctld,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": names.SLURM_UID,
            "runAsGroup": names.SLURM_UID,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _env(**pairs: str) -> list[Mapping[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs.items()]


def _port(name: str, number: int) -> dict[str, Any]:
    return {"name": name, "containerPort": number, "protocol": "TCP"}


def _mount(volume: str, path: str, *, read_only: bool = False) -> dict[str, Any]:
    mount: dict[str, Any] = {"name": volume, "mountPath": path}
    return {**mount, "readOnly": True} if read_only else mount
