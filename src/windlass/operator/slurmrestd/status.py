"""What is known of slurmrestd: from the Deployment, and from its pods where those say why not."""

from typing import Any

from windlass.api import names
from windlass.api.rest_api import RestApi
from windlass.operator.conditions import Verdict
from windlass.operator.judgement import FINE, SETTLED, broken, ready, underway
from windlass.operator.pods.service import port_of
from windlass.operator.pods.trouble import troubles
from windlass.operator.slurmrestd.observe import Observed
from windlass.values.reason import Reason


def address(rest_api: RestApi) -> str:
    """The URL that clients begin with."""
    at, spec = rest_api.metadata, rest_api.spec
    scheme = "https" if spec.tls else "http"
    port = port_of(spec.service, names.SLURMRESTD_PORT)
    return f"{scheme}://{names.slurmrestd(at.name)}.{at.namespace}:{port}"


def counted(observed: Observed, field: str) -> int:
    """A number of the Deployment's status."""
    live = (observed.deployment or {}).get("status") or {}
    return int(live.get(field) or 0)


def serves(observed: Observed) -> bool:
    return counted(observed, "readyReplicas") > 0


def verdicts(observed: Observed) -> tuple[Verdict, ...]:
    """What the Deployment and its pods show."""
    live, wanted = observed.deployment, observed.rest_api.spec.replicas
    if live is None:
        return underway(Reason("Creating", "slurmrestd is about to be made"), available=False)
    if wanted == 0:
        return _stopped()
    found = counted(observed, "readyReplicas")
    if _is_current(live) and _all(observed, wanted):
        return ready(
            Reason("Serving", f"{found} of {wanted} answer at {address(observed.rest_api)}")
        )
    if wrong := next(troubles(observed.pods), None):
        return broken(wrong, available=found > 0)
    return underway(Reason("RollingOut", f"{found} of {wanted} answer"), available=found > 0)


def _stopped() -> tuple[Verdict, ...]:
    reason = Reason("Stopped", "replicas is 0")
    return (
        Verdict("Ready", status=False, reason=reason),
        Verdict("Available", status=False, reason=reason),
        Verdict("Progressing", status=False, reason=SETTLED),
        Verdict("Degraded", status=False, reason=FINE),
    )


def _is_current(live: dict[str, Any]) -> bool:
    status = live.get("status") or {}
    return bool(status.get("observedGeneration", 0) >= live["metadata"].get("generation", 0))


def _all(observed: Observed, wanted: int) -> bool:
    """Whether there are as many as wanted, all of the newest sort, and none of an older one."""
    numbers = {counted(observed, each) for each in ("readyReplicas", "updatedReplicas", "replicas")}
    return numbers == {wanted}
