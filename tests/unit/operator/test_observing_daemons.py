"""What passes over Tokens, Accountings and RestApis read of the world."""

import asyncio

import pytest

from tests.unit.operator.views import FakeView
from windlass.api import labels
from windlass.kube import kinds
from windlass.operator.images import Images
from windlass.operator.slurmdbd.observe import Observer as AccountingObserver
from windlass.operator.slurmrestd.observe import Observer as RestApiObserver
from windlass.operator.tokens.observe import observe as observe_token

KEY = "a2V5"  # key


@pytest.fixture
def view() -> FakeView:
    """A cluster `c` with accounting `a`, whose keys the operator made."""
    view = FakeView("hpc")
    view.put(kinds.CONTROLLER, "c", spec={"accountingRef": {"name": "a"}})
    view.put(kinds.SECRET, "c-auth-slurm", data={"slurm.key": KEY})
    view.put(kinds.SECRET, "c-auth-jwt", data={"jwt.key": KEY})
    view.put(kinds.CONFIG_MAP, "c-config", data={"slurm.conf": "ClusterName=c\n"})
    return view


def accounting(view: FakeView, **spec: object) -> None:
    storage = {"host": "db", "passwordKeyRef": {"name": "password", "key": "p"}}
    view.put(kinds.ACCOUNTING, "a", spec={"storageConfig": storage, **spec})


# --- Token ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "name", "key"),
    [
        ({"controllerRef": {"name": "c"}}, "c-auth-jwt", b"key"),
        ({"controllerRef": {"name": "none"}}, None, None),
        ({"jwtKeyRef": {"name": "mine", "key": "k"}}, "mine", None),
        (
            {"jwtKeyRef": {"name": "c-auth-jwt", "key": "jwt.key"}, "controllerRef": {"name": "x"}},
            "c-auth-jwt",
            b"key",
        ),
    ],
)
def test_a_token_is_signed_with_the_key_it_names_or_its_controllers(
    view: FakeView, spec: dict[str, object], name: str | None, key: bytes | None
) -> None:
    document = view.put(kinds.TOKEN, "t", spec={"username": "alice", **spec})
    seen = asyncio.run(observe_token(view, document))
    assert (seen.key_ref.name if seen.key_ref else None) == name
    assert seen.key == key


def test_a_tokens_controller_may_have_its_key_from_its_accounting(view: FakeView) -> None:
    accounting(view, jwtKeyRef={"name": "shared", "key": "k"})
    view.put(kinds.SECRET, "shared", data={"k": KEY})
    spec = {"username": "alice", "controllerRef": {"name": "c"}}
    seen = asyncio.run(observe_token(view, view.put(kinds.TOKEN, "t", spec=spec)))
    assert seen.key_ref is not None
    assert seen.key_ref.name == "shared"
    assert seen.key == b"key"


def test_a_token_sees_its_secret_and_the_one_of_an_earlier_name(view: FakeView) -> None:
    spec = {"username": "alice", "controllerRef": {"name": "c"}}
    now = view.put(kinds.SECRET, "t-jwt-alice")
    before = view.put(kinds.SECRET, "t-jwt-bob")
    document = view.put(kinds.TOKEN, "t", spec=spec, status={"secretName": "t-jwt-bob"})
    seen = asyncio.run(observe_token(view, document))
    assert (seen.secret, seen.former) == (now.body, before.body)

    document = view.put(kinds.TOKEN, "t", spec=spec, status={"secretName": "t-jwt-alice"})
    assert asyncio.run(observe_token(view, document)).former is None


# --- Accounting ----------------------------------------------------------------------------


def test_an_accounting_sees_its_controllers_keys_password_and_pod(view: FakeView) -> None:
    tls = {"caRef": {"name": "ca", "key": "k"}, "certificateRef": {"name": "pair"}}
    storage = {"host": "db", "passwordKeyRef": {"name": "password", "key": "p"}, "tls": tls}
    document = view.put(
        kinds.ACCOUNTING,
        "a",
        spec={"storageConfig": storage, "jwksKeyRef": {"name": "jwks", "key": "k"}},
    )
    view.put(kinds.CONTROLLER, "younger", spec={"accountingRef": {"name": "a"}})
    view.put(kinds.CONTROLLER, "stranger", spec={"accountingRef": {"name": "b"}})
    view.put(kinds.SECRET, "younger-auth-slurm")
    for name in ("password", "pair", "unrelated"):
        view.put(kinds.SECRET, name)
    for name in ("ca", "jwks"):
        view.put(kinds.CONFIG_MAP, name)
    live = view.put(kinds.STATEFUL_SET, "a-accounting")
    view.put_pod("a-accounting-0", labels.selector("slurmdbd", "a"))
    view.put_pod("c-controller-0", labels.selector("slurmctld", "a"))

    observer = AccountingObserver(Images(slurmdbd="image"), {"program": "text"}, lambda: "new")
    seen = asyncio.run(observer.observe(view, document))

    assert [each.metadata.name for each in seen.controllers] == ["c", "younger"]
    assert {name for _, name in seen.content} == {
        "c-auth-slurm",
        "c-auth-jwt",
        "younger-auth-slurm",
        "password",
        "pair",
        "ca",
        "jwks",
    }
    assert seen.stateful_set == live.body
    assert [pod.metadata.name for pod in seen.pods] == ["a-accounting-0"]
    assert (seen.images.slurmdbd, seen.programs) == ("image", {"program": "text"})


# --- RestApi -------------------------------------------------------------------------------


def test_a_rest_api_sees_the_configuration_and_the_key_of_its_controller(view: FakeView) -> None:
    accounting(view, slurmKeyRef={"name": "shared", "key": "k"})
    key = view.put(kinds.SECRET, "shared", data={"k": KEY})
    tls = view.put(kinds.SECRET, "pair")
    live = view.put(kinds.DEPLOYMENT, "r-restapi")
    budget = view.put(kinds.POD_DISRUPTION_BUDGET, "r-restapi")
    view.put_pod("r-restapi-x", labels.selector("slurmrestd", "r"))
    spec = {"controllerRef": {"name": "c"}, "tls": {"secretRef": {"name": "pair"}}}
    document = view.put(kinds.REST_API, "r", spec=spec)

    observer = RestApiObserver(Images(), {})
    seen = asyncio.run(observer.observe(view, document))

    assert seen.conf == "ClusterName=c\n"
    assert (seen.slurm_key, seen.tls) == (key.body, tls.body)
    assert (seen.deployment, seen.budget) == (live.body, budget.body)
    assert len(seen.pods) == 1
    assert seen.accounts


def test_a_rest_api_without_its_controller_still_sees_itself(view: FakeView) -> None:
    live = view.put(kinds.DEPLOYMENT, "r-restapi")
    document = view.put(kinds.REST_API, "r", spec={"controllerRef": {"name": "none"}})
    seen = asyncio.run(RestApiObserver(Images(), {}).observe(view, document))
    assert seen.controller is None
    assert seen.deployment == live.body
