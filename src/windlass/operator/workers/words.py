"""Names and paths inside a worker pod: the same as Slinky's, since users' templates use them."""

from typing import Final

from windlass.api import labels
from windlass.kube.meta import Meta

DAEMON: Final = "slurmd"
COMPONENT: Final = "worker"
CONTAINER: Final = "slurmd"

SLURM_DIR: Final = "/etc/slurm"
LOG_DIR: Final = "/var/log/slurm"
LOG_FILE: Final = f"{LOG_DIR}/slurmd.log"
SSHD_CONFIG: Final = "sshd_config"
SSHD_CONFIG_PATH: Final = f"/etc/ssh/{SSHD_CONFIG}"
SSSD_CONF: Final = "sssd.conf"
SSSD_CONF_PATH: Final = f"/etc/sssd/{SSSD_CONF}"
PROGRAMS_DIR: Final = "/opt/windlass"


def selector_labels(node_set: Meta) -> dict[str, str]:
    return labels.selector(DAEMON, node_set.name)


def common_labels(node_set: Meta, controller: str) -> dict[str, str]:
    return {**labels.common(DAEMON, node_set.name, COMPONENT), labels.CLUSTER: controller}


def shared_labels(controller: str) -> dict[str, str]:
    """Of what all NodeSets of a cluster share."""
    return {labels.NAME: DAEMON, labels.COMPONENT: COMPONENT, labels.CLUSTER: controller}
