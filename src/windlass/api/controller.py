"""Controller: slurmctld, and with it the Slurm cluster."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from windlass.api.common import (
    CONTAINER,
    EXTERNAL_NEEDS_ADDRESS,
    Address,
    Conditions,
    ExternalConfig,
    Keys,
    LocalReference,
    ObservedGeneration,
    PodTemplate,
    PrometheusSeconds,
    Raw,
    ServiceTemplate,
    about,
)
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part
from windlass.kube.schema import Rule

CLAIM = "As in a PersistentVolumeClaimSpec."


class HighAvailability(Part, frozen=True, gc=False):
    """Backup slurmctlds that take over; they share the state, so its volume must be shared."""

    enabled: Annotated[bool, about("Whether there are backups.")] = False
    backups: Annotated[int, Meta(ge=1, le=8), about("How many, beside the first.")] = 1


class Persistence(Part, frozen=True, gc=False):
    """Where slurmctld keeps its state: a claim made from the fields of a PVC spec, or one given."""

    enabled: Annotated[
        bool, about("Without it the state is lost with the pod, and with it every job.")
    ] = True
    existing_claim: Annotated[str, about("A claim of yours, to be used as it is.")] = ""
    retention_policy: Annotated[
        Literal["Retain", "Delete"],
        about("What becomes of the claim when the Controller is deleted."),
    ] = "Retain"
    # The fields of a PersistentVolumeClaimSpec, inline.
    access_modes: Annotated[list[str] | None, about(CLAIM)] = None
    data_source: Annotated[dict[str, Any] | None, about(CLAIM)] = None
    data_source_ref: Annotated[dict[str, Any] | None, about(CLAIM)] = None
    resources: Annotated[dict[str, Any] | None, about(CLAIM)] = None
    selector: Annotated[dict[str, Any] | None, about(CLAIM)] = None
    storage_class_name: Annotated[str | None, about(CLAIM)] = None
    volume_attributes_class_name: Annotated[str | None, about(CLAIM)] = None
    volume_mode: Annotated[str | None, about(CLAIM)] = None
    volume_name: Annotated[str, about(CLAIM)] = ""


class MetricsEndpoint(Part, frozen=True, gc=False):
    """One page of metrics to be read."""

    path: Annotated[str, Meta(min_length=1), about("Such as /metrics/jobs.")]
    interval: Annotated[PrometheusSeconds | None, about("How often, where not as usual.")] = None
    scrape_timeout: Annotated[
        PrometheusSeconds | None, about("How long to wait, where not as usual.")
    ] = None


class ServiceMonitor(Part, frozen=True, gc=False):
    """A ServiceMonitor for the Prometheus operator, where its kind is installed."""

    enabled: Annotated[bool, about("Whether there is one.")] = False
    annotations: Annotated[dict[str, str] | None, about("Annotations of it.")] = None
    labels: Annotated[dict[str, str] | None, about("Labels, by which Prometheus finds it.")] = None
    interval: Annotated[PrometheusSeconds | None, about("How often to read.")] = None
    scrape_timeout: Annotated[PrometheusSeconds | None, about("How long to wait.")] = None
    endpoints: Annotated[
        list[MetricsEndpoint] | None,
        about("What to read; left out: jobs, nodes, partitions and scheduler."),
    ] = None


class Metrics(Part, frozen=True, gc=False):
    """Slurm's own metrics, served by slurmctld."""

    enabled: Annotated[bool, about("Whether slurmctld serves them.")] = False
    service_monitor: ServiceMonitor = ServiceMonitor()


class ControllerSpec(Keys, frozen=True, gc=False):
    """A Slurm cluster: its slurmctld, configuration and keys."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        EXTERNAL_NEEDS_ADDRESS,
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
        str,
        Meta(max_length=40, pattern=r"^[A-Za-z0-9_.-]*$"),
        about("Slurm's ClusterName, for good; left out: <namespace>_<name>."),
    ] = ""
    accounting_ref: Annotated[
        LocalReference | None, about("The Accounting that keeps the cluster's history.")
    ] = None
    external: Annotated[
        bool, about("Whether slurmctld runs elsewhere; workers, logins and REST join it.")
    ] = False
    external_config: ExternalConfig | None = None
    ha: HighAvailability | None = None
    slurmctld: Annotated[Raw | None, about(CONTAINER)] = None
    reconfigure: Annotated[Raw | None, about(CONTAINER)] = None
    logfile: Annotated[Raw | None, about(CONTAINER)] = None
    inplace_reconfigure: Annotated[
        bool,
        about(
            "Kept for manifests written for Slinky: the configuration is always brought to "
            "slurmctld in place where Slurm allows it, and by a restart where not."
        ),
    ] = False
    template: PodTemplate = PodTemplate()
    extra_conf: Annotated[str, about("Lines for slurm.conf; they have the last word.")] = ""
    config_file_refs: Annotated[
        list[LocalReference] | None,
        about("ConfigMaps whose entries are files beside slurm.conf: gres.conf, topology.yaml."),
    ] = None
    prolog_script_refs: Annotated[
        list[LocalReference] | None, about("ConfigMaps of scripts run on a node before a job.")
    ] = None
    epilog_script_refs: Annotated[
        list[LocalReference] | None, about("ConfigMaps of scripts run on a node after a job.")
    ] = None
    prolog_slurmctld_script_refs: Annotated[
        list[LocalReference] | None, about("ConfigMaps of scripts slurmctld runs before a job.")
    ] = None
    epilog_slurmctld_script_refs: Annotated[
        list[LocalReference] | None, about("ConfigMaps of scripts slurmctld runs after a job.")
    ] = None
    persistence: Persistence = Persistence()
    service: ServiceTemplate = ServiceTemplate()
    metrics: Metrics = Metrics()


class ControllerStatus(Part, frozen=True, gc=False):
    """What is known of the cluster."""

    observed_generation: ObservedGeneration = 0
    cluster_name: Annotated[str, about("Slurm's ClusterName.")] = ""
    slurm_version: Annotated[str, about("The Slurm that answered.")] = ""
    address: Address = ""
    config_hash: Annotated[str, about("The configuration that slurmctld has in force.")] = ""
    conditions: Conditions | None = None


class Controller(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: ControllerSpec = ControllerSpec()
    status: ControllerStatus = ControllerStatus()
