"""What is to be done about a LoginSet."""

from datetime import datetime
from typing import Any, Final

from windlass.api import names
from windlass.kube.kinds import CONFIG_MAP, DEPLOYMENT, LOGIN_SET, SECRET, SERVICE
from windlass.operator.logins import host_keys, ssh_config, words
from windlass.operator.logins.deployment import deployment
from windlass.operator.logins.observe import Observed
from windlass.operator.logins.status import status
from windlass.operator.logins.waiting import missing
from windlass.operator.plan import Action, Apply, Create, Plan, Tell
from windlass.operator.pods.service import Door, service
from windlass.values.reason import Reason

# What we wait for wakes us; this is for what nobody watches.
LOOK_AGAIN: Final = 60.0


def plan(observed: Observed, now: datetime) -> Plan:
    """Keys, configuration and Service at once; pods when there is all that they mount."""
    wait = missing(observed)
    actions: list[Action] = []
    if not observed.host_keys_kept:
        actions.append(Create(SECRET, host_keys.secret(observed)))
    actions += [Apply(CONFIG_MAP, _ssh_config(observed)), Apply(SERVICE, _service(observed))]
    if wait is None and observed.controller is not None:
        actions.append(Apply(DEPLOYMENT, deployment(observed, observed.controller)))
    elif wait is not None and not _told(observed, wait):
        actions.append(Tell(warning=True, reason=_event(wait), action="Sync"))
    again = LOOK_AGAIN if wait is not None else None
    return Plan(tuple(actions), status(observed, wait, now), again)


def _ssh_config(observed: Observed) -> dict[str, Any]:
    spec = observed.login_set.spec
    return ssh_config.config_map(
        observed.login_set.metadata,
        ssh_config.sshd_config(spec.extra_sshd_config),
        ssh_config.authorized_keys(spec.root_ssh_authorized_keys),
    )


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


def _told(observed: Observed, wait: Reason) -> bool:
    """The condition remembers what was told, so that each pass does not tell it again."""
    known = observed.login_set.status.conditions or ()
    return any(
        condition.reason == wait.code and condition.message == wait.sentence for condition in known
    )


def _event(wait: Reason) -> Reason:
    """Events keep the words of Slinky."""
    if wait.code == "ControllerMissing":
        return Reason("ControllerRefFailed", wait.sentence)
    return wait
