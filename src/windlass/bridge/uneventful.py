"""Changes of a pod for which nobody has to look, or not at once."""

from windlass.bridge.observed import bound, ended, kept, leaving, unmarked
from windlass.kube.objects import Pod


def seated(old: Pod, new: Pod) -> bool:
    """Whether all that happened is that it got its place: it has to be held, which can wait."""
    return not bound(old) and unmarked(new) and old.metadata.uid == new.metadata.uid


def uneventful(old: Pod, new: Pod) -> bool:
    """Whether a pod goes on in its place: what differs is how its containers fare, or that it is
    held."""
    if not (_stays(old) and _stays(new)) or _said(old) != _said(new) or old.spec != new.spec:
        return False
    return kept(new) or old.metadata.finalizers == new.metadata.finalizers


def _stays(pod: Pod) -> bool:
    return bound(pod) and not ended(pod) and not leaving(pod)


def _said(pod: Pod) -> tuple[object, ...]:
    meta = pod.metadata
    return meta.uid, meta.labels, meta.annotations, meta.owner_references
