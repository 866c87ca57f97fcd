import asyncio

import pytest

from tests.unit.kube.answers import Answers
from windlass.kube.errors import Cause, Details, Forbidden, NotFound, Status
from windlass.kube.event_sink import ClientSink
from windlass.kube.events import Create, EventGone, Patch

CREATE = Create("ns", "w-0.1", {"reason": "Drained"})
PATCH = Patch("ns", "w-0.1", {"series": {"count": 2}})
ENDS = Status(details=Details(causes=[Cause("NamespaceTerminating")]))


@pytest.mark.parametrize("error", [Forbidden(ENDS), NotFound(Status())], ids=["ends", "ended"])
def test_an_event_in_a_namespace_that_ends_is_no_trouble(error: Forbidden | NotFound) -> None:
    client = Answers(error)
    asyncio.run(ClientSink(client).create(CREATE))
    assert client.verbs == ["create Event"]


def test_a_missing_right_is_told() -> None:
    with pytest.raises(Forbidden):
        asyncio.run(ClientSink(Answers(Forbidden(Status()))).create(CREATE))


def test_an_event_that_is_no_more_is_told() -> None:
    with pytest.raises(EventGone):
        asyncio.run(ClientSink(Answers(NotFound(Status()))).patch(PATCH))
