"""What is known of slurmdbd: from the StatefulSet, and from its pod where that says why not."""

from collections.abc import Iterator
from typing import Any, Final

from windlass.api import names
from windlass.api.accounting import Accounting
from windlass.kube.objects import ContainerStatus, Pod
from windlass.operator.conditions import Verdict
from windlass.operator.judgement import broken, ready, underway
from windlass.operator.pods.service import port_of
from windlass.operator.slurmdbd.children import DAEMON, WAITING
from windlass.operator.slurmdbd.observe import Observed
from windlass.values.reason import Reason

LAST_WORDS: Final = 600
PULLING: Final = frozenset({"PodInitializing", "ContainerCreating"})


def address(accounting: Accounting) -> str:
    """Where slurmdbd answers."""
    spec = accounting.spec
    if spec.external and spec.external_config:
        return f"{spec.external_config.host}:{spec.external_config.port}"
    at = accounting.metadata
    return f"{names.slurmdbd(at.name)}.{at.namespace}:{port_of(spec.service, names.SLURMDBD_PORT)}"


def external(accounting: Accounting) -> tuple[Verdict, ...]:
    return ready(Reason("External", f"slurmdbd at {address(accounting)} is not run here"))


def verdicts(observed: Observed) -> tuple[Verdict, ...]:
    """What the StatefulSet and its pod show."""
    live = (observed.stateful_set or {}).get("status") or {}
    serves = bool(live.get("readyReplicas"))
    trouble = next(_troubles(observed), None)
    if trouble is not None and not serves:
        wrong, reason = trouble
        return broken(reason) if wrong else underway(reason, available=False)
    if observed.stateful_set is None:
        return underway(Reason("Creating", "slurmdbd is about to be made"), available=False)
    if not serves or not _is_current(observed.stateful_set):
        return underway(Reason("Starting", "slurmdbd starts"), available=serves)
    return ready(Reason("Serving", f"slurmdbd answers at {address(observed.accounting)}"))


def _is_current(live: dict[str, Any]) -> bool:
    """Whether what runs is what was asked for last."""
    status = live.get("status") or {}
    return bool(
        status.get("observedGeneration", 0) >= live["metadata"].get("generation", 0)
        and status.get("updatedReplicas", 0) >= 1
    )


def _troubles(observed: Observed) -> Iterator[tuple[bool, Reason]]:
    """What keeps the pod from serving, and whether somebody must do something about it."""
    for pod in observed.pods:
        for status in _statuses(pod):
            if status.name == WAITING and not _is_over(status):
                yield False, Reason("WaitingForDatabase", _waits(observed, status))
            elif reason := _stuck(status):
                yield True, reason


def _statuses(pod: Pod) -> Iterator[ContainerStatus]:
    yield from pod.status.init_container_statuses or ()
    yield from pod.status.container_statuses or ()


def _is_over(status: ContainerStatus) -> bool:
    """Whether it ended well, or has not begun because its image is not there."""
    state = status.state
    if state and state.terminated:
        return state.terminated.exit_code == 0
    waits = state.waiting.reason if state and state.waiting else ""
    return waits in PULLING or _pulls_badly(waits)


def _waits(observed: Observed, status: ContainerStatus) -> str:
    storage = observed.storage
    where = f"{storage.host}:{storage.port}" if storage else "the database"
    words = _last_words(status)
    return f"slurmdbd waits for {where}: {words}" if words else f"slurmdbd waits for {where}"


def _stuck(status: ContainerStatus) -> Reason | None:
    waits = status.state.waiting if status.state else None
    if waits and _pulls_badly(waits.reason):
        return Reason("ImageMissing", f"{status.name}: {waits.message or waits.reason}")
    if status.name == DAEMON and not status.ready and status.restart_count:
        words = _last_words(status) or "it left no word"
        return Reason("Crashing", f"slurmdbd ended {status.restart_count} times: {words}")
    return None


def _pulls_badly(reason: str) -> bool:
    return reason in ("ErrImagePull", "ImagePullBackOff", "InvalidImageName")


def _last_words(status: ContainerStatus) -> str:
    """What it said when it ended; of a log, the end."""
    for state in (status.state, status.last_state):
        if state and state.terminated and (text := state.terminated.message.strip()):
            return text[-LAST_WORDS:]
    return ""
