"""What a Controller says of itself."""

from dataclasses import replace
from datetime import datetime

from windlass.operator.conditions import Verdict, conditions
from windlass.operator.judgement import broken, ready, underway
from windlass.operator.plan import Body
from windlass.operator.slurmctld import identity
from windlass.operator.slurmctld.configuration import Configuration
from windlass.operator.slurmctld.key_secrets import missing
from windlass.operator.slurmctld.observe import Observed, is_ready
from windlass.operator.slurmctld.pod_trouble import trouble
from windlass.operator.slurmctld.report import Complaint
from windlass.operator.slurmctld.rollout import is_rolling
from windlass.operator.slurmctld.slurm_conf import EXTRA_CONF, extra_line
from windlass.values.reason import Reason


def status(observed: Observed, verdicts: tuple[Verdict, ...], now: datetime) -> Body:
    controller = observed.controller
    report, old = observed.report, controller.status
    return {
        "observedGeneration": controller.metadata.generation,
        "clusterName": identity.cluster_name(controller),
        "slurmVersion": (report.slurm if report else "") or old.slurm_version,
        "address": f"{identity.host(controller)}:{identity.port(controller)}",
        "configHash": (report.in_force if report else "") or old.config_hash,
        "conditions": conditions(old.conditions, verdicts, controller.metadata.generation, now),
    }


def judge(
    observed: Observed, wait: Reason | None, made: Configuration | None, now: datetime
) -> tuple[Verdict, ...]:
    """The four conditions; `wait` is why something cannot be done, `made` what should be there."""
    serving = any(map(is_ready, observed.pods)) or observed.controller.spec.external
    if wait is not None:
        return broken(_in_force_still(observed, wait), available=serving)
    if made is None:
        return underway(_making(observed), available=serving)
    if observed.controller.spec.external:
        where = f"{identity.host(observed.controller)}:{identity.port(observed.controller)}"
        return _noted(ready(Reason("External", f"slurmctld runs elsewhere, at {where}")), made)
    if not serving:
        return _starting(observed, made, now)
    return _noted(_running(observed, made), made)


def _making(observed: Observed) -> Reason:
    if missing(observed):
        return Reason("MakingKeys", "the keys of the cluster are being made")
    return Reason("MakingService", "the Service of slurmctld is being made")


def _starting(observed: Observed, made: Configuration, now: datetime) -> tuple[Verdict, ...]:
    for pod in observed.pods:
        if wrong := trouble(pod, now):
            return broken(wrong)
    if not observed.pods:
        return underway(Reason("Starting", "the pod of slurmctld is being made"), available=False)
    told = observed.report.error if observed.report else None
    if told is not None:
        return broken(rejection(told, made))
    return underway(
        Reason("Starting", f"slurmctld is starting{_database(observed)}"), available=False
    )


def _database(observed: Observed) -> str:
    """slurmctld does not come up for the first time before slurmdbd answers."""
    reference = observed.controller.spec.accounting_ref
    if reference is None or not reference.name:
        return ""
    if observed.accounting is None:
        return f"; Accounting {reference.name}, for whose slurmdbd it waits, is not there"
    for condition in observed.accounting.status.conditions or ():
        if condition.type == "Ready" and condition.status != "True":
            return f"; it may wait for Accounting {reference.name}: {condition.message}"
    return ""


def _running(observed: Observed, made: Configuration) -> tuple[Verdict, ...]:
    report = observed.report
    if report is not None and report.candidate == made.fingerprint and report.error is not None:
        reason = rejection(report.error, made)
        return broken(_in_force_still(observed, reason), available=True)
    if is_rolling(observed):
        sentence = "slurmctld is being restarted for a change that it cannot take up running"
        return underway(Reason("Restarting", sentence), available=True)
    if report is None:
        return _unheard(observed)
    if not report.settled(made.fingerprint):
        return underway(Reason("Reloading", "a new configuration is on its way"), available=True)
    return ready(_serves(observed))


def _unheard(observed: Observed) -> tuple[Verdict, ...]:
    """It serves, as its probe says; whether as it should is not known."""
    reason = Reason("NoReport", "what configuration slurmctld has is not known")
    return tuple(
        Verdict("Progressing", status=None, reason=reason) if each.type == "Progressing" else each
        for each in ready(_serves(observed))
    )


def _serves(observed: Observed) -> Reason:
    return Reason("Running", f"slurmctld of {identity.cluster_name(observed.controller)} serves")


def rejection(complaint: Complaint, made: Configuration) -> Reason:
    """Why slurmctld or its parser refused, with the place that the user knows."""
    place = complaint.file or ""
    line = complaint.line
    if place == "slurm.conf" and line:
        theirs = extra_line(made.slurm_conf, line)
        place, line = (EXTRA_CONF, theirs) if theirs else (place, line)
    where = f"{place}, line {line}" if place and line else place
    parts = (where, complaint.key or "", complaint.message)
    return Reason("ConfigRejected", ": ".join(filter(None, parts)) or "slurmctld refused it")


def _in_force_still(observed: Observed, reason: Reason) -> Reason:
    """Whoever reads of a fault wants to know what runs meanwhile."""
    if not any(map(is_ready, observed.pods)):
        return reason
    return replace(
        reason, sentence=f"{reason.sentence}; the last good configuration stays in force"
    )


def _noted(verdicts: tuple[Verdict, ...], made: Configuration) -> tuple[Verdict, ...]:
    """The same, with what the user should put right although it works."""
    if not made.notes or any(each.type == "Degraded" and each.status for each in verdicts):
        return verdicts
    first = made.notes[0]
    note = Reason(first.code, "; ".join(each.sentence for each in made.notes))
    return tuple(
        Verdict("Degraded", status=True, reason=note) if each.type == "Degraded" else each
        for each in verdicts
    )
