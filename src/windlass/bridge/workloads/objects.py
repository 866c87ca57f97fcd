"""The workloads that a bridge understands, as slim structs: only what is read."""

from windlass.kube.meta import Condition, Meta, Part
from windlass.kube.objects import PodSpec

# --- batch ---------------------------------------------------------------------------------


class PodTemplate(Part, frozen=True, gc=False):
    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()


class JobSpec(Part, frozen=True, gc=False):
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    active_deadline_seconds: int | None = None
    suspend: bool | None = None
    template: PodTemplate = PodTemplate()


class JobStatus(Part, frozen=True, gc=False):
    active: int = 0
    succeeded: int = 0
    failed: int = 0


class Job(Part, frozen=True, gc=False):
    metadata: Meta
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


# --- jobset.x-k8s.io/v1alpha2 --------------------------------------------------------------


class Dependency(Part, frozen=True, gc=False):
    name: str = ""
    status: str = ""
    """Ready or Complete."""


class JobTemplate(Part, frozen=True, gc=False):
    metadata: Meta = Meta()
    spec: JobSpec = JobSpec()


class ReplicatedJob(Part, frozen=True, gc=False):
    name: str = ""
    replicas: int = 1
    template: JobTemplate = JobTemplate()
    depends_on: list[Dependency] | None = None


class JobSetStartup(Part, frozen=True, gc=False):
    startup_policy_order: str = "AnyOrder"


class JobSetSpec(Part, frozen=True, gc=False):
    replicated_jobs: list[ReplicatedJob] | None = None
    startup_policy: JobSetStartup | None = None
    suspend: bool | None = None


class JobSet(Part, frozen=True, gc=False):
    metadata: Meta
    spec: JobSetSpec = JobSetSpec()


# --- leaderworkerset.x-k8s.io/v1 -----------------------------------------------------------


class LeaderWorkerTemplate(Part, frozen=True, gc=False):
    leader_template: PodTemplate | None = None
    worker_template: PodTemplate = PodTemplate()
    size: int | None = None


class LeaderWorkerSetSpec(Part, frozen=True, gc=False):
    replicas: int | None = None
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()
    startup_policy: str = "LeaderCreated"


class LeaderWorkerSet(Part, frozen=True, gc=False):
    metadata: Meta
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()


# --- scheduling.x-k8s.io/v1alpha1 ----------------------------------------------------------


class PodGroupSpec(Part, frozen=True, gc=False):
    min_member: int = 0


class PodGroup(Part, frozen=True, gc=False):
    metadata: Meta
    spec: PodGroupSpec = PodGroupSpec()


# --- scheduling.k8s.io ---------------------------------------------------------------------


class GangPolicy(Part, frozen=True, gc=False):
    min_count: int = 1


class SchedulingPolicy(Part, frozen=True, gc=False):
    """A group without a gang is one of pods that start each for itself."""

    gang: GangPolicy | None = None


class WorkloadReference(Part, frozen=True, gc=False):
    workload_name: str = ""


class TemplateReference(Part, frozen=True, gc=False):
    workload: WorkloadReference | None = None


class CorePodGroupSpec(Part, frozen=True, gc=False):
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    pod_group_template_ref: TemplateReference | None = None
    priority_class_name: str = ""


class CorePodGroupStatus(Part, frozen=True, gc=False):
    conditions: list[Condition] | None = None


class CorePodGroup(Part, frozen=True, gc=False):
    """v1alpha2, as Kubernetes 1.36 has it."""

    metadata: Meta
    spec: CorePodGroupSpec = CorePodGroupSpec()
    status: CorePodGroupStatus = CorePodGroupStatus()


class Workload(Part, frozen=True, gc=False):
    """v1alpha2; only its annotations matter here."""

    metadata: Meta


class PriorityClass(Part, frozen=True, gc=False):
    metadata: Meta
    value: int = 0
    global_default: bool = False
