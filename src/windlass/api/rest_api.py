"""RestApi: slurmrestd."""

from typing import Annotated

from windlass.api.common import (
    CONTAINER,
    Address,
    Conditions,
    ControllerReference,
    Count,
    LocalReference,
    ObservedGeneration,
    PodTemplate,
    Raw,
    ServiceTemplate,
    about,
)
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part


class RestApiTls(Part, frozen=True, gc=False):
    """HTTPS instead of HTTP."""

    secret_ref: Annotated[LocalReference, about("A Secret with tls.crt and tls.key.")]


class RestApiAgent(Part, frozen=True, gc=False):
    """Beside slurmrestd: ends external jobs, such as the bridge's, with their exit code."""

    enabled: Annotated[bool, about("Run it, at port 6821 of the Service.")] = False


class RestApiSpec(Part, frozen=True, gc=False):
    """slurmrestd: Slurm's REST API."""

    controller_ref: ControllerReference
    replicas: Annotated[Count, about("How many pods.")] = 1
    slurmrestd: Annotated[Raw | None, about(CONTAINER)] = None
    template: PodTemplate = PodTemplate()
    service: ServiceTemplate = ServiceTemplate()
    tls: RestApiTls | None = None
    agent: RestApiAgent = RestApiAgent()


class RestApiStatus(Part, frozen=True, gc=False):
    """What is known of slurmrestd."""

    observed_generation: ObservedGeneration = 0
    replicas: Annotated[Count, about("How many pods there are.")] = 0
    ready_replicas: Annotated[Count, about("How many of them answer.")] = 0
    address: Address = ""
    conditions: Conditions | None = None


class RestApi(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: RestApiSpec
    status: RestApiStatus = RestApiStatus()
