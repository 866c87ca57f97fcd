"""What several kinds have in common: references, templates, services, conditions."""

from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta
from msgspec import Meta as Note

from windlass.kube.meta import Part
from windlass.kube.schema import ATOMIC, INT32_MAX, PRESERVE, Rule, list_map

Name = Annotated[str, Meta(min_length=1, max_length=253)]
PortNumber = Annotated[int, Meta(ge=1, le=65535)]
# A NodePort of 0 lets Kubernetes choose.
NodePortNumber = Annotated[int, Meta(ge=0, le=65535)]
Count = Annotated[int, Meta(ge=0, le=INT32_MAX)]
Seconds = Annotated[str, Meta(pattern=r"^(([0-9]+(\.[0-9]+)?)(ns|us|µs|ms|s|m|h))+$")]

# Pod templates and their parts are checked by the API server when it sees the pod itself; a copy
# of their schema here would be 10,000 lines long and refuse the fields of the next Kubernetes.
Raw = Annotated[dict[str, Any], PRESERVE]


class SecretKey(Part, frozen=True, gc=False):
    """One entry of a Secret of the same namespace."""

    name: Name
    key: Annotated[str, Meta(min_length=1)]
    optional: bool | None = None


class ConfigMapKey(Part, frozen=True, gc=False):
    """One entry of a ConfigMap of the same namespace."""

    name: Name
    key: Annotated[str, Meta(min_length=1)]
    optional: bool | None = None


class LocalReference(Part, frozen=True, gc=False):
    """Another object of the same namespace."""

    name: str = ""


class ControllerReference(Part, frozen=True, gc=False):
    """The Slurm cluster that this belongs to."""

    name: Name
    namespace: str = ""


class ExternalConfig(Part, frozen=True, gc=False):
    """Where a daemon answers that Kubernetes does not run."""

    host: Annotated[str, Meta(min_length=1)]
    port: PortNumber


class TemplateMetadata(Part, frozen=True, gc=False):
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class PodTemplate(Part, frozen=True, gc=False):
    """Merged over the pod that the operator makes; `spec` is a PodSpec."""

    metadata: TemplateMetadata | None = None
    spec: Annotated[Raw | None, Note(description="A PodSpec.")] = None


class ServiceTemplate(Part, frozen=True, gc=False):
    """The Service before the daemon; `spec` is a ServiceSpec, and the daemon's port is added."""

    metadata: TemplateMetadata | None = None
    spec: Annotated[Raw | None, Note(description="A ServiceSpec.")] = None
    port: NodePortNumber | None = None
    node_port: NodePortNumber | None = None


class Condition(Part, frozen=True, gc=False, omit_defaults=False):
    """One thing that is so, or is not, and why."""

    type: Annotated[str, Meta(max_length=316)]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, Meta(min_length=1, max_length=1024)]
    message: Annotated[str, Meta(max_length=32768)]
    last_transition_time: datetime
    observed_generation: Annotated[int, Meta(ge=0)] = 0


Conditions = Annotated[list[Condition], list_map("type")]

JWT_KEY_WINS = Rule(
    "!(has(self.jwtKeyRef) && has(self.jwtHs256KeyRef)) || self.jwtKeyRef == self.jwtHs256KeyRef",
    "jwtKeyRef and the older jwtHs256KeyRef name different keys; remove jwtHs256KeyRef",
)
EXTERNAL_NEEDS_ADDRESS = Rule(
    "!has(self.external) || !self.external || has(self.externalConfig)",
    "external: true needs externalConfig with the host and port where the daemon answers",
    ".externalConfig",
)


class Keys(Part, frozen=True, gc=False):
    """The secrets that daemons of one cluster share; what is left out, the operator makes."""

    slurm_key_ref: Annotated[SecretKey | None, ATOMIC] = None
    jwt_key_ref: Annotated[SecretKey | None, ATOMIC] = None
    jwt_hs256_key_ref: Annotated[SecretKey | None, ATOMIC] = msgspec.field(
        name="jwtHs256KeyRef", default=None
    )
    jwks_key_ref: Annotated[ConfigMapKey | None, ATOMIC] = None

    __rules__: ClassVar[tuple[Rule, ...]] = ()

    @property
    def jwt_key(self) -> SecretKey | None:
        """The JWT key that counts: the older name still works."""
        return self.jwt_key_ref or self.jwt_hs256_key_ref
