"""What is to be done about a Controller."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from windlass.kube.kinds import CONFIG_MAP, POD, SECRET, SERVICE, SERVICE_MONITOR, STATEFUL_SET
from windlass.operator.judgement import news
from windlass.operator.plan import Action, Apply, Create, Delete, Plan, Replace, Tell
from windlass.operator.pods.refreshing import refreshed
from windlass.operator.slurmctld import words
from windlass.operator.slurmctld.configuration import (
    Configuration,
    applied,
    config_map,
    configuration,
    everything,
    programs,
)
from windlass.operator.slurmctld.key_secrets import missing, to_make
from windlass.operator.slurmctld.observe import Observed, is_ready
from windlass.operator.slurmctld.rollout import to_replace
from windlass.operator.slurmctld.service_monitor import service_monitor, wanted
from windlass.operator.slurmctld.services import client_service, internal_service
from windlass.operator.slurmctld.stateful_set import must_be_made_anew, stateful_set
from windlass.operator.slurmctld.status import judge, status
from windlass.values.key import Key
from windlass.values.reason import Reason

# Until a new configuration is in force nothing but its report tells of it.
RELOADING: Final = 0.5
UNHEARD: Final = 3.0
# Nobody tells of a pod that does not end.
ENDING: Final = 10.0
# Nobody watches what slurmctld itself does.
AT_REST: Final = 60.0


def plan(observed: Observed, now: datetime) -> Plan:
    """Services, keys and programs at once; configuration and pod when all they need is there.

    The configuration needs the address of a Service, which only the API server can tell.
    """
    new = [Create(SECRET, body) for body in to_make(observed)]
    made = configuration(observed)
    wait = made if isinstance(made, Reason) else None
    if wait is None and not new:
        wait = missing(observed)
    whole = made if isinstance(made, Configuration) and observed.placed else None
    good = whole or _last(observed)
    actions = [*new, *_around(observed)]
    if whole is not None:
        actions.append(Apply(CONFIG_MAP, config_map(observed, whole)))
    if good is not None and not missing(observed) and not observed.controller.spec.external:
        actions += _running(observed, good)
    verdicts = judge(observed, wait, None if new else whole, now)
    told = (
        *news(observed.controller.status.conditions, verdicts, "Sync"),
        *_reconfigured(observed),
    )
    again = RELOADING if new or not observed.placed else _again(observed, good)
    return Plan((*actions, *told), status(observed, verdicts, now), again)


def _last(observed: Observed) -> Configuration | None:
    """What was applied while all was well; pods are still made from it."""
    return applied(observed.config) if observed.config else None


def _around(observed: Observed) -> Iterator[Action]:
    controller = observed.controller
    yield Apply(CONFIG_MAP, programs(observed))
    if not controller.spec.external:
        yield Apply(SERVICE, internal_service(controller))
        yield Apply(SERVICE, client_service(controller))
    if observed.setting.monitors and wanted(controller):
        yield Apply(SERVICE_MONITOR, service_monitor(controller))
    elif observed.monitor is not None:
        at = observed.monitor["metadata"]
        reason = Reason("MetricsOff", "metrics.serviceMonitor is not enabled")
        yield Delete(SERVICE_MONITOR, Key(at["namespace"], at["name"]), at["uid"], reason)


def _running(observed: Observed, made: Configuration) -> Iterator[Action]:
    yield from refreshed(observed.pods, words.CONFIG_SEEN, everything(observed, made))
    body = stateful_set(observed, made)
    if must_be_made_anew(body, observed.stateful_set):
        yield Replace(STATEFUL_SET, body)
    else:
        yield Apply(STATEFUL_SET, body)
    for pod in to_replace(observed):
        at = pod.metadata
        reason = Reason("Outdated", f"pod {at.name} is of an older revision")
        yield Delete(POD, at.key, at.uid, reason)


def _reconfigured(observed: Observed) -> Iterator[Tell]:
    old, report = observed.controller.status.config_hash, observed.report
    if report and report.in_force and old and report.in_force != old:
        sentence = f"slurmctld runs with configuration {report.in_force[:12]}"
        yield Tell(warning=False, reason=Reason("Reconfigured", sentence), action="Reconfigure")


def _again(observed: Observed, made: Configuration | None) -> float | None:
    if observed.controller.spec.external or made is None:
        return None
    if not any(map(is_ready, observed.pods)):
        return ENDING if any(pod.metadata.deletion_timestamp for pod in observed.pods) else AT_REST
    if observed.report is None:
        return UNHEARD
    return AT_REST if observed.report.settled(made.fingerprint) else RELOADING
