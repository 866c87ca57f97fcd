"""The PodDisruptionBudget that keeps workers with jobs from being evicted."""

from collections.abc import Iterable
from typing import Any

from windlass.api import labels, names
from windlass.kube.meta import Meta
from windlass.operator.workers.service import shared_metadata


def workers_budget(namespace: str, controller: str, owners: Iterable[Meta]) -> dict[str, Any]:
    """None of the protected may go."""
    name = names.workers_budget(controller)
    protected = {labels.POD_PROTECT: "true", labels.CLUSTER: controller}
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": shared_metadata(namespace, name, controller, owners),
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": protected}},
    }
