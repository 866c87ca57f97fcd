"""What is to be done for a RestApi."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

import msgspec

from windlass.kube import kinds
from windlass.kube.meta import Meta
from windlass.operator.conditions import Verdict, conditions
from windlass.operator.judgement import broken, news, underway
from windlass.operator.plan import Action, Apply, Body, Delete, Plan
from windlass.operator.slurmrestd import children, status
from windlass.operator.slurmrestd.missing import missing
from windlass.operator.slurmrestd.observe import Observed
from windlass.values.reason import Reason

AGAIN: Final = 30.0
"""Until all is well: what changes wakes us, and this is for the worst."""


def plan(observed: Observed, now: datetime) -> Plan:
    actions, verdicts = _decided(observed)
    at, old = observed.rest_api.metadata, observed.rest_api.status.conditions
    shown: Body = {
        "observedGeneration": at.generation,
        "replicas": status.counted(observed, "replicas"),
        "readyReplicas": status.counted(observed, "readyReplicas"),
        "address": status.address(observed.rest_api),
        "conditions": conditions(old, verdicts, at.generation, now),
    }
    good = any(each.type == "Ready" and each.status for each in verdicts)
    told = news(old, verdicts, "Sync")
    return Plan((*actions, *told), shown, again=None if good else AGAIN)


def _decided(observed: Observed) -> tuple[tuple[Action, ...], tuple[Verdict, ...]]:
    always = (Apply(kinds.SERVICE, children.door(observed.rest_api)), *_budget(observed))
    serves = status.serves(observed)
    if absent := missing(observed):
        if absent.comes:
            return always, underway(absent.reason, available=serves)
        return always, broken(absent.reason, available=serves)
    return (*always, *_daemon(observed)), status.verdicts(observed)


def _daemon(observed: Observed) -> Iterator[Action]:
    yield Apply(kinds.CONFIG_MAP, children.programs(observed))
    yield Apply(kinds.DEPLOYMENT, children.deployment(observed))


def _budget(observed: Observed) -> Iterator[Action]:
    if observed.rest_api.spec.replicas > 1:
        yield Apply(kinds.POD_DISRUPTION_BUDGET, children.budget(observed.rest_api))
    elif observed.budget is not None:
        at = msgspec.convert(observed.budget["metadata"], Meta)
        owner = at.controller
        if owner is not None and owner.uid == observed.rest_api.metadata.uid:
            reason = Reason("OneReplica", "a budget would keep nodes from being emptied")
            yield Delete(kinds.POD_DISRUPTION_BUDGET, at.key, at.uid, reason)
