"""Controller: slurmctld, and with it the Slurm cluster."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from windlass.api.common import (
    EXTERNAL_NEEDS_ADDRESS,
    Conditions,
    ExternalConfig,
    Keys,
    LocalReference,
    PodTemplate,
    Raw,
    Seconds,
    ServiceTemplate,
)
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part
from windlass.kube.schema import Rule


class HighAvailability(Part, frozen=True, gc=False):
    """Backup slurmctlds that take over; they share the state, so its volume must be shared."""

    enabled: bool = False
    backups: Annotated[int, Meta(ge=1, le=8)] = 1


class Persistence(Part, frozen=True, gc=False):
    """Where slurmctld keeps its state: a claim made from the fields of a PVC spec, or one given."""

    enabled: bool = True
    existing_claim: str = ""
    retention_policy: Annotated[
        Literal["Retain", "Delete"],
        Meta(description="What becomes of the claim when the Controller is deleted."),
    ] = "Retain"
    # The fields of a PersistentVolumeClaimSpec, inline.
    access_modes: list[str] | None = None
    data_source: dict[str, Any] | None = None
    data_source_ref: dict[str, Any] | None = None
    resources: dict[str, Any] | None = None
    selector: dict[str, Any] | None = None
    storage_class_name: str | None = None
    volume_attributes_class_name: str | None = None
    volume_mode: str | None = None
    volume_name: str = ""


class MetricsEndpoint(Part, frozen=True, gc=False):
    path: Annotated[str, Meta(min_length=1)]
    interval: Seconds | None = None
    scrape_timeout: Seconds | None = None


class ServiceMonitor(Part, frozen=True, gc=False):
    """A ServiceMonitor for the Prometheus operator, where its kind is installed."""

    enabled: bool = False
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    interval: Seconds | None = None
    scrape_timeout: Seconds | None = None
    endpoints: list[MetricsEndpoint] | None = None


class Metrics(Part, frozen=True, gc=False):
    """Slurm's own metrics, served by slurmctld."""

    enabled: bool = False
    service_monitor: ServiceMonitor = ServiceMonitor()


class ControllerSpec(Keys, frozen=True, gc=False):
    """A Slurm cluster: its slurmctld, configuration and keys."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        EXTERNAL_NEEDS_ADDRESS,
        Rule(
            "!has(self.external) || !self.external || has(self.slurmKeyRef)",
            "external: true needs slurmKeyRef: the key of the cluster that is outside",
            ".slurmKeyRef",
        ),
        Rule(
            "!has(self.external) || !self.external || has(self.jwtKeyRef) || "
            "has(self.jwtHs256KeyRef)",
            "external: true needs jwtKeyRef: the JWT key of the cluster that is outside",
            ".jwtKeyRef",
        ),
        Rule(
            "!has(self.ha) || !self.ha.enabled || (has(self.persistence) && "
            "self.persistence.enabled && has(self.persistence.existingClaim) && "
            "self.persistence.existingClaim != '')",
            "ha.enabled needs persistence.existingClaim: a claim that all slurmctlds share",
            ".persistence",
        ),
        Rule(
            "(has(self.clusterName) ? self.clusterName : '') == "
            "(has(oldSelf.clusterName) ? oldSelf.clusterName : '')",
            "clusterName cannot be changed: Slurm's state and accounting are filed under it",
            ".clusterName",
        ),
        Rule(
            "self.external == oldSelf.external",
            "external cannot be changed: a running cluster would lose its state",
            ".external",
        ),
    )

    cluster_name: Annotated[
        str, Meta(max_length=40, pattern=r"^[A-Za-z0-9_.-]*$", description="Slurm's ClusterName.")
    ] = ""
    accounting_ref: LocalReference | None = None
    external: bool = False
    external_config: ExternalConfig | None = None
    ha: HighAvailability | None = None
    slurmctld: Raw | None = None
    reconfigure: Raw | None = None
    logfile: Raw | None = None
    inplace_reconfigure: Annotated[
        bool,
        Meta(
            description="Kept for manifests written for Slinky: the configuration is always "
            "brought to slurmctld in place where Slurm allows it, and by a restart where not."
        ),
    ] = False
    template: PodTemplate = PodTemplate()
    extra_conf: Annotated[str, Meta(description="Lines for slurm.conf.")] = ""
    config_file_refs: list[LocalReference] | None = None
    prolog_script_refs: list[LocalReference] | None = None
    epilog_script_refs: list[LocalReference] | None = None
    prolog_slurmctld_script_refs: list[LocalReference] | None = None
    epilog_slurmctld_script_refs: list[LocalReference] | None = None
    persistence: Persistence = Persistence()
    service: ServiceTemplate = ServiceTemplate()
    metrics: Metrics = Metrics()


class ControllerStatus(Part, frozen=True, gc=False):
    """What is known of the cluster."""

    observed_generation: int = 0
    cluster_name: str = ""
    slurm_version: str = ""
    address: str = ""
    config_hash: Annotated[
        str, Meta(description="The configuration that slurmctld has in force.")
    ] = ""
    conditions: Conditions | None = None


class Controller(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: ControllerSpec = ControllerSpec()
    status: ControllerStatus = ControllerStatus()
