"""What is known of slurmdbd: from the StatefulSet, and from its pod where that says why not."""

from collections.abc import Iterator
from typing import Any, Final

from windlass.api import names
from windlass.api.accounting import Accounting
from windlass.kube.objects import ContainerStatus
from windlass.operator.conditions import Verdict
from windlass.operator.judgement import broken, ready, underway
from windlass.operator.pods.service import port_of
from windlass.operator.pods.trouble import container_statuses, lacks_image, last_words, troubles
from windlass.operator.slurmdbd.children import WAITING
from windlass.operator.slurmdbd.observe import Observed
from windlass.values.reason import Reason

NOT_YET: Final = frozenset({"PodInitializing", "ContainerCreating"})


def address(accounting: Accounting) -> str:
    """Where slurmdbd answers."""
    spec = accounting.spec
    if spec.external and spec.external_config:
        return f"{spec.external_config.host}:{spec.external_config.port}"
    at = accounting.metadata
    return f"{names.slurmdbd(at.name)}.{at.namespace}:{port_of(spec.service, names.SLURMDBD_PORT)}"


def external(accounting: Accounting) -> tuple[Verdict, ...]:
    return ready(Reason("External", f"slurmdbd at {address(accounting)} is not run here"))


def serves(observed: Observed) -> bool:
    return bool(((observed.stateful_set or {}).get("status") or {}).get("readyReplicas"))


def verdicts(observed: Observed) -> tuple[Verdict, ...]:
    """What the StatefulSet and its pod show."""
    if not serves(observed):
        return _not_serving(observed)
    assert observed.stateful_set is not None
    if not _is_current(observed.stateful_set):
        return underway(Reason("Starting", "slurmdbd is started again"), available=True)
    return ready(Reason("Serving", f"slurmdbd answers at {address(observed.accounting)}"))


def _not_serving(observed: Observed) -> tuple[Verdict, ...]:
    if observed.stateful_set is None:
        return underway(Reason("Creating", "slurmdbd is about to be made"), available=False)
    waits = next(_waiting(observed), None)
    if waits is not None:
        return underway(Reason("WaitingForDatabase", waits), available=False)
    wrong = next(troubles(observed.pods), None)
    if wrong is not None:
        return broken(wrong)
    return underway(Reason("Starting", "slurmdbd starts"), available=False)


def _is_current(live: dict[str, Any]) -> bool:
    """Whether what runs is what was asked for last."""
    status = live.get("status") or {}
    return bool(
        status.get("observedGeneration", 0) >= live["metadata"].get("generation", 0)
        and status.get("updatedReplicas", 0) >= 1
    )


def _waiting(observed: Observed) -> Iterator[str]:
    """That the database does not answer, and in the words of who asks it."""
    storage = observed.storage
    assert storage is not None
    for pod in observed.pods:
        for status in container_statuses(pod):
            if status.name == WAITING and _asks(status):
                words = last_words(status)
                where = f"slurmdbd waits for {storage.host}:{storage.port}"
                yield f"{where}: {words}" if words else where


def _asks(status: ContainerStatus) -> bool:
    """Whether it has begun to ask and has no answer."""
    state = status.state
    if state is None or lacks_image(status):
        return False
    if state.terminated:
        return state.terminated.exit_code != 0
    return not (state.waiting and state.waiting.reason in NOT_YET)
