"""A store against the plainest model of one: a dict."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from windlass.kube.meta import Meta, PartialObject
from windlass.kube.store import Change, Store
from windlass.values.key import Key


def thing(name: str, version: int = 1, *, uid: str = "u", zones: str = "") -> PartialObject:
    labels = {"zones": zones} if zones else None
    return PartialObject(
        metadata=Meta(name=name, uid=uid, resource_version=str(version), labels=labels)
    )


def zones(item: PartialObject) -> Iterable[str]:
    return (item.metadata.labels or {}).get("zones", "")


def key(name: str) -> Key:
    return Key("", name)


def test_what_is_put_is_found_by_key_and_by_index() -> None:
    store = Store({"zone": zones})
    a, b = thing("a", zones="xy"), thing("b", zones="y")
    store.put(a)
    store.put(b)
    assert store.get(key("a")) is a
    assert store.by("zone", "x") == [a]
    assert store.by("zone", "y") == [a, b]
    assert store.by("zone", "z") == []


def test_a_change_moves_an_object_between_the_values_of_an_index() -> None:
    store = Store({"zone": zones})
    store.put(thing("a", 1, zones="xy"))
    new = thing("a", 2, zones="yz")
    store.put(new)
    assert (store.by("zone", "x"), store.by("zone", "y")) == ([], [new])
    assert set(store.values("zone")) == {"y", "z"}


def test_what_is_known_is_no_change() -> None:
    store: Store[PartialObject] = Store()
    first = thing("a")
    store.put(first)
    assert store.put(thing("a")) is None
    assert store.get(key("a")) is first
    assert store.remove(key("never there")) is None


def test_a_namesake_is_a_change_even_at_the_same_version() -> None:
    store: Store[PartialObject] = Store()
    old, new = thing("a", uid="u1"), thing("a", uid="u2")
    store.put(old)
    assert store.put(new) == Change(old, new)


def test_a_relist_tells_exactly_what_differs() -> None:
    store: Store[PartialObject] = Store()
    kept, old, lost = thing("kept"), thing("changed", 1), thing("lost")
    store.replace([kept, old, lost])
    new, added = thing("changed", 2), thing("added")
    changes = store.replace([thing("kept"), new, added])
    assert changes == [Change(lost, None), Change(old, new), Change(None, added)]
    assert store.get(key("kept")) is kept


def test_subscribers_hear_of_it_after_the_store_shows_it() -> None:
    store = Store({"zone": zones})
    heard: list[tuple[Change[PartialObject], int]] = []
    store.subscribe(lambda old, new: heard.append((Change(old, new), len(store.by("zone", "x")))))
    a = thing("a", zones="x")
    store.put(a)
    store.put(thing("a", zones="x"))
    store.remove(key("a"))
    assert heard == [(Change(None, a), 1), (Change(a, None), 0)]


def test_a_reader_may_change_the_store_while_it_reads() -> None:
    store = Store({"zone": zones})
    store.replace([thing(name, zones="x") for name in "abc"])
    for item in store:
        store.remove(item.metadata.key)
    assert len(store) == 0


NAMES = st.sampled_from("abcd")
THINGS = st.builds(
    thing,
    NAMES,
    st.integers(1, 3),
    uid=st.sampled_from(["u1", "u2"]),
    zones=st.text("xyz", max_size=3),
)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), THINGS),
        st.tuples(st.just("remove"), NAMES.map(key)),
        st.tuples(st.just("replace"), st.lists(THINGS, max_size=4)),
    ),
    max_size=20,
)


@given(OPERATIONS)
def test_it_is_a_dict_with_indexes_and_every_change_is_told(
    operations: list[tuple[str, object]],
) -> None:
    store = Store({"zone": zones})
    told: dict[Key, PartialObject] = {}
    model: dict[Key, PartialObject] = {}

    def follow(old: PartialObject | None, new: PartialObject | None) -> None:
        at = (new or old or thing("?")).metadata.key
        assert told.pop(at, None) is old
        assert old is not None or new is not None
        if new is not None:
            told[at] = new

    store.subscribe(follow)
    for verb, argument in operations:
        getattr(store, verb)(argument)
        _apply_to(model, verb, argument)
        versions = {k: (v.metadata.uid, v.metadata.resource_version) for k, v in model.items()}
        stored = {
            each.metadata.key: (each.metadata.uid, each.metadata.resource_version) for each in store
        }
        assert stored == versions
        assert {each.metadata.key: each for each in store} == told
        for zone in "xyz":
            want = [each for each in store if zone in zones(each)]
            assert sorted(store.by("zone", zone), key=_name) == sorted(want, key=_name)


def _name(item: PartialObject) -> str:
    return item.metadata.name


def _apply_to(model: dict[Key, PartialObject], verb: str, argument: object) -> None:
    if isinstance(argument, PartialObject):
        model[argument.metadata.key] = argument
    elif isinstance(argument, Key):
        model.pop(argument, None)
    elif isinstance(argument, list):
        model.clear()
        model.update({each.metadata.key: each for each in argument})
