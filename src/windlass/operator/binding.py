"""A worker pod learns the topology of its node as it is bound, before slurmd starts.

The annotation is written on the Binding: the API server copies it to the pod in the same write
that gives the pod its node.
"""

from typing import Final

from windlass.api import labels
from windlass.kube import kinds, requests
from windlass.kube.admission import Allowed, Decision, Handler, Object, Review, changed
from windlass.kube.requests import Sends
from windlass.operator.placing import topology_of
from windlass.values.key import Key

PATH: Final = "/mutate--v1-binding"


def handler(client: Sends, pattern: str = "") -> Handler:
    """With the pattern by which labels of a node tell where it is, if its annotation does not."""

    async def bind(review: Review) -> Decision:
        node = _target(review.new or {})
        if review.new is None or not node:
            return Allowed()
        pod = await client.send(
            requests.get_metadata(kinds.POD, Key(review.namespace, review.name))
        )
        if (pod.metadata.labels or {}).get(labels.NAME) != "slurmd":
            return Allowed()
        found = await client.send(requests.get_metadata(kinds.NODE, Key("", node)))
        topology = topology_of(found.metadata, pattern) or ""
        if (pod.metadata.annotations or {}).get(labels.TOPOLOGY, "") == topology:
            return Allowed()
        return changed(review, _annotated(review.new, topology))

    return bind


def _target(binding: Object) -> str:
    target = binding.get("target") or {}
    return str(target.get("name", "")) if target.get("kind", "Node") == "Node" else ""


def _annotated(binding: Object, topology: str) -> Object:
    metadata = binding.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), labels.TOPOLOGY: topology}
    return {**binding, "metadata": {**metadata, "annotations": annotations}}
