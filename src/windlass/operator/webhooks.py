"""The validating webhooks of the six kinds: reviews of `api.validation` as admission handlers.

A deletion is not asked about. What leaves the spec as it was passes at once (status, labels,
finalizers), and so does an object that is being deleted.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from windlass.api.accounting import Accounting
from windlass.api.controller import Controller
from windlass.api.login_set import LoginSet
from windlass.api.node_set import NodeSet
from windlass.api.rest_api import RestApi
from windlass.api.token import Token
from windlass.api.validation import (
    Context,
    Finding,
    Problem,
    accounting,
    controller,
    login_set,
    node_set,
    ratchet,
    rest_api,
    token,
)
from windlass.kube import kinds
from windlass.kube.admission import Allowed, Cause, Decision, Denied, Handler, Object, Review
from windlass.kube.kinds import Kind
from windlass.operator.lookups import Lookups
from windlass.values.key import Key


@dataclass(frozen=True, slots=True)
class Webhook:
    """A kind, its type and the rules for it."""

    kind: Kind
    type: Any
    review: Callable[[Any, Any, Context], tuple[Finding, ...]]

    @property
    def path(self) -> str:
        group = self.kind.group.replace(".", "-")
        return f"/validate-{group}-{self.kind.version}-{self.kind.kind.lower()}"


WEBHOOKS: Final = (
    Webhook(kinds.CONTROLLER, Controller, controller.review),
    Webhook(kinds.ACCOUNTING, Accounting, accounting.review),
    Webhook(kinds.REST_API, RestApi, rest_api.review),
    Webhook(kinds.LOGIN_SET, LoginSet, login_set.review),
    Webhook(kinds.NODE_SET, NodeSet, node_set.review),
    Webhook(kinds.TOKEN, Token, token.review),
)


def handlers(lookups: Lookups) -> dict[str, Handler]:
    """Every webhook by its path, for an AdmissionServer."""
    return {webhook.path: _handler(webhook, lookups) for webhook in WEBHOOKS}


def _handler(webhook: Webhook, lookups: Lookups) -> Handler:
    async def handler(review: Review) -> Decision:
        if review.new is None or review.subresource or _nothing_to_judge(review.new, review.old):
            return Allowed()
        try:
            new = msgspec.convert(review.new, webhook.type)
        except msgspec.ValidationError as error:
            return _unreadable(error)
        old = _readable(review.old, webhook.type)
        context = await _context(new, old, review.namespace, lookups)
        before = () if old is None else webhook.review(old, None, context)
        return _decision(ratchet(webhook.review(new, old, context), before))

    return handler


def _nothing_to_judge(new: Object, old: Object | None) -> bool:
    if new.get("metadata", {}).get("deletionTimestamp"):
        return True
    return old is not None and new.get("spec") == old.get("spec")


def _readable(old: Object | None, type_: Any) -> Any:
    """An object from before the schema that it would not fit is no measure for the new one."""
    try:
        return None if old is None else msgspec.convert(old, type_)
    except msgspec.ValidationError:
        return None


def _unreadable(error: msgspec.ValidationError) -> Denied:
    problem, _, path = str(error).partition(" - at `$.")
    return Denied("", (Cause(path.rstrip("`") or "spec", problem),))


async def _context(new: Any, old: Any, namespace: str, lookups: Lookups) -> Context:
    if not isinstance(new, Controller):
        return Context(namespace)
    maps, claims = controller.config_maps(new.spec), controller.claims(new.spec)
    specs = [] if old is None else [old.spec, new.spec]
    accountings = {name for spec in specs for name in controller.accountings(spec)}
    return Context(
        namespace,
        files={name: await lookups.files(Key(namespace, name)) for name in maps},
        claims={name: await lookups.access_modes(Key(namespace, name)) for name in claims},
        keys={name: await lookups.keys(Key(namespace, name)) for name in sorted(accountings)},
    )


def _decision(found: tuple[Finding, ...]) -> Decision:
    problems = [one for one in found if isinstance(one, Problem)]
    cautions = tuple(str(one) for one in found if not isinstance(one, Problem))
    if not problems:
        return Allowed(cautions)
    return Denied("", tuple(Cause(one.field, one.advice) for one in problems), cautions)
