"""NodeSet: workers, pods that run slurmd."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from windlass.api.common import (
    Conditions,
    ControllerReference,
    Count,
    PodTemplate,
    Raw,
    Seconds,
    SecretKey,
)
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part
from windlass.kube.schema import ATOMIC, IntOrString, Rule

Retention = Literal["Retain", "Delete"]


class Ssh(Part, frozen=True, gc=False):
    """Whether users may log in to workers where their jobs run."""

    enabled: bool = False
    extra_sshd_config: str = ""
    sssd_conf_ref: Annotated[SecretKey | None, ATOMIC] = None


class Partition(Part, frozen=True, gc=False):
    """A partition of the set's own."""

    enabled: bool = False
    config: Annotated[
        str, Meta(pattern=r"^[^\n]*$", description="More for its line in slurm.conf.")
    ] = ""


class RollingUpdate(Part, frozen=True, gc=False):
    max_unavailable: IntOrString = "25%"


class ScheduledUpdate(Part, frozen=True, gc=False):
    """When a maintenance reservation sets workers free for an update."""

    start_time: datetime | None = None
    duration: Seconds = "30m"
    flags: list[str] | None = None


class UpdateStrategy(Part, frozen=True, gc=False):
    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.type != 'ScheduledUpdate' || (has(self.scheduledUpdate) && "
            "has(self.scheduledUpdate.startTime))",
            "type ScheduledUpdate needs scheduledUpdate.startTime",
            ".scheduledUpdate",
        ),
    )

    type: Literal["RollingUpdate", "OnDelete", "ScheduledUpdate"] = "RollingUpdate"
    rolling_update: RollingUpdate = RollingUpdate()
    scheduled_update: ScheduledUpdate | None = None


class ClaimRetention(Part, frozen=True, gc=False):
    when_deleted: Retention = "Retain"
    when_scaled: Retention = "Retain"


class NodeSetSpec(Part, frozen=True, gc=False):
    """Workers that are alike."""

    controller_ref: ControllerReference
    replicas: Count = 1
    scaling_mode: Literal["StatefulSet", "DaemonSet"] = "StatefulSet"
    slurmd: Raw | None = None
    logfile: Raw | None = None
    ssh: Ssh = Ssh()
    template: PodTemplate = PodTemplate()
    extra_conf: Annotated[
        str, Meta(description="Key=Value words for this set's nodes, as in slurm.conf.")
    ] = ""
    partition: Partition = Partition()
    volume_claim_templates: list[Raw] | None = None
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: Count = 0
    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()
    min_ready_seconds: Count = 0
    ordinal_padding: Annotated[int, Meta(ge=0, le=20)] = 0
    pin_to_node: bool = False
    workload_disruption_protection: bool = True
    prune_slurm_node_records: Literal["Never", "NodeNotFound"] = "Never"
    oversubscribe_node: bool = False


class NodeSetStatus(Part, frozen=True, gc=False, omit_defaults=False):
    """What is known of the workers."""

    replicas: Count = 0
    updated_replicas: Count = 0
    ready_replicas: Count = 0
    available_replicas: Count = 0
    unavailable_replicas: Count = 0
    desired: Count = 0
    slurm_idle: Count = 0
    slurm_allocated: Count = 0
    slurm_down: Count = 0
    slurm_drain: Count = 0
    observed_generation: int = 0
    node_set_hash: str = ""
    selector: str = ""
    collision_count: Count | None = None
    conditions: Conditions | None = None
    ordinal_to_node: dict[str, str] | None = None


class NodeSet(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: NodeSetSpec
    status: NodeSetStatus = NodeSetStatus()
