"""sshd on workers, where users may log in while their jobs run there."""

from typing import Any, Final

from windlass.api import names
from windlass.api.node_set import NodeSet
from windlass.kube.kinds import NODE_SET
from windlass.operator import owned, sshd
from windlass.operator.workers import words

OURS: Final = (
    "Include /etc/ssh/sshd_config.d/*.conf",
    "UsePAM yes",
    "Subsystem sftp internal-sftp",
    "AuthenticationMethods publickey password",
)


def config_map(node_set: NodeSet) -> dict[str, Any]:
    meta = node_set.metadata
    controller = node_set.spec.controller_ref.name
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": owned.metadata(
            meta, NODE_SET, names.ssh_config(meta.name), words.common_labels(meta, controller)
        ),
        "data": {words.SSHD_CONFIG: sshd_config(node_set)},
    }


def sshd_config(node_set: NodeSet) -> str:
    return sshd.sshd_config(OURS, node_set.spec.ssh.extra_sshd_config)
