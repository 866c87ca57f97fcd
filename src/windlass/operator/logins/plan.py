"""What is to be done about a LoginSet."""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from windlass.api import names
from windlass.kube.kinds import CONFIG_MAP, DEPLOYMENT, LOGIN_SET, SECRET, SERVICE
from windlass.operator.hashes import digest
from windlass.operator.judgement import news
from windlass.operator.logins import host_keys, ssh_config, words
from windlass.operator.logins.deployment import deployment
from windlass.operator.logins.missing import missing
from windlass.operator.logins.observe import Observed
from windlass.operator.logins.status import status, verdicts
from windlass.operator.plan import Action, Apply, Create, Plan
from windlass.operator.pods.refreshing import refreshed
from windlass.operator.pods.service import Door, service
from windlass.values.reason import Reason

# What we wait for wakes us; this is for what nobody watches.
LOOK_AGAIN: Final = 60.0


def plan(observed: Observed, now: datetime) -> Plan:
    """Keys, configuration and Service at once; pods when there is all that they mount."""
    absent, cluster = missing(observed), observed.membership
    actions: list[Action] = []
    if not observed.host_keys_kept:
        actions.append(Create(SECRET, host_keys.secret(observed)))
    actions += [
        Apply(CONFIG_MAP, _ssh_config(observed)),
        *refreshed(observed.pods, words.AUTHORIZED_KEYS_SEEN, digest(_root_keys(observed))),
        Apply(SERVICE, _service(observed)),
    ]
    if absent is None and cluster is not None:
        actions.append(Apply(DEPLOYMENT, deployment(observed, cluster)))
    judged = verdicts(observed, absent)
    told = news(observed.login_set.status.conditions, judged, "Sync")
    actions += [replace(tell, reason=_event(tell.reason)) for tell in told]
    again = LOOK_AGAIN if absent is not None else None
    return Plan(tuple(actions), status(observed, judged, now), again)


def _ssh_config(observed: Observed) -> dict[str, Any]:
    spec = observed.login_set.spec
    return ssh_config.config_map(
        observed.login_set.metadata,
        ssh_config.sshd_config(spec.extra_sshd_config),
        _root_keys(observed),
    )


def _root_keys(observed: Observed) -> str:
    return ssh_config.authorized_keys(observed.login_set.spec.root_ssh_authorized_keys)


def _service(observed: Observed) -> dict[str, Any]:
    owner = observed.login_set.metadata
    door = Door(
        name=owner.name,
        port_name=words.PORT_NAME,
        port=names.SSH_PORT,
        target=words.PORT_NAME,
        labels=words.common_labels(owner),
        selector=words.selector_labels(owner),
    )
    return service(owner, LOGIN_SET, door, observed.login_set.spec.service)


def _event(reason: Reason) -> Reason:
    """Events keep the words of Slinky."""
    if reason.code in ("ControllerMissing", "ControllerElsewhere"):
        return Reason("ControllerRefFailed", reason.sentence)
    return reason
