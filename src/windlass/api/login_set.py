"""LoginSet: pods that people log in to."""

from typing import Annotated

from msgspec import Meta

from windlass.api.common import (
    Conditions,
    ControllerReference,
    Count,
    PodTemplate,
    Raw,
    SecretKey,
    ServiceTemplate,
)
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part
from windlass.kube.schema import ATOMIC


class LoginSetSpec(Part, frozen=True, gc=False):
    """sackd, sshd and SSSD."""

    controller_ref: ControllerReference
    replicas: Count = 1
    login: Raw | None = None
    initconf: Raw | None = None
    template: PodTemplate = PodTemplate()
    root_ssh_authorized_keys: Annotated[
        str, Meta(description="Public keys that may log in as root.")
    ] = ""
    extra_sshd_config: Annotated[str, Meta(description="Lines for sshd_config.")] = ""
    sssd_conf_ref: Annotated[SecretKey | None, ATOMIC] = None
    strategy: Annotated[Raw | None, Meta(description="A DeploymentStrategy.")] = None
    service: ServiceTemplate = ServiceTemplate()


class LoginSetStatus(Part, frozen=True, gc=False, omit_defaults=False):
    """What is known of the login pods."""

    replicas: Count = 0
    ready_replicas: Count = 0
    selector: str = ""
    observed_generation: int = 0
    address: str = ""
    conditions: Conditions | None = None


class LoginSet(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: LoginSetSpec
    status: LoginSetStatus = LoginSetStatus()
