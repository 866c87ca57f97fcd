"""The container with slurmd, and the jobs."""

from typing import Any, Final

from windlass.api import labels, names
from windlass.api.controller import Controller
from windlass.api.node_set import NodeSet
from windlass.operator.keys import SLURM_JWKS
from windlass.operator.pods.logged import BRIEF
from windlass.operator.pods.merge import merge_container
from windlass.operator.workers import words
from windlass.operator.workers.conf import arguments
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.resources import limits_env

# A slurmd that gets its configuration from slurmctld looks beside that for keys, and never for this
# file where it was, unless it is told of it; without the file it takes slurm.key.
KEYS: Final = {"name": "SLURM_SACK_JWKS", "value": f"{words.SLURM_DIR}/{SLURM_JWKS}"}
CAPABILITIES: Final = ("BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE")
# Slinky's own words: whoever looks for nodes that went this way looks for them.
GONE: Final = "slurm-operator: Pod is terminating"
# Slurm would otherwise take minutes to notice; but slurmctld may be away, and the rest of the
# grace period is slurmd's. The reason that somebody else gave stays: it is how we know that the
# drain of this node is not ours to end when the next pod has its name.
SAY_DOWN: Final = f"""\
reason=$(timeout 5 scontrol show node "$(hostname)" |
  sed -n 's/^ *Reason=\\(.*\\) \\[[^]]*\\]$/\\1/p')
case "$reason" in '' | 'slurm-operator: '*) reason='{GONE}' ;; esac
timeout 5 scontrol update nodename="$(hostname)" state=down reason="$reason" || true
"""


def slurmd(observed: Observed, controller: Controller) -> dict[str, Any]:
    node_set = observed.node_set
    base: dict[str, Any] = {
        "name": words.CONTAINER,
        "image": observed.site.images.slurmd,
        "args": arguments(node_set, controller),
        "env": [KEYS, BRIEF, *_topology(), *limits_env(node_set), *_ssh(node_set)],
        "ports": _ports(node_set),
        "startupProbe": _probe("/livez"),
        "livenessProbe": _probe("/livez"),
        "readinessProbe": _probe("/readyz"),
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", SAY_DOWN]}}},
        "securityContext": _security(node_set),
        "volumeMounts": _mounts(observed),
    }
    return merge_container(base, node_set.spec.slurmd)


def _security(node_set: NodeSet) -> dict[str, Any]:
    """All of it, or nothing but what any root of a container has: what lies between does not give
    slurmd the cgroups, for which alone it would want them."""
    if node_set.unprivileged:
        return {"privileged": False}
    return {"privileged": True, "capabilities": {"add": list(CAPABILITIES)}}


def _topology() -> list[dict[str, Any]]:
    """Where the node is, under the name of today's images and that of Slinky 1.2's."""
    source = {"fieldRef": {"fieldPath": f"metadata.annotations['{labels.TOPOLOGY}']"}}
    return [{"name": name, "valueFrom": source} for name in ("SLINKY_TOPOLOGY", "POD_TOPOLOGY")]


def _ssh(node_set: NodeSet) -> list[dict[str, Any]]:
    """Whether the image starts sshd beside slurmd."""
    return [{"name": "SSHD", "value": "yes"}] if node_set.spec.ssh.enabled else []


def _ports(node_set: NodeSet) -> list[dict[str, Any]]:
    ports = [{"name": words.DAEMON, "containerPort": names.SLURMD_PORT, "protocol": "TCP"}]
    if node_set.spec.ssh.enabled:
        ports.append({"name": "ssh", "containerPort": names.SSH_PORT, "protocol": "TCP"})
    return ports


def _probe(path: str) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": words.DAEMON},
        "failureThreshold": 6,
        "periodSeconds": 10,
    }


def _mounts(observed: Observed) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [
        {"name": "slurm-etc", "mountPath": words.SLURM_DIR, "readOnly": True},
        {"name": "slurm-logfile", "mountPath": words.LOG_DIR},
    ]
    if observed.node_set.spec.ssh.enabled:
        mounts.append(_file("ssh-config", words.SSHD_CONFIG_PATH, words.SSHD_CONFIG))
    if observed.node_set.spec.ssh.enabled and observed.sssd_conf is not None:
        mounts.append(_file("sssd-conf", words.SSSD_CONF_PATH, words.SSSD_CONF))
    return mounts


def _file(volume: str, path: str, entry: str) -> dict[str, Any]:
    return {"name": volume, "mountPath": path, "subPath": entry, "readOnly": True}
