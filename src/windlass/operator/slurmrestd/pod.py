"""The pod: slurmrestd as nobody; where asked for, the end of TLS before it and an agent beside."""

from collections.abc import Mapping
from typing import Any, Final

from windlass.api import names
from windlass.api.rest_api import RestApi
from windlass.operator.keys import slurm_key_sources
from windlass.operator.pods.logged import PROGRAMS, command
from windlass.operator.pods.merge import merge_container
from windlass.operator.slurmrestd import agent
from windlass.operator.slurmrestd.conf_hash import includes
from windlass.operator.slurmrestd.observe import Observed

DAEMON: Final = "slurmrestd"
ETC: Final = "/etc/slurm"
MODE: Final = 0o600

TLS: Final = "tls"
"""The container and the volume of what ends TLS."""
PROXY: Final = "tls_proxy.py"
CERTIFICATE: Final = "/etc/slurmrestd-tls"
INNER_PORT: Final = 6822
INHERITED: Final = ("image", "imagePullPolicy")

WITHOUT_ACCOUNTING: Final = ("-s", "openapi/slurmctld,openapi/util")
# For a moment after it is told to end, others still send requests here.
LINGER: Final = {"exec": {"command": ["sleep", "3"]}}


def programs_name(rest_api: RestApi) -> str:
    return f"{names.slurmrestd(rest_api.metadata.name)}-programs"


def pod(observed: Observed) -> dict[str, Any]:
    daemon = _daemon(observed)
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            **_user(),
            "fsGroup": names.NOBODY_UID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [daemon],
        "volumes": [
            {"name": "slurm-etc", "projected": {"defaultMode": MODE, "sources": _files(observed)}},
            {"name": "programs", "configMap": {"name": programs_name(observed.rest_api)}},
        ],
    }
    if observed.wants_tls:
        # A container of this sort begins before slurmrestd and ends after it.
        spec["initContainers"] = [_proxy(observed, daemon)]
        spec["volumes"] += _tls_volumes(observed.rest_api)
    if observed.wants_agent:
        spec["containers"].append(agent.container(_alike(daemon), tls=observed.wants_tls))
        files = {"defaultMode": MODE, "sources": _conf(observed)}
        spec["volumes"].append({"name": agent.AGENT, "projected": files})
    return spec


def _alike(daemon: Mapping[str, Any]) -> dict[str, Any]:
    """What the containers beside slurmrestd have of it, and in common."""
    return {
        **{field: daemon[field] for field in INHERITED if field in daemon},
        "lifecycle": {"preStop": LINGER},
        "securityContext": _confined(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }


def _user() -> dict[str, Any]:
    return {"runAsNonRoot": True, "runAsUser": names.NOBODY_UID, "runAsGroup": names.NOBODY_UID}


def _confined() -> dict[str, Any]:
    return {**_user(), "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


# --- slurmrestd ----------------------------------------------------------------------------


def _daemon(observed: Observed) -> dict[str, Any]:
    port = INNER_PORT if observed.wants_tls else names.SLURMRESTD_PORT
    base = {
        "name": DAEMON,
        "image": observed.images.slurmrestd,
        "command": command("slurmrestd"),
        "args": [] if observed.accounts else list(WITHOUT_ACCOUNTING),
        "env": [
            {"name": "SLURM_JWT", "value": "daemon"},
            {
                "name": "SLURMRESTD_SECURITY",
                "value": "disable_unshare_files,disable_unshare_sysv",
            },
            # Else lists are indented: 25 MB instead of 15 for 10,000 nodes.
            {"name": "SLURMRESTD_JSON", "value": "compact"},
        ],
        **({} if observed.wants_tls else {"ports": [_port()]}),
        **_probes(_answers(observed)),
        "lifecycle": {"preStop": LINGER},
        "securityContext": _confined(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "slurm-etc", "mountPath": ETC, "readOnly": True},
            {"name": "programs", "mountPath": PROGRAMS, "readOnly": True},
        ],
    }
    merged = merge_container(base, observed.rest_api.spec.slurmrestd)
    # slurmrestd takes what follows its options for addresses.
    host = "127.0.0.1" if observed.wants_tls else "0.0.0.0"  # noqa: S104 - clients are elsewhere
    merged["args"] = [*(merged.get("args") or ()), f"{host}:{port}"]
    return merged


def _port() -> dict[str, Any]:
    return {"name": DAEMON, "containerPort": names.SLURMRESTD_PORT, "protocol": "TCP"}


def _answers(observed: Observed) -> dict[str, Any]:
    """How to ask whether it is there; behind TLS only the pod itself can reach it."""
    if observed.wants_tls:
        return {"exec": {"command": ["bash", "-c", f": < /dev/tcp/127.0.0.1/{INNER_PORT}"]}}
    return {"tcpSocket": {"port": DAEMON}}


def _probes(how: Mapping[str, Any]) -> dict[str, Any]:
    patient = {**how, "failureThreshold": 6, "periodSeconds": 10}
    return {
        "startupProbe": {**how, "failureThreshold": 60, "periodSeconds": 1},
        "livenessProbe": patient,
        "readinessProbe": dict(how),
    }


def _files(observed: Observed) -> list[dict[str, Any]]:
    keys = observed.keys
    assert keys is not None
    return [*_conf(observed), *slurm_key_sources(keys)]


def _conf(observed: Observed) -> list[dict[str, Any]]:
    controller = observed.controller
    assert controller is not None
    conf = {"name": names.config(controller.metadata.name)}
    items = [{"key": "slurm.conf", "path": "slurm.conf"}]
    included = controller.spec.config_file_refs or () if includes(observed.conf or "") else ()
    return [
        *({"configMap": {"name": each.name, "optional": True}} for each in included),
        {"configMap": {**conf, "items": items}},
    ]


# --- TLS -----------------------------------------------------------------------------------


def _proxy(observed: Observed, daemon: Mapping[str, Any]) -> dict[str, Any]:
    ways, ports = [names.SLURMRESTD_PORT, INNER_PORT], [_port()]
    if observed.wants_agent:
        ways += [names.AGENT_PORT, agent.INNER_PORT]
        ports.append(agent.port())
    return {
        "name": TLS,
        **_alike(daemon),
        "restartPolicy": "Always",
        "command": ["python3", f"{PROGRAMS}/{PROXY}"],
        "args": [*(str(port) for port in ways), CERTIFICATE],
        "ports": ports,
        **_probes({"tcpSocket": {"port": DAEMON}}),
        "volumeMounts": [
            {"name": "programs", "mountPath": PROGRAMS, "readOnly": True},
            {"name": TLS, "mountPath": CERTIFICATE, "readOnly": True},
        ],
    }


def _tls_volumes(rest_api: RestApi) -> list[dict[str, Any]]:
    tls = rest_api.spec.tls
    assert tls is not None
    return [
        {"name": TLS, "secret": {"secretName": tls.secret_ref.name, "defaultMode": MODE}},
    ]
