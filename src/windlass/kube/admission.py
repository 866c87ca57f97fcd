"""The webhook server: the API server asks, plain functions answer.

A handler is `Review -> Allowed | Denied`, plain or async, and sees neither HTTP nor TLS. A request
that is no AdmissionReview gets 400; a handler that fails gets a 500 that says nothing of its
insides, and a log line that does. What the API server makes of a 500 is its failurePolicy.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import msgspec
from aiohttp import web

from windlass.kube.json_patch import Operation, difference
from windlass.kube.queue import Monotonic
from windlass.kube.serving import Serving

log = logging.getLogger(__name__)

Object = dict[str, Any]

# Two objects of the largest size that etcd takes, and room for their wrapping.
LARGEST: Final = 8 * 2**20
# Longer than the API server keeps an idle connection: it hangs up first, never we in its face.
IDLE: Final = 300.0
READ_WITHIN: Final = 10.0
SLOW: Final = 1.0


class BadReview(ValueError):
    """The request is no AdmissionReview that we understand."""


@dataclass(frozen=True, slots=True)
class Review:
    """What the API server asks about; `new` is None for a deletion, `old` for a creation."""

    uid: str
    operation: str
    group: str
    version: str
    kind: str
    name: str
    namespace: str
    subresource: str
    user: str
    groups: tuple[str, ...]
    dry_run: bool
    new: Object | None
    old: Object | None


@dataclass(frozen=True, slots=True)
class Cause:
    """One field and what is wrong with it."""

    field: str
    message: str
    reason: str = "FieldValueInvalid"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Yes, with changes and with words to the user."""

    warnings: tuple[str, ...] = ()
    patch: tuple[Operation, ...] = ()


@dataclass(frozen=True, slots=True)
class Denied:
    """No, and why."""

    message: str
    causes: tuple[Cause, ...] = ()
    warnings: tuple[str, ...] = ()
    later: bool = False
    """Whether the same request may pass in a while: clients ask again by themselves."""

    @property
    def sentence(self) -> str:
        told = "; ".join(f"{cause.field}: {cause.message}" for cause in self.causes)
        return ": ".join(filter(None, (self.message, told)))


Decision = Allowed | Denied
Handler = Callable[[Review], Decision | Awaitable[Decision]]


def changed(review: Review, new: Object, warnings: tuple[str, ...] = ()) -> Allowed:
    """Allowed in this new shape."""
    return Allowed(warnings, difference(review.new, new))


# --- The wire --------------------------------------------------------------------------------


class _User(msgspec.Struct):
    username: str = ""
    groups: tuple[str, ...] = ()


class _Kind(msgspec.Struct):
    group: str
    version: str
    kind: str


class _Request(msgspec.Struct, rename="camel"):
    uid: str
    kind: _Kind
    operation: str
    name: str = ""
    namespace: str = ""
    sub_resource: str = ""
    user_info: _User = msgspec.field(default_factory=_User)
    object: Object | None = None
    old_object: Object | None = None
    dry_run: bool | None = None


class _Envelope(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    request: _Request


_decoder = msgspec.json.Decoder(_Envelope)


def read_review(body: bytes) -> Review:
    """The question in a request's body."""
    try:
        envelope = _decoder.decode(body)
    except msgspec.MsgspecError as error:
        raise BadReview(f"no AdmissionReview: {error}") from error
    if (envelope.api_version, envelope.kind) != ("admission.k8s.io/v1", "AdmissionReview"):
        raise BadReview(
            f"apiVersion {envelope.api_version}, kind {envelope.kind}: "
            "this server answers admission.k8s.io/v1 AdmissionReviews"
        )
    asked = envelope.request
    return Review(
        uid=asked.uid,
        operation=asked.operation,
        group=asked.kind.group,
        version=asked.kind.version,
        kind=asked.kind.kind,
        name=asked.name,
        namespace=asked.namespace,
        subresource=asked.sub_resource,
        user=asked.user_info.username,
        groups=asked.user_info.groups,
        dry_run=bool(asked.dry_run),
        new=asked.object,
        old=asked.old_object,
    )


def answer(review: Review, decision: Decision) -> bytes:
    """The response to a question."""
    response: Object = {"uid": review.uid, "allowed": isinstance(decision, Allowed)}
    if decision.warnings:
        response["warnings"] = list(decision.warnings)
    if isinstance(decision, Denied):
        response["status"] = _status(review, decision)
    elif decision.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(msgspec.json.encode(decision.patch)).decode()
    return msgspec.json.encode(
        {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    )


def _status(review: Review, denied: Denied) -> Object:
    """With causes it reads as the API server's own refusal of an invalid object."""
    if denied.later:
        reason = {"code": 429, "reason": "TooManyRequests"}
        return {"status": "Failure", **reason, "message": denied.message}
    if not denied.causes:
        return {"status": "Failure", "code": 403, "reason": "Forbidden", "message": denied.message}
    causes = [
        {"field": cause.field, "message": cause.message, "reason": cause.reason}
        for cause in denied.causes
    ]
    return {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": denied.sentence,
        "details": {
            "group": review.group,
            "kind": review.kind,
            "name": review.name,
            "causes": causes,
        },
    }


# --- The server ------------------------------------------------------------------------------


class Meter(Protocol):
    """What the server tells about its answers."""

    def reviewed(self, path: str, outcome: str, seconds: float) -> None: ...


class AdmissionServer:
    """Handlers by path, behind HTTPS."""

    def __init__(
        self, handlers: Mapping[str, Handler], clock: Monotonic, meter: Meter | None = None
    ) -> None:
        self._handlers = handlers
        self._clock = clock
        self._meter = meter

    def application(self) -> web.Application:
        application = web.Application(client_max_size=LARGEST)
        for path, handler in self._handlers.items():
            application.router.add_post(path, self._endpoint(path, handler))
        return application

    async def serve(
        self, serving: Serving, host: str, port: int, ready: Callable[[int], None]
    ) -> None:
        """Answer until cancelled, then finish what is being answered; `ready` gets the port."""
        runner = web.AppRunner(
            self.application(),
            access_log=None,
            keepalive_timeout=IDLE,
            shutdown_timeout=READ_WITHIN,
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, host, port, ssl_context=serving.context)
            await site.start()
            ready(runner.addresses[0][1])
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    def _endpoint(self, path: str, handler: Handler) -> Callable[[web.Request], Any]:
        async def endpoint(request: web.Request) -> web.Response:
            started = self._clock()
            outcome, response = await self._respond(request, handler)
            seconds = self._clock() - started
            if self._meter is not None:
                self._meter.reviewed(path, outcome, seconds)
            if seconds > SLOW:
                log.warning("slow review path=%r outcome=%r seconds=%.3f", path, outcome, seconds)
            return response

        return endpoint

    async def _respond(self, request: web.Request, handler: Handler) -> tuple[str, web.Response]:
        try:
            async with asyncio.timeout(READ_WITHIN):
                review = read_review(await request.read())
        except TimeoutError:
            return "timeout", web.Response(status=408, text="the request did not arrive in time")
        except BadReview as error:
            return "bad", web.Response(status=400, text=str(error))
        return await self._decide(request.path, review, handler)

    async def _decide(
        self, path: str, review: Review, handler: Handler
    ) -> tuple[str, web.Response]:
        try:
            said = handler(review)
            decision = said if isinstance(said, Allowed | Denied) else await said
            body = answer(review, decision)
        except Exception:
            log.exception("review failed path=%r uid=%r", path, review.uid)
            text = f"the webhook failed; its log says why under uid {review.uid}"
            return "failed", web.Response(status=500, text=text)
        outcome = "allowed" if isinstance(decision, Allowed) else "denied"
        if isinstance(decision, Denied):
            place = f"{review.namespace}/{review.name}"
            log.info("denied kind=%r key=%r why=%r", review.kind, place, decision.sentence)
        return outcome, web.Response(body=body, content_type="application/json")
