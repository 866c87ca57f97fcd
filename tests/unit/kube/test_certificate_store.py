import asyncio
import base64
from typing import Any

import pytest

from tests.unit.kube.answers import Answers
from windlass.kube import kinds
from windlass.kube.certificate_store import ClientStore, Webhooks
from windlass.kube.errors import AlreadyExists, Conflict, Forbidden, NotFound, Refused, Status
from windlass.kube.rotation import Stored, StoredMeanwhile
from windlass.values.key import Key

SECRET = Key("slurm", "webhook-tls")
OURS = (Webhooks(kinds.VALIDATING_WEBHOOKS, "ours"), Webhooks(kinds.MUTATING_WEBHOOKS, "ours"))


def configuration(bundle: bytes) -> dict[str, Any]:
    config = {"caBundle": base64.b64encode(bundle).decode()}
    return {"metadata": {"name": "ours"}, "webhooks": [{"name": "a", "clientConfig": config}]}


def store(client: Answers) -> ClientStore:
    return ClientStore(client, SECRET, OURS)


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        (NotFound(Status()), Stored({})),
        ({"metadata": {"resourceVersion": "7"}}, Stored({}, "7")),
        ({"metadata": {"resourceVersion": "7"}, "data": {"a": "Yg=="}}, Stored({"a": b"b"}, "7")),
    ],
    ids=["no Secret", "an empty one", "a full one"],
)
def test_what_a_secret_holds_is_read(answer: Any, want: Stored) -> None:
    assert asyncio.run(store(Answers(answer)).read()) == want


@pytest.mark.parametrize(
    ("version", "error", "raised"),
    [
        ("", AlreadyExists, StoredMeanwhile),
        ("", Forbidden, Forbidden),
        ("7", Conflict, StoredMeanwhile),
        ("7", NotFound, StoredMeanwhile),
        ("7", Forbidden, Forbidden),
    ],
)
def test_only_who_came_too_late_is_told_to_read_again(
    version: str, error: type[Refused], raised: type[Exception]
) -> None:
    with pytest.raises(raised):
        asyncio.run(store(Answers(error(Status()))).write(Stored({"a": b"b"}, version)))


def test_whoever_trusts_the_bundle_already_is_left_alone() -> None:
    client = Answers(configuration(b"bundle"), configuration(b"bundle"))
    asyncio.run(store(client).trust(b"bundle"))
    assert client.verbs == [
        "get ValidatingWebhookConfiguration",
        "get MutatingWebhookConfiguration",
    ]


def test_a_configuration_that_is_missing_keeps_no_other_from_its_bundle() -> None:
    client = Answers(NotFound(Status()), configuration(b"old"), {}, configuration(b"new"))
    asyncio.run(store(client).trust(b"new"))
    assert client.verbs[1:3] == [
        "get MutatingWebhookConfiguration",
        "patch MutatingWebhookConfiguration",
    ]
    assert client.body(2)[-1]["value"] == base64.b64encode(b"new").decode()


def test_a_configuration_that_changes_meanwhile_is_read_again() -> None:
    old, new = configuration(b"old"), configuration(b"new")
    client = Answers(old, Conflict(Status()), old, {}, new, new)
    asyncio.run(store(client).trust(b"new"))
    assert client.left == []
