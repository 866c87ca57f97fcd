"""Brings a changed Secret or ConfigMap into running pods at once.

The kubelet looks into a pod's volumes about once a minute, and whenever the pod itself changes.
"""

from collections.abc import Iterable, Iterator

from windlass.kube.kinds import POD
from windlass.kube.objects import Pod
from windlass.operator.plan import Annotate


def refreshed(pods: Iterable[Pod], annotation: str, content: str) -> Iterator[Annotate]:
    """Annotate those that have not been told of this content yet; it is given as its hash."""
    for pod in pods:
        known = (pod.metadata.annotations or {}).get(annotation)
        if known != content and pod.metadata.deletion_timestamp is None:
            yield Annotate(POD, pod.metadata.key, {annotation: content})
