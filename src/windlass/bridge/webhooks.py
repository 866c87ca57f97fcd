"""Admission as the API server asks for it: pods on their way in, and changes to them."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import msgspec

from windlass.api.validation.findings import Finding, Problem
from windlass.bridge import admission
from windlass.bridge.admission import Request, Rules
from windlass.kube import kinds, requests
from windlass.kube.admission import Allowed, Cause, Decision, Denied, Handler, Review
from windlass.kube.errors import NotFound
from windlass.kube.meta import Meta
from windlass.kube.requests import Sends
from windlass.values.key import Key

MUTATE: Final = "/mutate--v1-pod"
VALIDATE: Final = "/validate--v1-pod"
Lookup: TypeAlias = Callable[[str], Awaitable[Meta]]


def handlers(lookup: Lookup, rules: Rules) -> dict[str, Handler]:
    """By path; `lookup` answers with the metadata of a namespace."""

    async def mutate(review: Review) -> Decision:
        request = await _request(review, lookup)
        try:
            return Allowed() if request is None else Allowed((), admission.mutation(request, rules))
        except msgspec.ValidationError:
            return Allowed()  # the API server says better what is wrong with it

    async def validate(review: Review) -> Decision:
        request = await _request(review, lookup)
        try:
            return Allowed() if request is None else _decision(admission.review(request, rules))
        except msgspec.ValidationError as error:
            return Denied(f"cannot be read: {error}")

    return {MUTATE: mutate, VALIDATE: validate}


def looking(client: Sends) -> Lookup:
    """Asks the API server; a namespace that is not there has a name and no more."""

    async def lookup(name: str) -> Meta:
        try:
            found = await client.send(requests.get_metadata(kinds.NAMESPACE, Key("", name)))
        except NotFound:
            return Meta(name=name)
        return found.metadata

    return lookup


async def _request(review: Review, lookup: Lookup) -> Request | None:
    """None for what is deleted."""
    if review.new is None:
        return None
    return Request(
        namespace=await lookup(review.namespace),
        new=review.new,
        old=review.old,
        subresource=review.subresource,
        user=review.user,
        groups=review.groups,
    )


def _decision(found: tuple[Finding, ...]) -> Decision:
    problems = [one for one in found if isinstance(one, Problem)]
    cautions = tuple(str(one) for one in found if not isinstance(one, Problem))
    if not problems:
        return Allowed(cautions)
    return Denied("", tuple(Cause(one.field, one.advice) for one in problems), cautions)
