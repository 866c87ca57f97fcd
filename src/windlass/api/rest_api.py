"""RestApi: slurmrestd."""

from typing import Annotated

from msgspec import Meta

from windlass.api.common import (
    Conditions,
    ControllerReference,
    Count,
    LocalReference,
    PodTemplate,
    Raw,
    ServiceTemplate,
)
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part


class RestApiTls(Part, frozen=True, gc=False):
    """HTTPS instead of HTTP."""

    secret_ref: Annotated[LocalReference, Meta(description="A Secret with tls.crt and tls.key.")]


class RestApiSpec(Part, frozen=True, gc=False):
    """slurmrestd: Slurm's REST API."""

    controller_ref: ControllerReference
    replicas: Count = 1
    slurmrestd: Raw | None = None
    template: PodTemplate = PodTemplate()
    service: ServiceTemplate = ServiceTemplate()
    tls: RestApiTls | None = None


class RestApiStatus(Part, frozen=True, gc=False):
    """What is known of slurmrestd."""

    observed_generation: int = 0
    replicas: Count = 0
    ready_replicas: Count = 0
    address: str = ""
    conditions: Conditions | None = None


class RestApi(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: RestApiSpec
    status: RestApiStatus = RestApiStatus()
