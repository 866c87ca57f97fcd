import base64
import copy
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.operator.printing import printed
from windlass.api.common import SecretKey
from windlass.api.token import Token
from windlass.kube import kinds
from windlass.operator.plan import Apply, Delete, Plan, Replace, Tell
from windlass.operator.tokens.lifetime import seconds
from windlass.operator.tokens.observe import Observed
from windlass.operator.tokens.plan import LONGEST_WAIT, UNTIL_LOOKED_AT_AGAIN, plan
from windlass.slurm.tokens import claims_of, mint

NOON = datetime(2026, 3, 1, 12, 0, 0, 500, tzinfo=UTC)
KEY = b"k" * 32
OTHER = b"o" * 32
REF = SecretKey(name="slurm-auth-jwt", key="jwt.key")


def token(**spec: Any) -> Token:
    body = {
        "metadata": {"name": "t", "namespace": "slurm", "uid": "token-uid", "generation": 3},
        "spec": {"username": "alice", "controllerRef": {"name": "slurm"}, **spec},
    }
    return msgspec.convert(body, Token)


def seen(**spec: Any) -> Observed:
    return Observed(token=token(**spec), key_ref=REF, key=KEY)


def body_of(done: Plan) -> dict[str, Any]:
    action = done.actions[0]
    assert isinstance(action, Apply | Replace)
    return action.body


def text_of(done: Plan) -> str:
    return base64.b64decode(body_of(done)["data"]["SLURM_JWT"]).decode()


def after(observed: Observed, done: Plan, **changes: Any) -> Observed:
    """The world after a plan was carried out."""
    secret = copy.deepcopy(body_of(done))
    told = msgspec.convert(
        {**msgspec.to_builtins(observed.token), "status": done.status}, Token, strict=False
    )
    return replace(observed, token=told, **{"secret": secret, **changes})


def ready(done: Plan) -> tuple[str, str]:
    return condition(done, "Ready")


def condition(done: Plan, kind: str) -> tuple[str, str]:
    assert done.status is not None
    (found,) = (each for each in done.status["conditions"] if each["type"] == kind)
    return found["status"], found["reason"]


def test_a_token_is_signed_into_a_secret_that_goes_with_it(
    golden: Callable[[str, str], None],
) -> None:
    done = plan(seen(), NOON)

    golden("secret.yaml", printed(body_of(done)))
    golden("status.yaml", printed(done.status))
    claims = claims_of(text_of(done), KEY)
    assert claims is not None
    assert set(claims) == {"jti", "iss", "iat", "nbf", "exp", "sun"}
    assert claims["sun"] == "alice"
    assert claims["exp"] == int(NOON.timestamp()) + 900
    assert done.again == pytest.approx(720, abs=1)


def test_nothing_changes_until_four_fifths_of_its_life_are_over() -> None:
    first = plan(seen(), NOON)
    later = plan(after(seen(), first), NOON + timedelta(seconds=719))
    assert body_of(later) == body_of(first)
    assert later.again == pytest.approx(1, abs=0.1)
    assert ready(later) == ("True", "Signed")


@pytest.mark.parametrize("elapsed", [720, 899, 900, 100_000])
def test_then_it_is_renewed_even_if_it_has_expired(elapsed: int) -> None:
    first = plan(seen(), NOON)
    moment = NOON + timedelta(seconds=elapsed)
    later = plan(after(seen(), first), moment)
    claims = claims_of(text_of(later), KEY)
    assert claims is not None
    assert claims["iat"] == int(moment.timestamp())
    assert later.again == pytest.approx(720, abs=1)


def test_a_new_key_signs_again_at_once() -> None:
    first = plan(seen(), NOON)
    later = plan(after(seen(), first, key=OTHER), NOON + timedelta(seconds=5))
    assert claims_of(text_of(later), OTHER) is not None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"garbage",
        b"\xff\xfe",
        mint(KEY, "root", NOON.timestamp(), 900).encode(),
        mint(KEY, "alice", NOON.timestamp(), 10**6).encode(),
        mint(KEY, "alice", NOON.timestamp() + 10_000, 900).encode(),
        mint(KEY, "alice", NOON.timestamp(), 900)[:-2].encode(),
    ],
)
def test_what_was_tampered_with_is_signed_again(text: bytes) -> None:
    first = plan(seen(), NOON)
    world = after(seen(), first)
    assert world.secret is not None
    world.secret["data"] = {"SLURM_JWT": base64.b64encode(text).decode()}
    later = plan(world, NOON)
    assert body_of(later) == body_of(first)


def test_a_deleted_secret_is_made_again() -> None:
    first = plan(seen(), NOON)
    later = plan(after(seen(), first, secret=None), NOON + timedelta(seconds=60))
    assert isinstance(later.actions[0], Apply)
    assert later.again == pytest.approx(720, abs=1)


def test_a_changed_lifetime_counts_at_once() -> None:
    first = plan(seen(), NOON)
    world = replace(after(seen(), first), token=token(lifetime="1h"))
    claims = claims_of(text_of(plan(world, NOON)), KEY)
    assert claims is not None
    assert claims["exp"] == int(NOON.timestamp()) + 3600


# --- refresh: false ------------------------------------------------------------------------


def test_without_refresh_the_secret_is_sealed_and_never_renewed() -> None:
    world = seen(refresh=False)
    first = plan(world, NOON)
    assert body_of(first)["immutable"] is True
    assert first.again == pytest.approx(900, abs=1)

    near = plan(after(world, first), NOON + timedelta(seconds=899))
    assert body_of(near) == body_of(first)
    expired = plan(after(world, first), NOON + timedelta(seconds=900))
    assert [type(action) for action in expired.actions] == [Tell]
    assert ready(expired) == ("False", "Expired")
    changed = plan(after(world, first, key=OTHER), NOON)
    assert [type(action) for action in changed.actions] == [Tell]
    assert ready(changed) == ("False", "KeyChanged")


def test_without_refresh_another_user_still_gets_a_token_of_their_own() -> None:
    world = seen(refresh=False, secretRef={"name": "mine", "key": "SLURM_JWT"})
    world = after(world, plan(world, NOON))
    other = token(refresh=False, username="bob", secretRef={"name": "mine", "key": "SLURM_JWT"})
    done = plan(replace(world, token=other), NOON)
    assert isinstance(done.actions[0], Replace)
    assert (claims_of(text_of(done), KEY) or {})["sun"] == "bob"


def test_a_sealed_secret_is_made_anew_when_refresh_is_wanted_after_all() -> None:
    sealed = plan(seen(refresh=False), NOON)
    done = plan(after(seen(), sealed), NOON)
    assert isinstance(done.actions[0], Replace)
    assert body_of(done)["immutable"] is False
    assert text_of(done) == text_of(sealed)


# --- Secrets of others ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "owners",
    [
        None,
        [{"kind": "Token", "name": "t", "uid": "an earlier t", "controller": True}],
        [{"kind": "Token", "name": "t", "uid": "token-uid"}],
        [{"kind": "Secret", "name": "another", "uid": "x", "controller": True}],
    ],
)
def test_a_secret_of_somebody_else_is_left_alone_and_named(
    owners: list[dict[str, Any]] | None,
) -> None:
    other = {"metadata": {"name": "t-jwt-alice", "ownerReferences": owners}, "data": {}}
    done = plan(replace(seen(), secret=other), NOON)
    assert [type(action) for action in done.actions] == [Tell]
    assert ready(done) == ("False", "SecretTaken")
    assert condition(done, "Degraded") == ("True", "SecretTaken")
    assert done.again == UNTIL_LOOKED_AT_AGAIN


def test_a_secret_that_slinky_made_is_taken_over() -> None:
    owner = {"kind": "Secret", "name": REF.name, "uid": "x", "controller": True}
    live = {"metadata": {"name": "t-jwt-alice", "ownerReferences": [owner]}, "data": {}}
    done = plan(replace(seen(), secret=live), NOON)
    assert isinstance(done.actions[0], Replace)
    assert body_of(done)["metadata"]["ownerReferences"][0]["uid"] == "token-uid"


def test_the_secret_of_an_earlier_name_goes_if_it_was_ours() -> None:
    first = plan(seen(), NOON)
    ours = {**body_of(first), "metadata": {**body_of(first)["metadata"], "uid": "former-uid"}}
    renamed = seen(secretRef={"name": "mine", "key": "token"})
    done = plan(replace(renamed, former=ours), NOON)
    assert isinstance(done.actions[1], Delete)
    assert (done.actions[1].kind, done.actions[1].key.name) == (kinds.SECRET, "t-jwt-alice")
    assert done.actions[1].uid == "former-uid"
    assert set(body_of(done)["data"]) == {"token"}

    theirs = {"metadata": {"name": "t-jwt-alice", "namespace": "slurm", "uid": "x"}}
    assert len(plan(replace(renamed, former=theirs), NOON).actions) == 1


# --- refusals ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("world", "code"),
    [
        (replace(seen(), key=None), "KeyMissing"),
        (replace(seen(), key=b""), "KeyMissing"),
        (replace(seen(), key_ref=None, key=None), "ControllerMissing"),
        (seen(username="Alice_B"), "BadSecretName"),
        (seen(lifetime="10ms"), "BadLifetime"),
    ],
)
def test_what_stands_in_the_way_is_said_once(world: Observed, code: str) -> None:
    done = plan(world, NOON)
    (told,) = done.actions
    assert isinstance(told, Tell)
    assert told.reason.code == code
    assert ready(done) == ("False", code)
    assert done.again is not None
    assert done.again > 0

    shown = msgspec.convert(
        {**msgspec.to_builtins(world.token), "status": done.status}, Token, strict=False
    )
    assert plan(replace(world, token=shown), NOON).actions == ()


def test_a_refusal_does_not_forget_where_the_token_was() -> None:
    done = plan(seen(), NOON)
    other: dict[str, Any] = {"metadata": {"name": "taken"}}
    world = after(seen(), done)
    moved = msgspec.structs.replace(
        world.token, spec=token(secretRef={"name": "taken", "key": "x"}).spec
    )
    refused = plan(replace(world, token=moved, secret=other), NOON)
    assert refused.status is not None
    assert refused.status["secretName"] == "t-jwt-alice"


def test_a_token_that_is_good_stays_available_while_a_new_spec_is_refused() -> None:
    first = plan(seen(), NOON)
    done = plan(after(seen(lifetime="0s"), first), NOON)
    assert ready(done) == ("False", "BadLifetime")
    assert condition(done, "Available") == ("True", "BadLifetime")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("15m", 900),
        ("1h30m", 5400),
        ("2.5s", 2),
        ("1500ms", 1),
        ("10us", 0),
        ("9999999h", 2**31 - 2),
    ],
)
def test_a_lifetime_is_read_in_whole_seconds(text: str, wanted: int) -> None:
    assert seconds(text) == wanted


def test_a_token_for_decades_is_looked_at_sooner() -> None:
    assert plan(seen(lifetime="999999h"), NOON).again == LONGEST_WAIT
