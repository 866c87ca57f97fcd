"""Which sort of pod a NodeSet wants, as a short text that its pods carry."""

import json
from typing import Any, Final

import msgspec

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.objects import Pod
from windlass.operator.hashes import digest
from windlass.operator.workers import ssh

LENGTH: Final = 10


def payload(node_set: NodeSet) -> dict[str, Any]:
    """What of a spec only a new pod can take up; not replicas, not the partition."""
    spec = node_set.spec
    fields = {
        "template": spec.template,
        "slurmd": spec.slurmd,
        "logfile": spec.logfile,
        "ssh": spec.ssh,
        "extraConf": spec.extra_conf,
        "ordinalPadding": spec.ordinal_padding,
        "oversubscribeNode": spec.oversubscribe_node,
    }
    found: dict[str, Any] = msgspec.to_builtins(fields)
    return found


def revision(node_set: NodeSet, sssd_conf: bytes | None, collisions: int = 0) -> str:
    """Changes with the payload, and once more for each time that another had the same text."""
    parts: list[str | bytes] = [json.dumps(payload(node_set), sort_keys=True)]
    if node_set.spec.ssh.enabled:
        parts += [ssh.sshd_config(node_set), sssd_conf or b""]
    if collisions:
        parts.append(str(collisions))
    return digest(*parts)[:LENGTH]


def revision_of(pod: Pod) -> str:
    return (pod.metadata.labels or {}).get(labels.REVISION, "")
