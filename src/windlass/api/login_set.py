"""LoginSet: pods that people log in to."""

from typing import Annotated

from windlass.api.common import (
    CONTAINER,
    Address,
    Conditions,
    ControllerReference,
    Count,
    ObservedGeneration,
    PodTemplate,
    Raw,
    SecretKey,
    ServiceTemplate,
    about,
)
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part
from windlass.kube.schema import ATOMIC


class LoginSetSpec(Part, frozen=True, gc=False):
    """sackd, sshd and SSSD."""

    controller_ref: ControllerReference
    replicas: Annotated[Count, about("How many pods.")] = 1
    login: Annotated[Raw | None, about(CONTAINER)] = None
    initconf: Annotated[Raw | None, about(CONTAINER)] = None
    template: PodTemplate = PodTemplate()
    root_ssh_authorized_keys: Annotated[str, about("Public keys that may log in as root.")] = ""
    extra_sshd_config: Annotated[str, about("Lines for sshd_config.")] = ""
    sssd_conf_ref: Annotated[
        SecretKey | None, ATOMIC, about("The sssd.conf that tells who the users are.")
    ] = None
    strategy: Annotated[Raw | None, about("A DeploymentStrategy.")] = None
    service: ServiceTemplate = ServiceTemplate()


class LoginSetStatus(Part, frozen=True, gc=False, omit_defaults=False):
    """What is known of the login pods."""

    replicas: Annotated[Count, about("How many pods there are.")] = 0
    ready_replicas: Annotated[Count, about("How many of them take logins.")] = 0
    selector: Annotated[str, about("The labels of the pods.")] = ""
    observed_generation: ObservedGeneration = 0
    address: Address = ""
    conditions: Conditions | None = None


class LoginSet(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: LoginSetSpec
    status: LoginSetStatus = LoginSetStatus()
