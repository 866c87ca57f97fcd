"""What a LoginSet says of itself."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from windlass.api.login_set import LoginSet
from windlass.kube.objects import Deployment, ReplicaStatus
from windlass.operator.conditions import Verdict, conditions
from windlass.operator.judgement import broken, ready, underway
from windlass.operator.logins import words
from windlass.operator.logins.address import address
from windlass.operator.logins.missing import Missing
from windlass.operator.logins.observe import Observed
from windlass.operator.pods.trouble import troubles
from windlass.values.reason import Reason


def status(observed: Observed, judged: Iterable[Verdict], now: datetime) -> dict[str, Any]:
    meta, old = observed.login_set.metadata, observed.login_set.status.conditions
    seen = _seen(observed)
    selector = words.selector_labels(meta)
    return {
        "replicas": seen.replicas,
        "readyReplicas": seen.ready_replicas,
        "selector": ",".join(f"{name}={value}" for name, value in selector.items()),
        "observedGeneration": meta.generation,
        "address": address(observed.service, observed.site.domain),
        "conditions": conditions(old, judged, meta.generation, now),
    }


def verdicts(observed: Observed, absent: Missing | None) -> tuple[Verdict, ...]:
    """What is missing, or what the Deployment and its pods show."""
    wanted, live, seen = observed.login_set.spec.replicas, observed.deployment, _seen(observed)
    serves = seen.available_replicas > 0
    if absent is not None and absent.comes:
        return underway(absent.reason, available=serves)
    if absent is not None:
        return broken(absent.reason, available=serves)
    counted = f"{seen.available_replicas} of {wanted} login pods are available"
    if live is not None and _settled(observed.login_set, live):
        return ready(Reason("AllReady", counted))
    wrong = next(troubles(observed.pods), None) or _fault(live)
    if wrong is not None:
        return broken(wrong, available=serves)
    return underway(Reason("RollingOut", counted), available=serves)


def _seen(observed: Observed) -> ReplicaStatus:
    return observed.deployment.status if observed.deployment else ReplicaStatus()


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
