"""List, then watch, without a server: each case is a state, what happened, and what follows."""

from dataclasses import dataclass

import pytest

from windlass.kube import kinds, requests
from windlass.kube.errors import (
    Forbidden,
    Gone,
    KubeError,
    Silent,
    Status,
    TooManyRequests,
    Unavailable,
    Unreachable,
    Unreadable,
)
from windlass.kube.meta import Meta, PartialObject
from windlass.kube.requests import Paging, Request, Selection
from windlass.kube.watch import (
    Ask,
    Follow,
    Listing,
    ListWatch,
    Pace,
    Put,
    Removed,
    Replaced,
    Rest,
    Step,
    Watched,
    Watching,
)
from windlass.kube.wire import (
    Added,
    Bookmark,
    Deleted,
    Failure,
    Modified,
    Page,
    PageMeta,
    WatchEvent,
)

OURS = Selection("slurm", labels="app=slurmd")
PROTOCOL = ListWatch(Watched(kinds.POD, PartialObject, OURS), chance=lambda: 0.5)
GONE = Gone(Status(410, "Expired"))


def thing(name: str, version: str = "1") -> PartialObject:
    return PartialObject(metadata=Meta(name=name, namespace="slurm", resource_version=version))


A, B = thing("a"), thing("b")
State = Listing[PartialObject] | Watching


def page(*items: PartialObject, version: str = "10", more: str = "") -> Page[PartialObject]:
    return Page(PageMeta(resource_version=version, continue_=more), list(items))


def page_request(limit: int = 500, token: str = "") -> Request[Page[PartialObject]]:
    return requests.list_page(kinds.POD, PartialObject, OURS, Paging(limit, token))


def watch_request(version: str) -> Request[WatchEvent[PartialObject]]:
    return requests.watch(kinds.POD, PartialObject, OURS, version, 450)


def test_it_starts_with_the_first_page() -> None:
    assert PROTOCOL.start() == Step(Listing(500), Ask(page_request()))


def test_a_page_that_is_not_the_last_asks_for_the_next() -> None:
    step = PROTOCOL.listed(Listing(500), page(A, more="next"))
    assert step == Step(Listing(500, ([A],), "10", "next"), Ask(page_request(token="next")))


def test_the_last_page_fills_the_store_and_the_watch_starts_at_the_version_of_the_first() -> None:
    step = PROTOCOL.listed(Listing(500, ([A],), "10", "next"), page(B, version="12"))
    assert step == Step(Watching("10"), Follow(watch_request("10")), Replaced([A, B]))


def test_an_empty_list_empties_the_store() -> None:
    step = PROTOCOL.listed(Listing(500), Page(PageMeta(resource_version="3"), None))
    assert step.change == Replaced([])


@dataclass(frozen=True)
class Case:
    name: str
    event: WatchEvent[PartialObject]
    want: Step[PartialObject]


NEW = thing("a", "11")
CASES = [
    Case("a new object is put", Added(NEW), Step(Watching("11", 0, True), None, Put(NEW))),
    Case("a changed one too", Modified(NEW), Step(Watching("11", 0, True), None, Put(NEW))),
    Case("a deleted one removed", Deleted(NEW), Step(Watching("11", 0, True), None, Removed(NEW))),
    Case(
        "a bookmark moves the version",
        Bookmark(PartialObject(metadata=Meta(resource_version="50"))),
        Step(Watching("50", 0, True)),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_event(case: Case) -> None:
    assert PROTOCOL.heard(Watching("10", tries=3), case.event) == case.want


def test_a_watch_that_brought_something_goes_on_at_once_where_it_ended() -> None:
    assert PROTOCOL.ended(Watching("17", 0, True)) == Step(
        Watching("17"), Follow(watch_request("17"))
    )


def test_a_watch_that_ended_without_a_word_rests_first() -> None:
    assert PROTOCOL.ended(Watching("17")) == Step(Watching("17", 1), Rest(0.375))


def test_an_expired_version_lists_anew_at_once() -> None:
    for step in (
        PROTOCOL.failed(Watching("17", 0, True), GONE),
        PROTOCOL.heard(Watching("17", 0, True), Failure(Status(410, "Expired"))),
    ):
        assert step[:3] == (Listing(500, tries=1), Ask(page_request()), None)
        assert isinstance(step.trouble, Gone)


def test_a_version_that_expires_right_after_the_list_is_not_asked_for_in_a_circle() -> None:
    step = PROTOCOL.listed(Listing(500, tries=1), page(A))
    step = PROTOCOL.failed(step.state, GONE)
    assert step[:2] == (Listing(500, tries=2), Rest(0.75))


def test_an_expired_continue_token_lists_anew_in_one_piece() -> None:
    step = PROTOCOL.failed(Listing(500, ([A],), "10", "old"), GONE)
    assert step[:2] == (Listing(0, tries=1), Ask(page_request(limit=0)))


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("cut"),
        Silent("150 s"),
        Unavailable("HTTP 500"),
        Unreadable("half an object"),
        Forbidden(Status(403, "Forbidden")),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize(
    "state", [Watching("17"), Listing(500, ([A],), "10", "next")], ids=["watching", "listing"]
)
def test_any_other_failure_rests_and_asks_for_the_same_again(
    state: State, error: KubeError
) -> None:
    rest = PROTOCOL.failed(state, error)
    assert rest.do == Rest(0.375)
    assert rest.trouble is error
    again = PROTOCOL.rested(rest.state)
    follow, ask = Follow(watch_request("17")), Ask(page_request(token="next"))
    assert again.do == (follow if isinstance(state, Watching) else ask)


def test_an_error_event_that_is_not_gone_keeps_the_version() -> None:
    step = PROTOCOL.heard(Watching("17", 0, True), Failure(Status(500, "InternalError")))
    assert step[:2] == (Watching("17", 1, True), Rest(0.375))


@pytest.mark.parametrize("error", [TooManyRequests(Status(429), 7.0), Unavailable("HTTP 503", 7.0)])
def test_the_server_may_ask_for_a_longer_rest(error: KubeError) -> None:
    assert PROTOCOL.failed(Watching("17"), error).do == Rest(7.0)


def test_rests_double_up_to_a_limit_and_one_event_ends_them() -> None:
    state: State = Watching("17")
    rests = []
    for _ in range(9):
        step = PROTOCOL.failed(state, Unreachable("cut"))
        assert isinstance(step.do, Rest)
        state = step.state
        rests.append(step.do.seconds)
    assert rests == [0.375, 0.75, 1.5, 3.0, 6.0, 12.0, 22.5, 22.5, 22.5]
    assert isinstance(state, Watching)
    heard = PROTOCOL.heard(state, Added(NEW)).state
    assert PROTOCOL.failed(heard, Unreachable("cut")).do == Rest(0.375)


@pytest.mark.parametrize(("chance", "rest", "seconds"), [(0.0, 0.25, 300), (1.0, 0.5, 600)])
def test_chance_spreads_rests_and_watches(chance: float, rest: float, seconds: int) -> None:
    protocol = ListWatch(Watched(kinds.POD, PartialObject), lambda: chance, Pace())
    assert protocol.failed(Watching("1"), Unreachable("cut")).do == Rest(rest)
    follow = protocol.rested(Watching("1")).do
    assert isinstance(follow, Follow)
    assert ("timeoutSeconds", str(seconds)) in follow.request.query


# --- what is kept ---------------------------------------------------------------------------


def upper(item: PartialObject) -> PartialObject:
    return thing(item.metadata.name.upper(), item.metadata.resource_version)


KEEPING = ListWatch(Watched(kinds.POD, PartialObject, OURS, kept=upper), chance=lambda: 0.5)


def test_what_is_listed_is_stored_as_it_is_to_be_kept() -> None:
    first = KEEPING.listed(Listing(500), page(A, more="token"))
    assert isinstance(first.state, Listing)
    assert KEEPING.listed(first.state, page(B)).change == Replaced([upper(A), upper(B)])


@pytest.mark.parametrize("event", [Added(A), Modified(A)])
def test_what_is_heard_is_stored_as_it_is_to_be_kept(event: WatchEvent[PartialObject]) -> None:
    assert KEEPING.heard(Watching("1"), event).change == Put(upper(A))
