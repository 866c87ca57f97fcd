"""What is to be done for a Token: sign, renew, sign again, or say why not."""

import base64
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from windlass.api import labels
from windlass.api.token import Token
from windlass.kube import kinds
from windlass.kube.meta import Meta
from windlass.operator import owned
from windlass.operator.conditions import Verdict, conditions
from windlass.operator.judgement import broken, news, ready
from windlass.operator.keys import entry
from windlass.operator.plan import Action, Apply, Body, Delete, Plan, Replace
from windlass.operator.tokens import issue
from windlass.operator.tokens.issue import Issue
from windlass.operator.tokens.lifetime import seconds
from windlass.operator.tokens.observe import Observed, place
from windlass.values.key import Key
from windlass.values.reason import Reason

UNTIL_LOOKED_AT_AGAIN: Final = 60.0
"""Where nothing is due: what is missing wakes us when it comes, and this is for the worst."""
LONGEST_WAIT: Final = 6 * 3600.0

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The token that is in force after this pass, what is done for it, and what to say."""

    issue: Issue | None
    actions: tuple[Action, ...]
    verdicts: tuple[Verdict, ...]
    refused: bool = False


def plan(observed: Observed, now: datetime) -> Plan:
    outcome = _outcome(observed, now)
    status = observed.token.status
    return Plan(
        actions=(*outcome.actions, *news(status.conditions, outcome.verdicts, "Sign")),
        status=_status(observed.token, outcome, now),
        again=_again(observed.token, outcome.issue, now),
    )


def _outcome(observed: Observed, now: datetime) -> Outcome:
    refusal, held = _refusal(observed), _held(observed)
    if refusal is not None:
        verdicts = broken(refusal, available=bool(held and held.valid(now)))
        return Outcome(held, (), verdicts, refused=True)
    if _is_kept(observed, held, now):
        return _kept(observed, held, now)
    return _signed(observed, now)


# --- what stands in the way ----------------------------------------------------------------


def _refusal(observed: Observed) -> Reason | None:
    token, at = observed.token, place(observed.token)
    if not _NAME.fullmatch(at.name):
        return Reason(
            "BadSecretName",
            f"no Secret can be called {at.name!r}; name one in secretRef, for user "
            f"{token.spec.username!r}",
        )
    if seconds(token.spec.lifetime) < 1:
        return Reason("BadLifetime", f"lifetime {token.spec.lifetime} is shorter than a second")
    if observed.secret is not None and not _is_ours(observed):
        return Reason(
            "SecretTaken",
            f"Secret {at.name} is there and is not of this Token; it is left as it is: remove it, "
            "or name another in secretRef",
        )
    return _missing_key(observed)


def _missing_key(observed: Observed) -> Reason | None:
    ref, named = observed.key_ref, observed.token.spec.controller_ref
    if ref is None:
        name = named.name if named else ""
        return Reason("ControllerMissing", f"there is no Controller {name} to sign with its key")
    if not observed.key:
        return Reason("KeyMissing", f"there is no entry {ref.key} in a Secret {ref.name}")
    return None


def _is_ours(observed: Observed) -> bool:
    """Made for this Token by us, or by Slinky, which has its Secrets owned by the key's."""
    owner = _owner(observed.secret)
    if owner is None or observed.token.metadata.uid == owner.get("uid"):
        return owner is not None
    return _was_slinkys(observed)


def _was_slinkys(observed: Observed) -> bool:
    owner, ref = _owner(observed.secret) or {}, observed.key_ref
    return owner.get("kind") == "Secret" and ref is not None and owner.get("name") == ref.name


def _owner(secret: dict[str, Any] | None) -> dict[str, Any] | None:
    references = ((secret or {}).get("metadata") or {}).get("ownerReferences") or ()
    return next((each for each in references if each.get("controller")), None)


# --- the token that is there ---------------------------------------------------------------


def _held(observed: Observed) -> Issue | None:
    """What is in the Secret, if the key in force signed it."""
    text = entry(observed.secret, place(observed.token).key)
    if text is None or not observed.key:
        return None
    return issue.read(text.decode(errors="replace"), observed.key)


def _is_kept(observed: Observed, held: Issue | None, now: datetime) -> bool:
    token = observed.token
    if not token.spec.refresh and observed.secret is not None:
        return held is None or held.user == token.spec.username
    return (
        held is not None
        and held.user == token.spec.username
        and (held.expires - held.issued).total_seconds() == seconds(token.spec.lifetime)
        and held.issued - issue.SKEW <= now < held.due
    )


def _kept(observed: Observed, held: Issue | None, now: datetime) -> Outcome:
    if held is None:
        reason = Reason(
            "KeyChanged",
            "the token is not signed with the key in force, and refresh is false; "
            "delete its Secret for a new one",
        )
        return Outcome(None, (), broken(reason))
    if not held.valid(now):
        reason = Reason("Expired", f"expired at {_time(held.expires)}, and refresh is false")
        return Outcome(held, (), broken(reason))
    return Outcome(held, _written(observed, held), ready(_fresh(observed, held)))


def _signed(observed: Observed, now: datetime) -> Outcome:
    token = observed.token
    assert observed.key
    lifetime, uid = seconds(token.spec.lifetime), token.metadata.uid
    made = issue.new(observed.key, token.spec.username, now, lifetime, of=uid)
    return Outcome(made, _written(observed, made), ready(_fresh(observed, made)))


def _fresh(observed: Observed, held: Issue) -> Reason:
    at = place(observed.token)
    return Reason(
        "Signed", f"a token for {held.user} until {_time(held.expires)} is in Secret {at.name}"
    )


# --- writing -------------------------------------------------------------------------------


def _written(observed: Observed, wanted: Issue) -> tuple[Action, ...]:
    """The Secret as it should be; nothing is sent where it is."""
    body = secret(observed.token, wanted)
    live = observed.secret or {}
    sealed = live.get("immutable") and _differs(live, body)
    anew = observed.secret is not None and (sealed or _was_slinkys(observed))
    first = Replace(kinds.SECRET, body) if anew else Apply(kinds.SECRET, body)
    return (first, *_former(observed))


def _differs(live: dict[str, Any], body: Body) -> bool:
    return bool(live.get("data") != body["data"] or live.get("immutable") != body["immutable"])


def _former(observed: Observed) -> tuple[Action, ...]:
    """The Secret of an earlier name goes once the token has a new one."""
    owner = _owner(observed.former)
    if observed.former is None or (owner or {}).get("uid") != observed.token.metadata.uid:
        return ()
    at = msgspec.convert(observed.former["metadata"], Meta)
    reason = Reason("Renamed", f"the token is in Secret {place(observed.token).name} now")
    return (Delete(kinds.SECRET, Key(at.namespace, at.name), at.uid, reason),)


def secret(token: Token, wanted: Issue) -> Body:
    at = place(token)
    given = labels.common("token", token.metadata.name, "token")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": owned.metadata(token.metadata, kinds.TOKEN, at.name, given),
        "data": {at.key: base64.b64encode(wanted.text.encode()).decode()},
        "immutable": not token.spec.refresh,
    }


# --- what is shown -------------------------------------------------------------------------


def _status(token: Token, outcome: Outcome, now: datetime) -> Body:
    old, generation = token.status.conditions, token.metadata.generation
    status: Body = {
        "observedGeneration": generation,
        # What is refused does not move: the Secret of the earlier name is still to be removed.
        "secretName": token.status.secret_name if outcome.refused else place(token).name,
        "conditions": conditions(old, outcome.verdicts, generation, now),
    }
    if outcome.issue is not None:
        status["issuedAt"] = _time(outcome.issue.issued)
        status["expiresAt"] = _time(outcome.issue.expires)
    return status


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _again(token: Token, held: Issue | None, now: datetime) -> float:
    if held is None:
        return UNTIL_LOOKED_AT_AGAIN
    moment = held.due if token.spec.refresh else held.expires
    wait = (moment - now).total_seconds()
    if wait <= 0:
        return UNTIL_LOOKED_AT_AGAIN
    return min(max(wait, 1.0), LONGEST_WAIT)
