"""The volumes of a worker pod, and the claims that are its own."""

from collections.abc import Iterator
from typing import Any

from windlass.api import names
from windlass.api.node_set import NodeSet
from windlass.kube.kinds import NODE_SET
from windlass.kube.objects import Pod
from windlass.operator import owned
from windlass.operator.keys import slurm_key_sources
from windlass.operator.membership import Membership
from windlass.operator.workers import words
from windlass.operator.workers.identity import Identity
from windlass.operator.workers.observe import Observed


def volumes(observed: Observed, cluster: Membership) -> list[dict[str, Any]]:
    sources = slurm_key_sources(cluster.keys)
    programs = {"name": names.programs(cluster.controller.metadata.name), "optional": True}
    return [
        {
            "name": "slurm-etc",
            "projected": {"defaultMode": 0o600, "sources": sources},
        },
        {"name": "slurm-logfile", "emptyDir": {"medium": "Memory"}},
        {"name": "programs", "configMap": programs},
        *_ssh(observed),
    ]


def claimed(node_set: NodeSet, worker: Identity) -> list[dict[str, Any]]:
    """The volumes that stand for claims of this worker's own."""
    return [
        {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": _claim_name(node_set, template, worker)},
        }
        for template in node_set.spec.volume_claim_templates or ()
    ]


def claims(node_set: NodeSet, worker: Identity) -> list[dict[str, Any]]:
    """Made before the pod, and found again by the next pod of that number."""
    return [
        _claim(node_set, template, worker)
        for template in node_set.spec.volume_claim_templates or ()
    ]


def claim_names(node_set: NodeSet, worker: Identity) -> frozenset[str]:
    templates = node_set.spec.volume_claim_templates or ()
    return frozenset(_claim_name(node_set, each, worker) for each in templates)


def mounted(pod: Pod) -> Iterator[str]:
    """The names of the claims that a pod uses."""
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            yield volume.persistent_volume_claim.claim_name


def claim_suffix(node_set: NodeSet, name: str) -> str:
    """Whose a claim is, by the end of its name; empty where it is of none of our templates."""
    for template in node_set.spec.volume_claim_templates or ():
        start = f"{template['metadata']['name']}-{node_set.metadata.name}-"
        if name.startswith(start):
            return name.removeprefix(start)
    return ""


def claim_owner(node_set: NodeSet) -> dict[str, Any]:
    """The set as the owner of claims that go with it."""
    return {**owned.reference(node_set.metadata, NODE_SET), "controller": True}


def _claim(node_set: NodeSet, template: dict[str, Any], worker: Identity) -> dict[str, Any]:
    meta = node_set.metadata
    given = template["metadata"]
    labels = {**(given.get("labels") or {}), **words.selector_labels(meta)}
    name = _claim_name(node_set, template, worker)
    made = owned.metadata(meta, NODE_SET, name, labels, given.get("annotations"))
    if node_set.spec.persistent_volume_claim_retention_policy.when_deleted != "Delete":
        del made["ownerReferences"]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": made,
        "spec": template.get("spec") or {},
    }


def _claim_name(node_set: NodeSet, template: dict[str, Any], worker: Identity) -> str:
    return f"{template['metadata']['name']}-{node_set.metadata.name}-{worker.suffix}"


def _ssh(observed: Observed) -> list[dict[str, Any]]:
    node_set = observed.node_set
    ssh = node_set.spec.ssh
    if not ssh.enabled:
        return []
    config = {"name": names.ssh_config(node_set.metadata.name), "defaultMode": 0o600}
    found: list[dict[str, Any]] = [{"name": "ssh-config", "configMap": config}]
    if ssh.sssd_conf_ref and observed.sssd_conf is not None:
        items = [{"key": ssh.sssd_conf_ref.key, "path": words.SSSD_CONF}]
        source = {"secretName": ssh.sssd_conf_ref.name, "defaultMode": 0o600, "items": items}
        found.append({"name": "sssd-conf", "secret": source})
    return found
