"""RestApi: its Service and its Controller."""

from windlass.api import names
from windlass.api.rest_api import RestApi
from windlass.api.validation import references, services
from windlass.api.validation.context import Context
from windlass.api.validation.findings import Finding


def review(new: RestApi, _: RestApi | None, context: Context) -> tuple[Finding, ...]:
    beside = {"agent": names.AGENT_PORT} if new.spec.agent.enabled else {}
    return (
        *references.controller(new.spec.controller_ref, context.namespace),
        *services.review(new.spec.service, "slurmrestd", names.SLURMRESTD_PORT, **beside),
    )
