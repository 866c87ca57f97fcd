"""What several kinds have in common: references, templates, services, conditions."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from windlass.kube.meta import Part
from windlass.kube.schema import ATOMIC, INT32_MAX, PRESERVE, Rule, list_map


def about(text: str) -> Meta:
    """What a field means: for `kubectl explain` and the reference."""
    return Meta(description=text)


Name = Annotated[str, Meta(min_length=1, max_length=253)]
PortNumber = Annotated[int, Meta(ge=1, le=65535)]
# A NodePort of 0 lets Kubernetes choose.
NodePortNumber = Annotated[int, Meta(ge=0, le=65535)]
Count = Annotated[int, Meta(ge=0, le=INT32_MAX)]
# As Go writes a time: durations.py reads it.
Seconds = Annotated[str, Meta(pattern=r"^(([0-9]+(\.[0-9]+)?)(ns|us|µs|ms|s|m|h))+$")]
# As Prometheus writes a time: it also knows days, weeks and years.
PrometheusSeconds = Annotated[
    str,
    Meta(
        pattern=r"^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?"
        r"(([0-9]+)ms)?)$"
    ),
]

# Pod templates and their parts are checked by the API server when it sees the pod itself; a copy
# of their schema here would be 10,000 lines long and refuse the fields of the next Kubernetes.
Raw = Annotated[dict[str, Any], PRESERVE]


class SecretKey(Part, frozen=True, gc=False):
    """One entry of a Secret of the same namespace."""

    name: Annotated[Name, about("The Secret.")]
    key: Annotated[str, Meta(min_length=1), about("The entry of it.")]
    optional: Annotated[
        bool | None, about("Kept for manifests that have it; the Secret is waited for either way.")
    ] = None


class ConfigMapKey(Part, frozen=True, gc=False):
    """One entry of a ConfigMap of the same namespace."""

    name: Annotated[Name, about("The ConfigMap.")]
    key: Annotated[str, Meta(min_length=1), about("The entry of it.")]
    optional: Annotated[
        bool | None,
        about("Kept for manifests that have it; the ConfigMap is waited for either way."),
    ] = None


class LocalReference(Part, frozen=True, gc=False):
    """Another object of the same namespace."""

    name: Annotated[str, about("Its name.")] = ""


class ControllerReference(Part, frozen=True, gc=False):
    """The Slurm cluster that this belongs to."""

    name: Annotated[Name, about("The Controller.")]
    namespace: Annotated[str, about("Its namespace: this one; no other can be referred to.")] = ""


class ExternalConfig(Part, frozen=True, gc=False):
    """Where a daemon answers that Kubernetes does not run."""

    host: Annotated[str, Meta(max_length=253), about("A name or an address.")]
    port: Annotated[NodePortNumber, about("The port of the daemon there.")]


class TemplateMetadata(Part, frozen=True, gc=False):
    """Labels and annotations for what is made from this."""

    labels: Annotated[dict[str, str] | None, about("Labels to add.")] = None
    annotations: Annotated[dict[str, str] | None, about("Annotations to add.")] = None


class PodTemplate(Part, frozen=True, gc=False):
    """Merged over the pod that the operator makes."""

    metadata: Annotated[TemplateMetadata | None, about("Labels and annotations of the pods.")] = (
        None
    )
    spec: Annotated[
        Raw | None,
        about("A PodSpec, merged as `kubectl patch` merges; false, 0 and empty values count."),
    ] = None


class ServiceTemplate(Part, frozen=True, gc=False):
    """The Service before the daemon; the daemon's port is added to it."""

    metadata: Annotated[
        TemplateMetadata | None, about("Labels and annotations of the Service.")
    ] = None
    spec: Annotated[Raw | None, about("A ServiceSpec; its externalIPs are left out.")] = None
    port: Annotated[
        NodePortNumber | None, about("The port that clients use, where not the daemon's own.")
    ] = None
    node_port: Annotated[
        NodePortNumber | None, about("The port on every node, where the type is NodePort.")
    ] = None


class Condition(Part, frozen=True, gc=False, omit_defaults=False):
    """One thing that is so, or is not, and why."""

    type: Annotated[
        str, Meta(max_length=316), about("Ready, Available, Progressing, Degraded and others.")
    ]
    status: Annotated[Literal["True", "False", "Unknown"], about("Whether it is so.")]
    reason: Annotated[str, Meta(min_length=1, max_length=1024), about("One word for machines.")]
    message: Annotated[str, Meta(max_length=32768), about("A sentence for people.")]
    last_transition_time: Annotated[datetime, about("Since when the status is what it is.")]
    observed_generation: Annotated[
        int, Meta(ge=0), about("The generation of the object that was judged.")
    ] = 0


Conditions = Annotated[
    list[Condition],
    list_map("type"),
    about("What is so and what is not; `Ready` sums the others up."),
]
ObservedGeneration = Annotated[
    int, about("The generation of the object that this status speaks of.")
]
Address = Annotated[str, about("Where clients reach it: host and port.")]

EXTERNAL_NEEDS_ADDRESS: Final = Rule(
    "!has(self.external) || !self.external || (has(self.externalConfig) && "
    "self.externalConfig.host != '' && self.externalConfig.port > 0)",
    "external: true needs externalConfig with the host and port where the daemon answers",
    ".externalConfig",
)

CONTAINER: Final = "Merged over the container that the operator makes: image, resources, env, args."
SlurmKeyRef = Annotated[
    SecretKey | None,
    ATOMIC,
    about("The key that daemons of one cluster share; left out, the operator makes one."),
]
JwtKeyRef = Annotated[
    SecretKey | None,
    ATOMIC,
    about("The HS256 key that tokens are signed with; left out, the operator makes one."),
]
JwtHs256KeyRef = Annotated[
    SecretKey | None, ATOMIC, about("The older name of jwtKeyRef, which wins if both are given.")
]


class Keys(Part, frozen=True, gc=False):
    """The secrets that daemons of one cluster share; what is left out, the operator makes."""

    slurm_key_ref: SlurmKeyRef = None
    jwt_key_ref: JwtKeyRef = None
    jwt_hs256_key_ref: JwtHs256KeyRef = msgspec.field(name="jwtHs256KeyRef", default=None)
    jwks_key_ref: Annotated[
        ConfigMapKey | None, ATOMIC, about("A JWKS file, for tokens that others sign.")
    ] = None

    @property
    def jwt_key(self) -> SecretKey | None:
        """The JWT key that counts: the older name still works."""
        return self.jwt_key_ref or self.jwt_hs256_key_ref
