"""The two containers of a login pod."""

from collections.abc import Mapping
from typing import Any, Final

from windlass.api import names
from windlass.api.controller import Controller
from windlass.api.login_set import LoginSet
from windlass.operator import joining
from windlass.operator.logins import words
from windlass.operator.logins.observe import Observed
from windlass.operator.pods.merge import merge_container

SACKD_OPTIONS: Final = "SACKD_OPTIONS"
# A value that is not known here (from a Secret, say) is joined by the kubelet under this name.
THEIR_SACKD_OPTIONS: Final = "SACKD_OPTIONS_GIVEN"

# A projected volume cannot be given to a user, and sackd takes no key that is not its own. sackd's
# folder is everybody's, as the kubelet makes it: the sticky bit keeps people who are logged in from
# putting another socket or slurm.conf in the place of sackd's.
COPY: Final = f"""set -eu
umask 077
owner=$(id -u "$SLURM_USER" 2>/dev/null || echo {names.SLURM_UID})
group=$(id -g "$SLURM_USER" 2>/dev/null || echo {names.SLURM_UID})
mkdir -p /mnt/etc/slurm
for file in /mnt/slurm/*.conf /mnt/slurm/*.key /mnt/slurm/*.jwks; do
  [ -f "$file" ] || continue
  copy=/mnt/etc/slurm/${{file##*/}}
  cp "$file" "$copy"
  chown "$owner:$group" "$copy"
  case $copy in
    */slurmdbd.conf | *.key | *.jwks) chmod 600 "$copy" ;;
    *) chmod 644 "$copy" ;;
  esac
done
chown "$owner:$group" /mnt/etc/slurm
chmod 755 /mnt/etc/slurm
chmod 1777 /mnt/run/slurm
"""


def initconf(login_set: LoginSet, image: str) -> dict[str, Any]:
    """Copies slurm.key to where sackd owns it; runs in any image that has a POSIX shell."""
    base = {
        "name": "initconf",
        "image": (login_set.spec.login or {}).get("image") or image,
        "command": ["sh", "-c", COPY],
        "env": [{"name": "SLURM_USER", "value": "slurm"}],
        "volumeMounts": [
            {"name": "slurm-config", "mountPath": "/mnt/slurm", "readOnly": True},
            {"name": "slurm-etc", "mountPath": "/mnt/etc/slurm"},
            {"name": "sackd-dir", "mountPath": "/mnt/run/slurm"},
        ],
    }
    return merge_container(base, login_set.spec.initconf)


def login(observed: Observed, controller: Controller) -> dict[str, Any]:
    user = dict(observed.login_set.spec.login or {})
    env = user.pop("env", None) or ()
    given = [entry for entry in env if entry.get("name") == SACKD_OPTIONS]
    if len(env) > len(given):
        user["env"] = [entry for entry in env if entry not in given]
    base: dict[str, Any] = {
        "name": words.CONTAINER,
        "image": observed.site.images.login,
        "env": _sackd_options(controller, given[-1] if given else {}),
        "readinessProbe": {"exec": {"command": ["test", "-S", words.SACKD_SOCKET]}},
        "volumeMounts": _mounts(observed),
    }
    ports = user.get("ports") or ()
    if not any(port.get("name") == words.PORT_NAME for port in ports):
        port = {"name": words.PORT_NAME, "containerPort": names.SSH_PORT, "protocol": "TCP"}
        base["ports"] = [port]
    return merge_container(base, user)


def _sackd_options(controller: Controller, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Our options, then the user's: more of them must not cost us the address of slurmctld."""
    ours = f"--conf-server {joining.conf_server(controller)}"
    if given.get("valueFrom"):
        theirs = {"name": THEIR_SACKD_OPTIONS, "valueFrom": given["valueFrom"]}
        return [theirs, {"name": SACKD_OPTIONS, "value": f"{ours} $({THEIR_SACKD_OPTIONS})"}]
    return [{"name": SACKD_OPTIONS, "value": f"{ours} {given.get('value', '')}".rstrip()}]


def _mounts(observed: Observed) -> list[dict[str, Any]]:
    mounts: list[dict[str, Any]] = [
        {"name": "slurm-etc", "mountPath": words.SLURM_DIR, "readOnly": True},
        {"name": "sackd-dir", "mountPath": words.SACKD_DIR},
        *(_file("ssh-host-keys", f"{words.SSH_DIR}/{file}", file) for file in observed.host_keys),
        _file("ssh-config", f"{words.SSH_DIR}/{words.SSHD_CONFIG}", words.SSHD_CONFIG),
        {
            "name": "ssh-authorized-keys",
            "mountPath": words.AUTHORIZED_KEYS_DIR,
            "readOnly": True,
        },
    ]
    if observed.sssd_conf is not None:
        mounts.append(_file("sssd-conf", words.SSSD_CONF_PATH, words.SSSD_CONF))
    return mounts


def _file(volume: str, path: str, entry: str) -> dict[str, Any]:
    return {"name": volume, "mountPath": path, "subPath": entry, "readOnly": True}
