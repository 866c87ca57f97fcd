"""Pods that this process has bound, for as long as the watch does not show it.

A watch may lag. What was written meanwhile is on its node all the same, and must not be forgotten
when its job ends and another gets the place.
"""

from collections import Counter
from collections.abc import Iterator

from windlass.bridge.plan import Target
from windlass.kube.objects import Pod
from windlass.kube.store import Store
from windlass.values.key import Key


class Seats:
    def __init__(self, pods: Store[Pod]) -> None:
        self._pods = pods
        self._taken: dict[Key, tuple[str, int, str]] = {}
        """Uid, job and node."""
        self._on: dict[str, dict[Key, None]] = {}
        self._of: Counter[int] = Counter()
        """How many, by job."""
        pods.subscribe(self._changed)

    def take(self, pod: Target, job: int, node: str) -> None:
        """A binding is sent: whether it arrives, the watch will show."""
        self.leave(pod.key)
        shown = self._pods.get(pod.key)
        if shown is not None and not _open(shown, pod.uid):
            return
        self._taken[pod.key] = pod.uid, job, node
        self._on.setdefault(node, {})[pod.key] = None
        self._of[job] += 1

    def leave(self, key: Key) -> None:
        found = self._taken.pop(key, None)
        if found is None:
            return
        _, job, node = found
        del self._on[node][key]
        if not self._on[node]:
            del self._on[node]
        self._of[job] -= 1
        if not self._of[job]:
            del self._of[job]

    def of(self, job: int) -> bool:
        """Whether a job may have pods on nodes that are not shown there."""
        return job in self._of

    def on(self, node: str) -> Iterator[tuple[Pod, int]]:
        """Pods that may be on a node though they are not shown there, each with its job."""
        for key in self._on.get(node, ()):
            uid, job, _ = self._taken[key]
            pod = self._pods.get(key)
            if pod is not None and pod.metadata.uid == uid:
                yield pod, job

    def _changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is None and old is not None:
            self.leave(old.metadata.key)
        elif new is not None:
            taken = self._taken.get(new.metadata.key)
            if taken is not None and not _open(new, taken[0]):
                self.leave(new.metadata.key)


def _open(pod: Pod, uid: str) -> bool:
    """Whether a pod may have got a node that is not shown yet: none does that is being deleted, nor
    one whose name another has."""
    meta = pod.metadata
    return meta.uid == uid and not pod.spec.node_name and meta.deletion_timestamp is None
