"""What is to be done for an Accounting."""

from datetime import datetime
from typing import Any, Final

from windlass.api import labels
from windlass.kube import kinds
from windlass.operator.conditions import Verdict, conditions
from windlass.operator.judgement import broken, news, underway
from windlass.operator.keys import entry
from windlass.operator.plan import Action, Apply, Body, Create, Plan, Replace
from windlass.operator.slurmdbd import children, status
from windlass.operator.slurmdbd.conf import SlurmdbdConf, slurmdbd_conf
from windlass.operator.slurmdbd.missing import missing, stranger
from windlass.operator.slurmdbd.observe import Observed
from windlass.values.reason import Reason

AGAIN: Final = 30.0
"""Until all is well: what changes wakes us, and this is for the worst."""
IMMUTABLE: Final = ("serviceName", "podManagementPolicy", "selector")


def plan(observed: Observed, now: datetime) -> Plan:
    actions, verdicts = _decided(observed)
    at, old = observed.accounting.metadata, observed.accounting.status.conditions
    shown: Body = {
        "observedGeneration": at.generation,
        "address": status.address(observed.accounting),
        "conditions": conditions(old, verdicts, at.generation, now),
    }
    good = any(each.type == "Ready" and each.status for each in verdicts)
    told = news(old, verdicts, "Sync")
    return Plan((*actions, *told), shown, again=None if good else AGAIN)


def _decided(observed: Observed) -> tuple[tuple[Action, ...], tuple[Verdict, ...]]:
    accounting = observed.accounting
    if accounting.spec.external:
        return (), status.external(accounting)
    first = (Apply(kinds.SERVICE, children.door(accounting)), *_password(observed))
    serves = status.serves(observed)
    if absent := missing(observed):
        if absent.comes:
            return first, underway(absent.reason, available=serves)
        return first, broken(absent.reason, available=serves)
    conf = _conf(observed)
    if conf.faults:
        reason = Reason("BadConfiguration", "\n".join(conf.faults))
        return first, broken(reason, available=serves)
    actions = (*first, *_daemon(observed, conf.text))
    if (other := stranger(observed)) is not None:
        return actions, broken(other, available=serves)
    return actions, status.verdicts(observed)


def _password(observed: Observed) -> tuple[Action, ...]:
    """Made once, and kept when the Accounting goes: the database still knows it."""
    storage, ref = observed.storage, observed.password_ref
    if storage is None or storage.password_key_ref or observed.secret(ref.name) is not None:
        return ()
    at = observed.accounting.metadata
    metadata = {
        "name": ref.name,
        "namespace": at.namespace,
        "labels": labels.common("slurmdbd", at.name, "accounting"),
    }
    body = {"metadata": metadata, "stringData": {ref.key: observed.fresh_password}}
    return (Create(kinds.SECRET, body),)


def _conf(observed: Observed) -> SlurmdbdConf:
    keys, ref = observed.keys, observed.password_ref
    assert keys is not None
    try:
        password = (entry(observed.secret(ref.name), ref.key) or b"").decode()
    except UnicodeDecodeError:
        fault = f"the password in Secret {ref.name} is no text"
        return SlurmdbdConf(faults=(fault,))
    # A line break at the end comes from the file that a Secret was made of.
    password = password.removesuffix("\n").removesuffix("\r")
    return slurmdbd_conf(observed.accounting, password, jwks=keys.jwks is not None)


def _daemon(observed: Observed, conf: str) -> tuple[Action, ...]:
    wanted = children.stateful_set(observed, conf)
    moved = _differs(observed.stateful_set, wanted)
    return (
        Apply(kinds.SECRET, children.secret(observed.accounting, conf)),
        Apply(kinds.CONFIG_MAP, children.programs(observed)),
        Replace(kinds.STATEFUL_SET, wanted) if moved else Apply(kinds.STATEFUL_SET, wanted),
    )


def _differs(live: dict[str, Any] | None, wanted: Body) -> bool:
    """Whether a field differs that the API server lets nobody change."""
    if live is None:
        return False
    return any(live["spec"].get(name) != wanted["spec"][name] for name in IMMUTABLE)
