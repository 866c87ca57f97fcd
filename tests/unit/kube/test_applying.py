import asyncio
from typing import Any

import pytest

from tests.unit.kube.answers import Answers
from windlass.kube import kinds
from windlass.kube.applying import Rendered, apply_if_different
from windlass.kube.requests import FieldManager
from windlass.kube.wire import Document

US = FieldManager("us")


def config_map(value: str) -> dict[str, Any]:
    return {"metadata": {"namespace": "ns", "name": "a"}, "data": {"key": value}}


def live(value: str, manager: str = "us") -> Document:
    body = config_map(value)
    fields: dict[str, Any] = {"f:data": {"f:key": {}}}
    owned = {"manager": manager, "operation": "Apply", "fieldsV1": fields}
    return Document({**body, "metadata": {**body["metadata"], "managedFields": [owned]}})


RENDERED = Rendered(kinds.CONFIG_MAP, config_map("new"))


def test_nothing_is_sent_where_nothing_differs() -> None:
    client = Answers()
    assert asyncio.run(apply_if_different(client, RENDERED, live("new"), US)) is None
    assert client.asked == []


@pytest.mark.parametrize(
    ("found", "fields"),
    [
        (None, ("metadata.managedFields",)),
        (live("new", manager="others"), ("metadata.managedFields",)),
        (live("old"), ("data.key",)),
    ],
    ids=["not there", "not ours", "another value"],
)
def test_what_differs_is_sent_and_told(found: Document | None, fields: tuple[str, ...]) -> None:
    client = Answers(config_map("new"))
    applied = asyncio.run(apply_if_different(client, RENDERED, found, US))
    assert applied is not None
    assert (applied.rendered, applied.fields) == (RENDERED, fields)
    assert applied.answer.body["data"] == {"key": "new"}
    assert client.verbs == ["apply ConfigMap"]


def test_a_subresource_is_compared_with_what_was_applied_to_it() -> None:
    status = Rendered(kinds.NODE_SET, {**config_map("new")}, "status")
    client = Answers(config_map("new"))
    asyncio.run(apply_if_different(client, status, live("new"), US))
    assert client.verbs == ["apply NodeSet/status"]
    assert client.asked[0].path.endswith("/nodesets/a/status")
