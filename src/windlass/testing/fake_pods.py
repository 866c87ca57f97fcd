"""What only pods can be asked on the fake API server: to be bound and to be evicted."""

from collections.abc import Iterator, Mapping
from typing import Any

from windlass.kube import kinds
from windlass.testing import fake_deletion as deletion
from windlass.testing import fake_refusals as refusals
from windlass.testing import fake_selectors as selectors
from windlass.testing.fake_objects import Json, Objects
from windlass.values.key import Key


def bind(objects: Objects, key: Key, binding: Mapping[str, Any]) -> None:
    """Give a pod its node, once, and the labels and annotations that come with it."""
    pod = objects.get(kinds.POD, key)
    _check_free(pod, binding["metadata"].get("uid"))
    spec = {**pod["spec"], "nodeName": binding["target"]["name"]}
    status = pod["status"]
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": objects.time()}
    others = [each for each in status.get("conditions") or () if each["type"] != "PodScheduled"]
    bound = {
        **pod,
        "metadata": _told(pod["metadata"], binding["metadata"]),
        "spec": spec,
        "status": {**status, "conditions": [*others, scheduled]},
    }
    objects.write(kinds.POD, key, bound)


def _told(metadata: Json, given: Mapping[str, Any]) -> Json:
    brought = {
        name: {**(metadata.get(name) or {}), **given[name]}
        for name in ("labels", "annotations")
        if given.get(name)
    }
    return {**metadata, **brought}


def _check_free(pod: Json, uid: str | None) -> None:
    metadata = pod["metadata"]
    if uid and uid != metadata["uid"]:
        raise refusals.conflict(kinds.POD, metadata["name"], f"its uid is {metadata['uid']}")
    if "deletionTimestamp" in metadata:
        raise refusals.conflict(kinds.POD, metadata["name"], "it is being deleted")
    if node := pod["spec"].get("nodeName"):
        raise refusals.conflict(kinds.POD, metadata["name"], f"it is assigned to node {node}")


def evict(objects: Objects, key: Key, options: Mapping[str, Any]) -> None:
    """Delete a pod if its disruption budgets allow it; each eviction costs one disruption."""
    pod = objects.get(kinds.POD, key)
    ending = "deletionTimestamp" in pod["metadata"]
    if not ending and pod["status"].get("phase") not in ("Pending", "Succeeded", "Failed"):
        for place in list(_budgets(objects, key.namespace, pod)):
            _spend(objects, place, pod["metadata"]["name"])
    deletion.delete(objects, kinds.POD, key, options)


def _budgets(objects: Objects, namespace: str, pod: Json) -> Iterator[Key]:
    labels = pod["metadata"].get("labels") or {}
    for key, budget in objects.all(kinds.POD_DISRUPTION_BUDGET):
        selector = (budget.get("spec") or {}).get("selector")
        # A budget without a selector is for no pod, one with an empty selector for all.
        if (
            selector is not None
            and key.namespace == namespace
            and selectors.matches(selector, labels)
        ):
            yield key


def _spend(objects: Objects, key: Key, pod: str) -> None:
    budget = objects.get(kinds.POD_DISRUPTION_BUDGET, key)
    status = budget.get("status") or {}
    allowed = status.get("disruptionsAllowed", 0)
    if not allowed:
        raise refusals.budget_refuses(kinds.POD, pod, key.name)
    disrupted = {**(status.get("disruptedPods") or {}), pod: objects.time()}
    spent = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    objects.write(kinds.POD_DISRUPTION_BUDGET, key, {**budget, "status": spent})
