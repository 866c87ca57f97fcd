"""One worker pod."""

from dataclasses import dataclass
from typing import Any

import msgspec

from windlass.api import labels, names
from windlass.api.common import PodTemplate
from windlass.api.node_set import NodeSet
from windlass.kube.kinds import NODE_SET
from windlass.kube.placement import pinned
from windlass.operator import joining, owned
from windlass.operator.keys import slurm_key_hash
from windlass.operator.membership import Membership
from windlass.operator.pods.template import Layers, pod_template
from windlass.operator.workers import words
from windlass.operator.workers.hosts import tolerations
from windlass.operator.workers.identity import Identity
from windlass.operator.workers.logfile import logfile
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.slurmd import slurmd
from windlass.operator.workers.volumes import claimed, volumes


@dataclass(frozen=True, slots=True)
class Mould:
    """What all pods of a revision have in common, rendered once for a thousand of them."""

    node_set: NodeSet
    controller: str
    revision: str
    metadata: dict[str, Any]
    spec: dict[str, Any]


def mould(observed: Observed, cluster: Membership, revision: str) -> Mould:
    node_set = observed.node_set
    name = cluster.controller.metadata.name
    layers = Layers(
        cr=node_set.metadata,
        template=_without_identity(node_set.spec.template),
        labels={
            **words.common_labels(node_set.metadata, name),
            labels.SCALING_MODE: node_set.spec.scaling_mode,
            labels.REVISION: revision,
        },
        annotations=_annotations(observed, cluster),
        container=words.CONTAINER,
    )
    made = pod_template(layers, _spec(observed, cluster))
    return Mould(node_set, name, revision, made["metadata"], made["spec"])


def _annotations(observed: Observed, cluster: Membership) -> dict[str, str]:
    found = {labels.SLURM_KEY_HASH: key_hash(cluster)}
    if observed.start_conf:
        found[labels.SLURM_CONFIG_HASH] = observed.start_conf
    return found


def key_hash(cluster: Membership) -> str:
    return slurm_key_hash(cluster.slurm_secret, cluster.keys.slurm)


def worker_pod(shape: Mould, worker: Identity) -> dict[str, Any]:
    """The pod of this worker; its name says which, so that it cannot be made twice."""
    own = {labels.POD_NAME: worker.pod, labels.POD_HOSTNAME: worker.hostname}
    if worker.index:
        own[labels.POD_INDEX] = worker.index
    annotations = shape.metadata["annotations"]
    if worker.failures:
        annotations = {**annotations, labels.POD_FAILURES: str(worker.failures)}
    spec = {**shape.spec, "hostname": worker.hostname}
    if worker.host:
        spec["affinity"] = pinned(spec.get("affinity"), worker.host)
    ours = claimed(shape.node_set, worker)
    if ours:
        taken = {volume["name"] for volume in ours}
        others = [volume for volume in spec["volumes"] if volume["name"] not in taken]
        spec["volumes"] = [*others, *ours]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": owned.metadata(
            shape.node_set.metadata,
            NODE_SET,
            worker.pod,
            {**shape.metadata["labels"], **own},
            annotations,
        ),
        "spec": spec,
    }


def _spec(observed: Observed, cluster: Membership) -> dict[str, Any]:
    node_set, controller = observed.node_set, cluster.controller
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "subdomain": names.workers(controller.metadata.name),
        "dnsConfig": {"searches": [joining.workers_domain(controller, observed.site.domain)]},
        "tolerations": tolerations(node_set),
        "initContainers": [logfile(node_set, observed.site.images.slurmd)],
        "containers": [slurmd(observed, controller)],
        "volumes": volumes(observed, cluster),
    }
    if not node_set.spec.oversubscribe_node:
        spec["affinity"] = _alone_on_its_node()
    if (node_set.spec.template.spec or {}).get("hostNetwork"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    return spec


def _alone_on_its_node() -> dict[str, Any]:
    """Two slurmd on one node would both offer all of it to jobs."""
    workers = {"key": labels.NAME, "operator": "In", "values": [words.DAEMON]}
    term = {
        "labelSelector": {"matchExpressions": [workers]},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _without_identity(template: PodTemplate) -> PodTemplate:
    """The hostname of a template is only the start of one, and nodes are the scheduler's choice."""
    given = template.spec or {}
    rest = {name: value for name, value in given.items() if name not in ("hostname", "nodeName")}
    return msgspec.structs.replace(template, spec=rest)
