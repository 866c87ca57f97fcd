"""Names and paths inside a login pod: the same as Slinky's, since users' templates use them."""

from typing import Final

from windlass.api import labels
from windlass.kube.meta import Meta

DAEMON: Final = "login"
COMPONENT: Final = "login"
CONTAINER: Final = "login"
PORT_NAME: Final = "login"

SSH_DIR: Final = "/etc/ssh"
SSHD_CONFIG: Final = "sshd_config"
AUTHORIZED_KEYS: Final = "authorized_keys"
AUTHORIZED_KEYS_SEEN: Final = "windlass.slurm.net/authorized-keys-seen"
AUTHORIZED_KEYS_DIR: Final = f"{SSH_DIR}/authorized_keys.d"
HOST_KEYS: Final = ("ssh_host_rsa_key", "ssh_host_ed25519_key", "ssh_host_ecdsa_key")
SSSD_CONF_PATH: Final = "/etc/sssd/sssd.conf"
SSSD_CONF: Final = "sssd.conf"

SLURM_DIR: Final = "/etc/slurm"
SACKD_DIR: Final = "/run/slurm"
SACKD_SOCKET: Final = f"{SACKD_DIR}/sack.socket"


def common_labels(login_set: Meta) -> dict[str, str]:
    return labels.common(DAEMON, login_set.name, COMPONENT)


def selector_labels(login_set: Meta) -> dict[str, str]:
    return labels.selector(DAEMON, login_set.name)
