"""One pass of any room: read everything once, decide, carry it out, show what became of it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NoReturn, TypeVar

import msgspec

from windlass.api.common import Condition
from windlass.kube.controller import Requeue, Terminal
from windlass.kube.errors import Invalid
from windlass.kube.kinds import Kind
from windlass.kube.wire import Document
from windlass.operator.conditions import Verdict, conditions
from windlass.operator.executor import Executor, Failure, Subject
from windlass.operator.plan import Body, Plan
from windlass.operator.world import View
from windlass.values.key import Key
from windlass.values.reason import Reason

O = TypeVar("O")  # noqa: E741 - what a room observes


@dataclass(frozen=True, slots=True)
class Room(Generic[O]):
    """What one kind of custom resource is decided by."""

    kind: Kind
    observe: Callable[[View, Document], Awaitable[O]]
    plan: Callable[[O, datetime], Plan]
    farewells: bool = False
    """Whether it also has a plan for a resource that is being deleted, and holds it until then."""


class NotCarriedOut(Exception):
    """Some of a plan failed; it is tried again."""


class Reconciler(Generic[O]):
    def __init__(
        self, room: Room[O], view: View, executor: Executor, now: Callable[[], datetime]
    ) -> None:
        self._room = room
        self._view = view
        self._executor = executor
        self._now = now

    @property
    def kind(self) -> Kind:
        return self._room.kind

    async def reconcile(self, key: Key) -> Requeue:
        document = self._view.get(self._room.kind, key)
        if document is None or not self._concerns(document):
            return Requeue.never()
        subject = Subject(self._room.kind, document.metadata)
        try:
            observed = await self._room.observe(self._view, document)
        except msgspec.ValidationError as error:
            await self._refuse(subject, document, error)
        plan = self._room.plan(observed, self._now())
        failures = await self._executor.carry_out(subject, plan)
        if plan.status is not None:
            status = self._blamed(document, plan.status, failures) if failures else plan.status
            await self._executor.show(subject, status, document)
        return self._concluded(failures, plan)

    def _concerns(self, document: Document) -> bool:
        return self._room.farewells or document.metadata.deletion_timestamp is None

    async def _refuse(
        self, subject: Subject, document: Document, error: msgspec.ValidationError
    ) -> NoReturn:
        """A resource that an older definition let in: it is told, and nobody else suffers."""
        reason = Reason("Malformed", f"cannot be read: {error}")
        verdicts = [
            Verdict("Ready", status=False, reason=reason),
            Verdict("Degraded", status=True, reason=reason),
        ]
        status = {"conditions": self._conditions(document, verdicts)}
        await self._executor.show(subject, status, document)
        raise Terminal(str(reason)) from error

    def _blamed(self, document: Document, status: Body, failures: list[Failure]) -> Body:
        """The status, with what could not be done in it."""
        sentence = "; ".join(str(failure) for failure in failures)
        refused = all(isinstance(failure.error, Invalid) for failure in failures)
        reason = Reason("Refused" if refused else "SyncFailed", sentence)
        blamed = self._conditions(document, [Verdict("Degraded", status=True, reason=reason)])
        kept = [each for each in status.get("conditions", ()) if each["type"] != "Degraded"]
        return {**status, "conditions": [*kept, *blamed]}

    def _conditions(self, document: Document, verdicts: list[Verdict]) -> list[Body]:
        try:
            old = msgspec.convert(
                (document.body.get("status") or {}).get("conditions") or [], list[Condition]
            )
        except msgspec.ValidationError:
            old = []
        return conditions(old, verdicts, document.metadata.generation, self._now())

    def _concluded(self, failures: list[Failure], plan: Plan) -> Requeue:
        if failures:
            raise NotCarriedOut("; ".join(str(failure) for failure in failures))
        return Requeue(plan.again, plan.rest)
