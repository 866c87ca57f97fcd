"""sshd's configuration and the keys that may log in as root.

sshd takes the first value it reads, so a line of ours that the user's configuration also sets is
left out. Root's keys are not mounted at /root/.ssh: a file mounted alone never changes in a running
pod, so a key that was taken back would still open it, and a folder of a ConfigMap fails sshd's
check of modes. sshd reads them through a command instead, at each login.
"""

from typing import Any, Final

from windlass.api import names
from windlass.kube.kinds import LOGIN_SET
from windlass.kube.meta import Meta
from windlass.operator import owned
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


def config_map(owner: Meta, sshd: str, keys: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": owned.metadata(
            owner, LOGIN_SET, names.ssh_config(owner.name), words.common_labels(owner)
        ),
        "data": {words.AUTHORIZED_KEYS: keys, words.SSHD_CONFIG: sshd},
    }


def sshd_config(extra: str) -> str:
    theirs = _settings(extra)
    ours = [line for line in OURS if _setting(line) not in theirs]
    lines = ["#", "### SLINKY ###", *ours]
    if extra.strip():
        lines += ["#", "### EXTRA CONFIG ###", extra.rstrip("\n")]
    return "\n".join(lines) + "\n" + ROOT


def authorized_keys(keys: str) -> str:
    given = keys.rstrip("\n")
    return "#\n### SLINKY ###\n" + (f"{given}\n" if given else "")


def _settings(extra: str) -> set[tuple[str, ...]]:
    """What is set for everybody: up to the first Match."""
    found = set()
    for line in extra.splitlines():
        setting = _setting(line)
        if setting == ("match",):
            break
        found.add(setting)
    return found


def _setting(line: str) -> tuple[str, ...]:
    """What a line sets; each Subsystem and each Include is a setting of its own."""
    words_of_line = line.replace("=", " ", 1).split()
    keyword = words_of_line[0].lower() if words_of_line else ""
    if keyword in ("subsystem", "include"):
        return (keyword, *words_of_line[1:2])
    return (keyword,)
