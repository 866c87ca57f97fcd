"""sshd's configuration and the keys that may log in as root.

Root's keys are not mounted at /root/.ssh: a file mounted alone never changes in a running
pod, so a key that was taken back would still open it, and a folder of a ConfigMap fails sshd's
check of modes. sshd reads them through a command instead, at each login.
"""

from typing import Any, Final

from windlass.api import names
from windlass.kube.kinds import LOGIN_SET
from windlass.kube.meta import Meta
from windlass.operator import owned, sshd
from windlass.operator.logins import words

OURS: Final = (
    "Include /etc/ssh/sshd_config.d/*.conf",
    "UsePAM yes",
    "X11Forwarding yes",
    "Subsystem sftp internal-sftp",
)
ROOT: Final = f"""
Match User root
AuthorizedKeysCommand /bin/cat {words.AUTHORIZED_KEYS_DIR}/root
AuthorizedKeysCommandUser nobody
"""


def config_map(owner: Meta, config: str, keys: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": owned.metadata(
            owner, LOGIN_SET, names.ssh_config(owner.name), words.common_labels(owner)
        ),
        "data": {words.AUTHORIZED_KEYS: keys, words.SSHD_CONFIG: config},
    }


def sshd_config(extra: str) -> str:
    return sshd.sshd_config(OURS, extra, ROOT)


def authorized_keys(keys: str) -> str:
    given = keys.rstrip("\n")
    return "#\n### SLINKY ###\n" + (f"{given}\n" if given else "")
