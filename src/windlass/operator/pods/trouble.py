"""Why a pod does not serve, from what Kubernetes says of it. Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from windlass.kube.objects import ContainerStatus, Pod
from windlass.values.reason import Reason

GRAVE: Final = ("fatal", "error")
LAST_WORDS: Final = 600
NO_IMAGE: Final = frozenset({"ErrImagePull", "ImagePullBackOff", "InvalidImageName"})
NOT_MADE: Final = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)


def troubles(pods: Iterable[Pod]) -> Iterator[Reason]:
    """What somebody must do something about, the first pod's first."""
    for pod in pods:
        if reason := unplaced(pod):
            yield reason
        for status in container_statuses(pod):
            if reason := stuck(status):
                yield reason


def container_statuses(pod: Pod) -> Iterator[ContainerStatus]:
    yield from pod.status.init_container_statuses or ()
    yield from pod.status.container_statuses or ()


def unplaced(pod: Pod) -> Reason | None:
    """That no node takes it."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled" and condition.reason == "Unschedulable":
            return Reason("Unschedulable", f"{pod.metadata.name}: {condition.message}")
    return None


def stuck(status: ContainerStatus) -> Reason | None:
    """That a container cannot start, or does not stay."""
    waits = status.state.waiting if status.state else None
    if waits and waits.reason in NO_IMAGE:
        return Reason("ImageMissing", f"{status.name}: {waits.message or waits.reason}")
    if waits and waits.reason in NOT_MADE:
        return Reason("NotStarted", f"{status.name}: {waits.message or waits.reason}")
    if status.ready or not status.restart_count:
        return None
    words = last_words(status) or "it left no word"
    return Reason("Crashing", f"{status.name} ended {status.restart_count} times: {words}")


def lacks_image(status: ContainerStatus) -> bool:
    waits = status.state.waiting if status.state else None
    return bool(waits and waits.reason in NO_IMAGE)


def last_words(status: ContainerStatus) -> str:
    """What it said when it ended; of a log, the end."""
    for state in (status.state, status.last_state):
        if state and state.terminated and (text := state.terminated.message.strip()):
            return _spoken(text)[-LAST_WORDS:]
    return ""


def _spoken(text: str) -> str:
    """The messages of a log of JSON lines, of which the first may be cut; other text as it is."""
    return "\n".join(filter(None, map(_message, text.splitlines()))) or text


def _message(line: str) -> str | None:
    try:
        said = msgspec.json.decode(line, type=_Said)
    except msgspec.MsgspecError:
        return None
    return f"{said.level}: {said.message}" if said.level in GRAVE else said.message


class _Said(msgspec.Struct):
    message: str
    level: str = ""
