"""What a LoginSet says of itself."""

from datetime import datetime
from typing import Any

from windlass.api.login_set import LoginSet
from windlass.kube.objects import Deployment, ReplicaStatus
from windlass.operator.conditions import Verdict, conditions
from windlass.operator.logins import words
from windlass.operator.logins.address import address
from windlass.operator.logins.observe import Observed
from windlass.values.reason import Reason


def status(observed: Observed, wait: Reason | None, now: datetime) -> dict[str, Any]:
    login_set = observed.login_set
    meta = login_set.metadata
    seen = observed.deployment.status if observed.deployment else ReplicaStatus()
    selector = words.selector_labels(meta)
    return {
        "replicas": seen.replicas,
        "readyReplicas": seen.ready_replicas,
        "selector": ",".join(f"{name}={value}" for name, value in selector.items()),
        "observedGeneration": meta.generation,
        "address": address(observed.service, observed.site.domain),
        "conditions": conditions(
            login_set.status.conditions, verdicts(observed, wait), meta.generation, now
        ),
    }


def verdicts(observed: Observed, wait: Reason | None) -> list[Verdict]:
    wanted = observed.login_set.spec.replicas
    live = observed.deployment
    available = live.status.available_replicas if live else 0
    counted = f"{available} of {wanted} login pods are available"
    fault = wait or _fault(live)
    done = fault is None and live is not None and _settled(observed.login_set, live)
    why = fault or Reason("AllReady" if done else "RollingOut", counted)
    return [
        Verdict("Ready", done, why),
        Verdict("Available", available > 0 or wanted == 0, Reason("Counted", counted)),
        Verdict("Progressing", fault is None and not done, why),
        Verdict("Degraded", fault is not None, fault or Reason("AsExpected", counted)),
    ]


def _settled(login_set: LoginSet, live: Deployment) -> bool:
    """All pods are of the newest sort, ready, and none is left over."""
    wanted, seen = login_set.spec.replicas, live.status
    counts = (seen.replicas, seen.updated_replicas, seen.available_replicas)
    return (
        live.spec.replicas == wanted
        and seen.observed_generation >= live.metadata.generation
        and counts == (wanted, wanted, wanted)
    )


def _fault(live: Deployment | None) -> Reason | None:
    """What the Deployment itself complains of."""
    for condition in (live.status.conditions if live else None) or ():
        late = condition.type == "Progressing" and condition.status == "False"
        failed = condition.type == "ReplicaFailure" and condition.status == "True"
        if late or failed:
            return Reason(
                condition.reason or "DeploymentFailing",
                condition.message or "its Deployment fails and does not say why",
            )
    return None
