import time

import pytest

from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.meta import Meta, OwnerReference, PartialObject
from windlass.kube.queue import Queue
from windlass.kube.waking import itself, owner, waking
from windlass.values.key import Key


def item(owner_name: str = "", kind: Kind = kinds.NODE_SET) -> PartialObject:
    reference = OwnerReference(
        api_version=kind.api_version, kind=kind.kind, name=owner_name, controller=True
    )
    owners = [reference] if owner_name else []
    return PartialObject(metadata=Meta(namespace="ns", name="pod", owner_references=owners))


@pytest.mark.parametrize(
    ("found", "of", "want"),
    [
        (item("a"), kinds.NODE_SET, (Key("ns", "a"),)),
        (item("a"), kinds.LOGIN_SET, ()),
        (item("n", kinds.NODE), kinds.NODE, (Key("", "n"),)),
        (item(), kinds.NODE_SET, ()),
    ],
    ids=["of the kind", "of another kind", "of the cluster", "of nobody"],
)
def test_the_owner_of_a_kind_is_found(
    found: PartialObject, of: Kind, want: tuple[Key, ...]
) -> None:
    assert owner(of)(found) == want


def test_a_child_that_changes_hands_wakes_both_owners() -> None:
    queue: Queue[Key] = Queue(time.monotonic)
    waking(queue, owner(kinds.NODE_SET))(item("a"), item("b"))
    assert len(queue) == 2


def test_an_object_wakes_itself_once_whether_it_comes_changes_or_goes() -> None:
    queue: Queue[Key] = Queue(time.monotonic)
    wake = waking(queue, itself)
    wake(None, item())
    wake(item(), item())
    wake(item(), None)
    assert len(queue) == 1
