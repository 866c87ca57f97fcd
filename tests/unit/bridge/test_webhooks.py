"""The admission server's handlers, asked as the API server asks."""

import asyncio
from typing import Any

import pytest

from windlass.bridge import words
from windlass.bridge.configuration import read
from windlass.bridge.webhooks import MUTATE, VALIDATE, handlers
from windlass.kube.admission import Allowed, Decision, Denied, Review
from windlass.kube.meta import Meta

RULES = read("managedNamespaces: [team]").admission("system:serviceaccount:slurm:bridge")


def _review(new: dict[str, Any] | None, old: dict[str, Any] | None = None, **given: Any) -> Review:
    base: dict[str, Any] = {
        "uid": "1",
        "operation": "CREATE" if old is None else "UPDATE",
        "group": "",
        "version": "v1",
        "kind": "Pod",
        "name": "p",
        "namespace": "team",
        "subresource": "",
        "user": "alice",
        "groups": (),
        "dry_run": False,
    }
    return Review(**{**base, **given}, new=new, old=old)


def _pod(**meta: Any) -> dict[str, Any]:
    spec = {"schedulerName": words.SCHEDULER, "containers": [{"name": "c"}]}
    return {"metadata": {"name": "p", "namespace": "team", **meta}, "spec": spec}


def asked(path: str, review: Review) -> Decision:
    async def lookup(name: str) -> Meta:
        return Meta(name=name)

    async def answer() -> Decision:
        said = handlers(lookup, RULES)[path](review)
        return said if isinstance(said, Allowed | Denied) else await said

    return asyncio.run(answer())


def test_a_pod_of_a_given_namespace_becomes_slurms() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"schedulerName": "default-scheduler"}}
    said = asked(MUTATE, _review(pod))
    assert isinstance(said, Allowed)
    assert {"op": "replace", "path": "/spec/schedulerName", "value": words.SCHEDULER} in said.patch


def test_a_pod_of_another_namespace_is_left_alone() -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"schedulerName": "default-scheduler"}}
    assert asked(MUTATE, _review(pod, namespace="other")) == Allowed()


@pytest.mark.parametrize("path", [MUTATE, VALIDATE])
def test_a_deletion_is_nobodys_business(path: str) -> None:
    assert asked(path, _review(None, _pod())) == Allowed()


def test_a_refusal_names_the_field() -> None:
    said = asked(VALIDATE, _review(_pod(labels={words.JOB_ID: "1"})))
    assert isinstance(said, Denied)
    assert [cause.field for cause in said.causes] == [f"metadata.labels[{words.JOB_ID}]"]


@pytest.mark.parametrize(
    ("user", "type_"), [("alice", Denied), ("system:serviceaccount:slurm:bridge", Allowed)]
)
def test_only_the_bridge_writes_down_jobs(user: str, type_: type[Decision]) -> None:
    new = _pod(labels={words.JOB_ID: "1"}, annotations={words.NODE: "n1"})
    assert isinstance(asked(VALIDATE, _review(new, _pod(), user=user)), type_)


def test_what_cannot_be_read_is_refused() -> None:
    body = {"metadata": {"name": "p"}, "spec": {"schedulerName": words.SCHEDULER, "nodeName": 7}}
    assert isinstance(asked(VALIDATE, _review(body)), Denied)
    assert asked(MUTATE, _review(body)) == Allowed()
