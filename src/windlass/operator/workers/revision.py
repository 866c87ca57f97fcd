"""Which sort of pod a NodeSet wants, as a short text that its pods carry."""

import json
from typing import Final

import msgspec

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.objects import Pod
from windlass.operator.hashes import digest
from windlass.operator.workers import ssh

LENGTH: Final = 10


def revision(node_set: NodeSet, sssd_conf: bytes | None) -> str:
    """Changes with what only a new pod can take up; not with replicas or the partition."""
    spec = node_set.spec
    payload = {
        "template": spec.template,
        "slurmd": spec.slurmd,
        "logfile": spec.logfile,
        "ssh": spec.ssh,
        "extraConf": spec.extra_conf,
        "ordinalPadding": spec.ordinal_padding,
        "oversubscribeNode": spec.oversubscribe_node,
    }
    text = json.dumps(msgspec.to_builtins(payload), sort_keys=True)
    parts: list[str | bytes] = [text]
    if spec.ssh.enabled:
        parts += [ssh.sshd_config(node_set), sssd_conf or b""]
    return digest(*parts)[:LENGTH]


def revision_of(pod: Pod) -> str:
    return (pod.metadata.labels or {}).get(labels.REVISION, "")
