"""NodeSet: workers, pods that run slurmd."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from windlass.api.common import (
    CONTAINER,
    Conditions,
    ControllerReference,
    Count,
    ObservedGeneration,
    PodTemplate,
    Raw,
    Seconds,
    SecretKey,
    about,
)
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part
from windlass.kube.schema import ATOMIC, IntOrString, Rule

Retention = Literal["Retain", "Delete"]


class Ssh(Part, frozen=True, gc=False):
    """Whether users may log in to workers where their jobs run."""

    enabled: Annotated[bool, about("Whether they may.")] = False
    extra_sshd_config: Annotated[str, about("Lines for sshd_config.")] = ""
    sssd_conf_ref: Annotated[
        SecretKey | None, ATOMIC, about("The sssd.conf that tells who the users are.")
    ] = None


class Partition(Part, frozen=True, gc=False):
    """A partition of the set's own."""

    enabled: Annotated[bool, about("Whether there is one; it has the name of the set.")] = False
    config: Annotated[
        str,
        Meta(pattern=r"^[^\n]*$"),
        about("More for its line in slurm.conf, such as `MaxTime=UNLIMITED`."),
    ] = ""


class RollingUpdate(Part, frozen=True, gc=False):
    """How many workers an update may take at once."""

    max_unavailable: Annotated[
        IntOrString, about("A number of workers from 1, or a share such as 25%.")
    ] = "25%"


class ScheduledUpdate(Part, frozen=True, gc=False):
    """When a maintenance reservation sets workers free for an update."""

    start_time: Annotated[datetime | None, about("When the reservation begins.")] = None
    duration: Annotated[Seconds, about("How long it lasts; at least 1m.")] = "30m"
    flags: Annotated[list[str] | None, about("More flags for the reservation.")] = None


class UpdateStrategy(Part, frozen=True, gc=False):
    """How workers get a new template."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "self.type != 'ScheduledUpdate' || (has(self.scheduledUpdate) && "
            "has(self.scheduledUpdate.startTime))",
            "type ScheduledUpdate needs scheduledUpdate.startTime",
            ".scheduledUpdate",
        ),
    )

    type: Annotated[
        Literal["RollingUpdate", "OnDelete", "ScheduledUpdate"],
        about("A few at a time, when they are deleted, or in a reservation."),
    ] = "RollingUpdate"
    paused: Annotated[bool, about("Whether workers keep their revision for now.")] = False
    rolling_update: RollingUpdate = RollingUpdate()
    scheduled_update: ScheduledUpdate | None = None


class Drain(Part, frozen=True, gc=False):
    """How long jobs may keep a worker that is to go."""

    deadline: Annotated[
        Seconds | None, about("After so long it is told that jobs still hold a worker.")
    ] = None
    requeue_jobs: Annotated[
        bool, about("Whether those jobs are then put back into the queue. They lose their work.")
    ] = False


class ClaimRetention(Part, frozen=True, gc=False):
    """What becomes of the volumes of workers."""

    when_deleted: Annotated[Retention, about("When the NodeSet is deleted.")] = "Retain"
    when_scaled: Annotated[Retention, about("When their worker is scaled away.")] = "Retain"


class NodeSetSpec(Part, frozen=True, gc=False):
    """Workers that are alike."""

    controller_ref: ControllerReference
    replicas: Annotated[Count, about("How many workers, in mode StatefulSet.")] = 1
    scaling_mode: Annotated[
        Literal["StatefulSet", "DaemonSet"],
        about("As many as replicas says, or one on every node that fits."),
    ] = "StatefulSet"
    slurmd: Annotated[Raw | None, about(CONTAINER)] = None
    logfile: Annotated[Raw | None, about(CONTAINER)] = None
    ssh: Ssh = Ssh()
    template: Annotated[
        PodTemplate,
        about("Merged over the pod that the operator makes; spec.hostname begins the node names."),
    ] = PodTemplate()
    extra_conf: Annotated[
        str, about("Key=Value words for this set's nodes, as on a NodeName line of slurm.conf.")
    ] = ""
    partition: Partition = Partition()
    volume_claim_templates: Annotated[
        list[Raw] | None, about("PersistentVolumeClaims, one of each for every worker.")
    ] = None
    update_strategy: UpdateStrategy = UpdateStrategy()
    drain: Drain = Drain()
    revision_history_limit: Annotated[Count, about("How many old revisions to keep.")] = 0
    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()
    min_ready_seconds: Annotated[
        Count, about("How long a worker is ready before it counts as available.")
    ] = 0
    ordinal_padding: Annotated[
        int, Meta(ge=0, le=20), about("How many digits the ordinal in a name has at least.")
    ] = 0
    pin_to_node: Annotated[
        bool, about("Whether a worker comes back to the Kubernetes node that it was on.")
    ] = False
    workload_disruption_protection: Annotated[
        bool, about("Whether a PodDisruptionBudget protects workers with jobs.")
    ] = True
    prune_slurm_node_records: Annotated[
        Literal["Never", "NodeNotFound"],
        about("Whether Slurm forgets nodes that Kubernetes no longer has."),
    ] = "Never"
    oversubscribe_node: Annotated[
        bool, about("Whether several workers may share a Kubernetes node.")
    ] = False


class NodeSetStatus(Part, frozen=True, gc=False, omit_defaults=False):
    """What is known of the workers."""

    replicas: Annotated[Count, about("How many worker pods there are.")] = 0
    updated_replicas: Annotated[Count, about("How many have the newest template.")] = 0
    ready_replicas: Annotated[Count, about("How many are ready.")] = 0
    available_replicas: Annotated[Count, about("How many have been ready long enough.")] = 0
    unavailable_replicas: Annotated[Count, about("How many have not.")] = 0
    desired: Annotated[Count, about("How many there should be.")] = 0
    slurm_idle: Annotated[Count, about("How many are idle to Slurm.")] = 0
    slurm_allocated: Annotated[Count, about("How many run jobs, wholly or in part.")] = 0
    slurm_down: Annotated[Count, about("How many are down to Slurm.")] = 0
    slurm_drain: Annotated[Count, about("How many are drained or draining.")] = 0
    observed_generation: ObservedGeneration = 0
    node_set_hash: Annotated[str, about("The newest revision.")] = ""
    current_revision: Annotated[str, about("The ControllerRevision that all workers had last.")] = (
        ""
    )
    update_revision: Annotated[str, about("The ControllerRevision that workers get.")] = ""
    selector: Annotated[str, about("The labels of the worker pods.")] = ""
    collision_count: Annotated[Count | None, about("How often a revision's name was taken.")] = None
    conditions: Conditions | None = None
    ordinal_to_node: Annotated[
        dict[str, str] | None, about("Where workers were, for pinToNode.")
    ] = None


class NodeSet(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: NodeSetSpec
    status: NodeSetStatus = NodeSetStatus()

    @property
    def prefix(self) -> str:
        """What the names of its workers begin with: also their feature, NodeSet and partition."""
        words = str((self.spec.template.spec or {}).get("hostname") or "").split()
        return (words[0].strip("-") if words else "") or self.metadata.name

    @property
    def unprivileged(self) -> bool:
        """Whether the user takes slurmd's privileges away, and with them its cgroups."""
        containers = (self.spec.template.spec or {}).get("containers") or ()
        named = (each for each in containers if each.get("name") == "slurmd")
        given = (self.spec.slurmd or {}, *named)
        said = [(each.get("securityContext") or {}).get("privileged") for each in given]
        return [each for each in said if each is not None][-1:] == [False]
