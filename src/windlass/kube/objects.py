"""The parts of Kubernetes objects that controllers read, as slim structs. Pure.

Only what is read is kept: a Pod of 9 KB becomes about 6 KB of Python, most of it shared strings.
`gc=False` keeps the collector from walking caches of 15,000 objects; that is sound because no
object refers back to what holds it.

Every list and map may be None: the API server writes `null` for Go's zero values, always in
bookmarks and now and then elsewhere. A controller that needs other fields brings a struct of its
own; a store asks for `metadata: Meta` and no more. `wire.Document` keeps a whole object.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from windlass.kube.meta import Condition, LabelSelector, Meta, ObjectReference, Part, Quantity

# --- Pod -----------------------------------------------------------------------------------


class Resources(Part, frozen=True, gc=False):
    limits: dict[str, Quantity] | None = None
    requests: dict[str, Quantity] | None = None
    claims: list[dict[str, str]] | None = None


class ContainerPort(Part, frozen=True, gc=False):
    name: str = ""
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class Container(Part, frozen=True, gc=False):
    name: str = ""
    image: str = ""
    restart_policy: str | None = None
    resources: Resources | None = None
    ports: list[ContainerPort] | None = None


class Toleration(Part, frozen=True, gc=False):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class SchedulingGate(Part, frozen=True, gc=False):
    name: str = ""


class SchedulingGroup(Part, frozen=True, gc=False):
    pod_group_name: str = ""


class ClaimSource(Part, frozen=True, gc=False):
    claim_name: str = ""


class Volume(Part, frozen=True, gc=False):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, Any] | None = None


class PodResourceClaim(Part, frozen=True, gc=False):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Part, frozen=True, gc=False):
    node_name: str = ""
    hostname: str = ""
    subdomain: str = ""
    scheduler_name: str = ""
    priority_class_name: str = ""
    priority: int | None = None
    host_network: bool = False
    termination_grace_period_seconds: int | None = None
    active_deadline_seconds: int | None = None
    overhead: dict[str, Quantity] | None = None
    resources: Resources | None = None
    node_selector: dict[str, str] | None = None
    affinity: dict[str, Any] | None = None
    topology_spread_constraints: list[dict[str, Any]] | None = None
    tolerations: list[Toleration] | None = None
    scheduling_gates: list[SchedulingGate] | None = None
    scheduling_group: SchedulingGroup | None = None
    init_containers: list[Container] | None = None
    containers: list[Container] | None = None
    volumes: list[Volume] | None = None
    resource_claims: list[PodResourceClaim] | None = None


class ContainerEnd(Part, frozen=True, gc=False):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    message: str = ""
    finished_at: datetime | None = None


class ContainerWait(Part, frozen=True, gc=False):
    reason: str = ""
    message: str = ""


class ContainerState(Part, frozen=True, gc=False):
    waiting: ContainerWait | None = None
    terminated: ContainerEnd | None = None


class ContainerStatus(Part, frozen=True, gc=False):
    name: str = ""
    ready: bool = False
    started: bool | None = None
    restart_count: int = 0
    image_id: str = msgspec.field(name="imageID", default="")
    state: ContainerState | None = None
    last_state: ContainerState | None = None


class PodStatus(Part, frozen=True, gc=False):
    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    host_ip: str = msgspec.field(name="hostIP", default="")
    start_time: datetime | None = None
    nominated_node_name: str = ""
    conditions: list[Condition] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    container_statuses: list[ContainerStatus] | None = None


class Pod(Part, frozen=True, gc=False):
    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


# --- Node ----------------------------------------------------------------------------------


class Taint(Part, frozen=True, gc=False):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: datetime | None = None


class NodeSpec(Part, frozen=True, gc=False):
    unschedulable: bool = False
    provider_id: str = msgspec.field(name="providerID", default="")
    taints: list[Taint] | None = None


class NodeAddress(Part, frozen=True, gc=False):
    type: str = ""
    address: str = ""


class NodeStatus(Part, frozen=True, gc=False):
    capacity: dict[str, Quantity] | None = None
    allocatable: dict[str, Quantity] | None = None
    addresses: list[NodeAddress] | None = None
    conditions: list[Condition] | None = None


class Node(Part, frozen=True, gc=False):
    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


# --- the rest of core ----------------------------------------------------------------------


class ServicePort(Part, frozen=True, gc=False):
    name: str = ""
    port: int = 0
    target_port: int | str = 0
    node_port: int = 0
    protocol: str = "TCP"


class ServiceSpec(Part, frozen=True, gc=False):
    type: str = ""
    cluster_ip: str = msgspec.field(name="clusterIP", default="")
    selector: dict[str, str] | None = None
    ports: list[ServicePort] | None = None


class Service(Part, frozen=True, gc=False):
    metadata: Meta
    spec: ServiceSpec = ServiceSpec()


class ConfigMap(Part, frozen=True, gc=False):
    metadata: Meta
    data: dict[str, str] | None = None
    binary_data: dict[str, bytes] | None = None
    immutable: bool | None = None


class Secret(Part, frozen=True, gc=False):
    metadata: Meta
    type: str = ""
    data: dict[str, bytes] | None = None
    immutable: bool | None = None


class ClaimSpec(Part, frozen=True, gc=False):
    storage_class_name: str | None = None
    volume_name: str = ""
    access_modes: list[str] | None = None
    resources: Resources | None = None


class ClaimStatus(Part, frozen=True, gc=False):
    phase: str = ""
    capacity: dict[str, Quantity] | None = None


class PersistentVolumeClaim(Part, frozen=True, gc=False):
    metadata: Meta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()


# --- apps, policy --------------------------------------------------------------------------


class ReplicaSpec(Part, frozen=True, gc=False):
    replicas: int | None = None
    selector: LabelSelector | None = None


class ReplicaStatus(Part, frozen=True, gc=False):
    observed_generation: int = 0
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""
    conditions: list[Condition] | None = None


class StatefulSet(Part, frozen=True, gc=False):
    metadata: Meta
    spec: ReplicaSpec = ReplicaSpec()
    status: ReplicaStatus = ReplicaStatus()


class Deployment(Part, frozen=True, gc=False):
    metadata: Meta
    spec: ReplicaSpec = ReplicaSpec()
    status: ReplicaStatus = ReplicaStatus()


class ControllerRevision(Part, frozen=True, gc=False):
    metadata: Meta
    revision: int = 0
    data: dict[str, Any] | None = None


class BudgetSpec(Part, frozen=True, gc=False):
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    selector: LabelSelector | None = None


class BudgetStatus(Part, frozen=True, gc=False):
    observed_generation: int = 0
    disruptions_allowed: int = 0
    current_healthy: int = 0
    desired_healthy: int = 0
    expected_pods: int = 0


class PodDisruptionBudget(Part, frozen=True, gc=False):
    metadata: Meta
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()


# --- coordination, events ------------------------------------------------------------------


def micro_time(moment: datetime) -> str:
    """A time as Leases and Events want it written.

    The API server refuses a MicroTime without all six digits of its fraction, and a datetime on a
    whole second is written without any.
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class LeaseSpec(Part, frozen=True, gc=False):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    lease_transitions: int | None = None
    acquire_time: datetime | None = None
    renew_time: datetime | None = None


class Lease(Part, frozen=True, gc=False):
    """To be read; write its times through `micro_time`."""

    metadata: Meta
    spec: LeaseSpec = LeaseSpec()


class EventSeries(Part, frozen=True, gc=False):
    count: int = 0
    last_observed_time: datetime | None = None


class Event(Part, frozen=True, gc=False):
    """An Event of events.k8s.io/v1: to be read; write its times through `micro_time`."""

    metadata: Meta
    type: str = ""
    reason: str = ""
    action: str = ""
    note: str = ""
    reporting_controller: str = ""
    reporting_instance: str = ""
    regarding: ObjectReference | None = None
    related: ObjectReference | None = None
    event_time: datetime | None = None
    series: EventSeries | None = None
