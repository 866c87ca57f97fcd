import asyncio
import base64
import io
import json
from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from windlass.kube.admission import (
    AdmissionServer,
    Allowed,
    BadReview,
    Cause,
    Decision,
    Denied,
    Handler,
    Review,
    answer,
    changed,
    read_review,
)
from windlass.kube.metrics import Metrics
from windlass.testing.virtual import clock


def asked(**request: Any) -> dict[str, Any]:
    """An AdmissionReview as the API server sends it."""
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "operation": "CREATE",
            "namespace": "slurm",
            "name": "p",
            "userInfo": {"username": "jane", "groups": ["users"]},
            "object": {"metadata": {"name": "p"}},
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions"},
            **request,
        },
    }


def review(**request: Any) -> Review:
    return read_review(json.dumps(asked(**request)).encode())


def response(decision: Allowed | Denied) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(answer(review(), decision))
    assert told["apiVersion"] == "admission.k8s.io/v1"
    answered: dict[str, Any] = told["response"]
    assert answered["uid"] == "u-1"
    return answered


def test_a_review_is_read_with_what_handlers_need() -> None:
    seen = review(subResource="status", dryRun=True)
    assert (seen.kind, seen.operation, seen.namespace, seen.name) == ("Pod", "CREATE", "slurm", "p")
    assert (seen.user, seen.groups) == ("jane", ("users",))
    assert (seen.subresource, seen.dry_run) == ("status", True)
    assert seen.new == {"metadata": {"name": "p"}}
    assert seen.old is None


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no AdmissionReview"),
        (b"[]", "no AdmissionReview"),
        (b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', "`request`"),
        (json.dumps(asked(uid=7)).encode(), r"\$.request.uid"),
        (json.dumps({**asked(), "apiVersion": "admission.k8s.io/v1beta1"}).encode(), "v1beta1"),
    ],
)
def test_what_is_no_review_is_refused_and_named(body: bytes, words: str) -> None:
    with pytest.raises(BadReview, match=words):
        read_review(body)


def test_yes_is_short() -> None:
    assert response(Allowed()) == {"uid": "u-1", "allowed": True}


def test_a_change_is_sent_as_a_patch_and_warnings_are_passed_on() -> None:
    decision = changed(review(), {"metadata": {"name": "p", "labels": {"a": "b"}}}, ("old field",))
    told = response(decision)
    assert told["warnings"] == ["old field"]
    assert told["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(told["patch"])) == [
        {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}
    ]


def test_no_change_is_no_patch() -> None:
    assert "patch" not in response(changed(review(), {"metadata": {"name": "p"}}))


def test_a_denial_without_fields_forbids() -> None:
    status = response(Denied("not in this namespace"))["status"]
    assert (status["code"], status["reason"]) == (403, "Forbidden")
    assert status["message"] == "not in this namespace"


def test_a_denial_with_fields_reads_as_an_invalid_object() -> None:
    denied = Denied("", (Cause("spec.a", "too big"), Cause("spec.b", "missing")))
    status = response(denied)["status"]
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert status["message"] == "spec.a: too big; spec.b: missing"
    assert [cause["field"] for cause in status["details"]["causes"]] == ["spec.a", "spec.b"]


# --- Over HTTP -------------------------------------------------------------------------------


def post(
    handlers: Mapping[str, Handler], path: str, body: bytes, metrics: Metrics | None = None
) -> tuple[int, str]:
    async def main() -> tuple[int, str]:
        server = TestServer(AdmissionServer(handlers, clock, metrics).application())
        async with TestClient(server) as client:
            answered = await client.post(path, data=io.BytesIO(body))
            return answered.status, await answered.text()

    return asyncio.run(main())


BODY = json.dumps(asked()).encode()


def test_the_handler_of_the_path_answers() -> None:
    handlers: dict[str, Handler] = {
        "/yes": lambda _: Allowed(),
        "/no": lambda _: Denied("because"),
    }
    metrics = Metrics()
    for path, want in (("/yes", True), ("/no", False)):
        status, text = post(handlers, path, BODY, metrics)
        assert status == 200
        assert json.loads(text)["response"]["allowed"] is want
    labels = {"path": "/no", "outcome": "denied"}
    count = metrics.registry.get_sample_value("windlass_admission_reviews_total", labels)
    assert count == 1


def test_a_handler_may_look_something_up_first(caplog: pytest.LogCaptureFixture) -> None:
    async def handler(review: Review) -> Decision:
        await asyncio.sleep(0)
        return Denied("", (Cause("spec.a", f"{review.user} was looked up"),))

    caplog.set_level("INFO")
    status, text = post({"/": handler}, "/", BODY)
    assert status == 200
    assert json.loads(text)["response"]["allowed"] is False
    assert "spec.a: " in caplog.text
    assert "was looked up" in caplog.text


def test_an_async_handler_that_fails_is_a_clean_500() -> None:
    async def handler(_: Review) -> Decision:
        raise RuntimeError("password is hunter2")

    status, text = post({"/": handler}, "/", BODY)
    assert status == 500
    assert "hunter2" not in text


def test_a_bad_request_is_answered_400_and_reaches_no_handler() -> None:
    def handler(_: Review) -> Allowed:
        raise AssertionError

    status, text = post({"/": handler}, "/", b"hello")
    assert status == 400
    assert "no AdmissionReview" in text


def test_a_failing_handler_is_a_clean_500_and_its_insides_stay_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def handler(_: Review) -> Allowed:
        raise RuntimeError("password is hunter2")

    status, text = post({"/": handler}, "/", BODY)
    assert status == 500
    assert text == "the webhook failed; its log says why under uid u-1"
    assert "hunter2" in caplog.text
    assert "u-1" in caplog.text


def test_other_paths_are_not_found() -> None:
    assert post({"/": lambda _: Allowed()}, "/other", BODY)[0] == 404


def test_an_endless_body_is_cut_off() -> None:
    assert post({"/": lambda _: Allowed()}, "/", b"x" * (9 * 2**20))[0] == 413
