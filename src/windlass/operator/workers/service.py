"""The headless Service that gives all workers of a cluster names; its NodeSets own it together."""

from collections.abc import Iterable
from typing import Any

from windlass.api import labels, names
from windlass.kube.kinds import NODE_SET
from windlass.kube.meta import Meta
from windlass.operator import owned
from windlass.operator.workers import words


def workers_service(namespace: str, controller: str, owners: Iterable[Meta]) -> dict[str, Any]:
    """The same whichever of its owners renders it, so that they do not quarrel."""
    port = {
        "name": words.DAEMON,
        "port": names.SLURMD_PORT,
        "targetPort": words.DAEMON,
        "protocol": "TCP",
    }
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": shared_metadata(namespace, names.workers(controller), controller, owners),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "ports": [port],
            "selector": {labels.NAME: words.DAEMON, labels.CLUSTER: controller},
        },
    }


def shared_metadata(
    namespace: str, name: str, controller: str, owners: Iterable[Meta]
) -> dict[str, Any]:
    ordered = sorted(owners, key=lambda owner: owner.name)
    return {
        "name": name,
        "namespace": namespace,
        "labels": words.shared_labels(controller),
        "ownerReferences": [owned.reference(owner, NODE_SET) for owner in ordered],
    }
