"""A reflector with a client that says what the test wants said; rests pass at once."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from windlass.kube import kinds
from windlass.kube.errors import Forbidden, Gone, KubeError, Status, Unreachable
from windlass.kube.meta import Meta, PartialObject
from windlass.kube.reflector import Mirror, Reflector
from windlass.kube.requests import Request
from windlass.kube.watch import ListWatch, Watched
from windlass.kube.wire import Added, Bookmark, Deleted, Failure, Modified, Page, PageMeta
from windlass.values.key import Key

PODS = Watched(kinds.POD, PartialObject, indexes={"name": lambda item: [item.metadata.name]})


def thing(name: str, version: str) -> PartialObject:
    return PartialObject(metadata=Meta(name=name, uid=name, resource_version=version))


def page(version: str, *items: PartialObject) -> Page[PartialObject]:
    return Page(PageMeta(resource_version=version), list(items))


class Script:
    """What the server says, in order: pages, errors, and lists of events; then silence."""

    def __init__(self, *answers: Any) -> None:
        self.answers = deque(answers)
        self.asked: list[str] = []
        self.done = asyncio.Event()

    async def send(self, request: Request[Any]) -> Any:
        answer = self._next("list", request)
        await asyncio.sleep(0)
        return answer

    async def stream(self, request: Request[Any]) -> AsyncGenerator[Any, None]:
        version = dict(request.query)["resourceVersion"]
        if not self.answers:
            self.done.set()
            await asyncio.Event().wait()
        for event in self._next(f"watch {version}", request):
            if isinstance(event, KubeError):
                raise event
            yield event

    def _next(self, what: str, request: Request[Any]) -> Any:
        self.asked.append(what)
        answer = self.answers.popleft()
        if isinstance(answer, KubeError):
            raise answer
        return answer


async def no_time(seconds: float) -> None:
    await asyncio.sleep(0)


def play(*answers: Any) -> tuple[Script, Reflector[PartialObject], list[Any]]:
    heard: list[Any] = []

    async def run() -> tuple[Script, Reflector[PartialObject]]:
        script = Script(*answers)
        reflector = Reflector(script, ListWatch(PODS, lambda: 0.5), no_time)
        reflector.store.subscribe(lambda old, new: heard.append((old, new)))
        async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
            task = tasks.create_task(reflector.run())
            await script.done.wait()
            task.cancel()
        return script, reflector

    return (*asyncio.run(run()), heard)


A1, A2, B3 = thing("a", "1"), thing("a", "2"), thing("b", "3")


def test_it_lists_then_follows() -> None:
    script, reflector, heard = play(page("1", A1), [Modified(A2), Added(B3), Deleted(A2)])
    assert script.asked == ["list", "watch 1"]
    assert heard == [(None, A1), (A1, A2), (None, B3), (A2, None)]
    assert list(reflector.store) == [B3]
    assert reflector.store.by("name", "b") == [B3]
    assert reflector.synced.is_set()


def test_it_goes_on_from_the_last_version_after_every_kind_of_break() -> None:
    bookmark = Bookmark(PartialObject(metadata=Meta(resource_version="9")))
    script, reflector, heard = play(
        page("1", A1),
        [Modified(A2), Unreachable("cut")],
        [bookmark],
        [Failure(Status(500, "InternalError"))],
        Forbidden(Status(403, "Forbidden")),
    )
    assert script.asked == ["list", "watch 1", "watch 2", "watch 9", "watch 9"]
    assert heard == [(None, A1), (A1, A2)]
    assert isinstance(reflector.trouble, Forbidden)


@pytest.mark.parametrize(
    "gone", [Gone(Status(410, "Expired")), [Failure(Status(410, "Expired"))]], ids=["410", "event"]
)
def test_it_lists_anew_when_told_and_tells_only_what_differs(gone: Any) -> None:
    script, reflector, heard = play(page("1", A1), gone, page("3", thing("a", "1"), B3))
    assert script.asked == ["list", "watch 1", "list"]
    assert heard == [(None, A1), (None, B3)]
    assert reflector.trouble is None


def test_nobody_can_be_reached_and_then_somebody_can() -> None:
    nobody = Unreachable("refused")
    script, reflector, _ = play(nobody, nobody, nobody, page("1", A1))
    assert script.asked == ["list"] * 4
    assert reflector.store.get(Key("", "a")) == A1


def test_a_mirror_is_synced_when_all_of_it_is_and_ends_whole() -> None:
    async def run() -> None:
        nodes = Watched(kinds.NODE, PartialObject)
        script = Script(page("1", A1), page("1"))
        mirror = Mirror(script, (PODS, nodes), chance=lambda: 0.5)
        async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
            task = tasks.create_task(mirror.run())
            await mirror.synced()
            task.cancel()
        assert (len(mirror.store(PODS)), len(mirror.store(nodes))) == (1, 0)
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(run())


def test_a_subscriber_that_raises_is_not_hushed_up() -> None:
    def raising(old: PartialObject | None, new: PartialObject | None) -> None:
        raise ZeroDivisionError

    async def run() -> None:
        reflector = Reflector(Script(page("1", A1)), ListWatch(PODS, lambda: 0.5), no_time)
        reflector.store.subscribe(raising)
        await reflector.run()

    with pytest.raises(ZeroDivisionError):
        asyncio.run(run())
