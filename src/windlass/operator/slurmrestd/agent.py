"""The agent beside slurmrestd: it ends external jobs with their exit code.

It is nobody and has no key: what it does, it does with the token of whoever asks. A pod is ready
without it, so that its faults are none of slurmrestd's; the keeper starts it again when it ends.
"""

from typing import Any, Final

from windlass.api import names
from windlass.operator.pods.logged import PROGRAMS

AGENT: Final = "agent"
"""The container, its port and the volume of its configuration."""
FILES: Final = ("agent.py", "keeper.py")
INNER_PORT: Final = 6823
"""Where it listens behind TLS."""

_RUN: Final = f"""if command -v python3 > /dev/null; then
  exec python3 {PROGRAMS}/keeper.py --restart -- python3 {PROGRAMS}/agent.py "$@"
fi
echo "jobs cannot be ended with their exit code: this image has no python3" >&2
trap exit TERM
sleep infinity & wait
"""


def container(base: dict[str, Any], *, tls: bool) -> dict[str, Any]:
    """`base` is what all containers of the pod have alike."""
    # Behind TLS only the pod itself reaches it; else clients are elsewhere.
    address = f"127.0.0.1:{INNER_PORT}" if tls else f"0.0.0.0:{names.AGENT_PORT}"
    return {
        "name": AGENT,
        **base,
        "command": ["sh", "-c", _RUN, "--", address],
        **({} if tls else {"ports": [port()]}),
        "securityContext": {**base["securityContext"], "readOnlyRootFilesystem": True},
        "volumeMounts": [
            {"name": AGENT, "mountPath": "/etc/slurm", "readOnly": True},
            {"name": "programs", "mountPath": PROGRAMS, "readOnly": True},
        ],
    }


def port() -> dict[str, Any]:
    return {"name": AGENT, "containerPort": names.AGENT_PORT, "protocol": "TCP"}


def service_port() -> dict[str, Any]:
    # The name of a port of an init container is not known to every Kubernetes we run on.
    number = names.AGENT_PORT
    return {"name": AGENT, "port": number, "targetPort": number, "protocol": "TCP"}
