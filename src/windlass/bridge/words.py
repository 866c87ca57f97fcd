"""Labels, annotations, finalizers and taints: the same as Slinky's, since people and scripts use
them. What Slinky does not have stands at the end."""

from typing import Final

from windlass.kube.objects import Taint, Toleration

# --- on pods -------------------------------------------------------------------------------

JOB_ID: Final = "scheduler.slinky.slurm.net/slurm-jobid"
"""Label: the Slurm job that holds the pod's place. An annotation of the same name says it, too, for
not every API server takes labels with a Binding."""
NODE: Final = "slinky.slurm.net/slurm-node"
"""Annotation: the Kubernetes node that Slurm chose."""
FINALIZER: Final = "scheduler.slinky.slurm.net/finalizer"

# --- on nodes ------------------------------------------------------------------------------

NODE_NAME: Final = "slinky.slurm.net/slurm-nodename"
"""Label: what Slurm calls the node, where that is not its name."""
EXTERNAL_NODE: Final = "scheduler.slinky.slurm.net/external-node"
"""Label: make me a node of Slurm; its value does not matter."""
EXTERNAL_NODE_PARTITIONS: Final = "scheduler.slinky.slurm.net/external-node-partitions"
"""Annotation: partitions, by commas, that become features of the node."""
TOPOLOGY: Final = "topology.slinky.slurm.net/spec"
"""Annotation: where the node is in Slurm's topology."""
MANAGED_NODE: Final = "slinky.slurm.net/managed-node"
"""Taint, with the scheduler's name as its value: only what Slurm placed may stay."""
MANAGED_NODE_EFFECT: Final = "NoExecute"

# --- what a job is asked to be --------------------------------------------------------------

JOB_PREFIX: Final = "slurmjob.slinky.slurm.net/"
OLD_JOB_PREFIX: Final = "slinky.slurm.net/"
"""The prefix of job annotations before 1.0; other annotations share it."""

# --- defaults ------------------------------------------------------------------------------

SCHEDULER: Final = "slurm-bridge-scheduler"
PARTITION: Final = "slurm-bridge"
MCS_LABEL: Final = "kubernetes"
DEFAULT_SCHEDULER: Final = "default-scheduler"

# --- others' words -------------------------------------------------------------------------

DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
"""A device of this class, asked for as if it were an extended resource."""
DRA_CPU: Final = DEVICE_CLASS + "dra.cpu"
COMPLETION_INDEX: Final = "batch.kubernetes.io/job-completion-index"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
POD_GROUP: Final = "scheduling.x-k8s.io/pod-group"
MIRROR_POD: Final = "kubernetes.io/config.mirror"

JOB_SET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB: Final = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"
JOB_SET_ATTEMPT: Final = "jobset.sigs.k8s.io/restart-attempt"

LEADER_WORKER_SET: Final = "leaderworkerset.sigs.k8s.io/name"
GROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_INDEX: Final = "leaderworkerset.sigs.k8s.io/worker-index"

# --- ours ----------------------------------------------------------------------------------

NAMESPACE_USER: Final = "scheduler.slinky.slurm.net/slurm-user"
"""Annotation of a namespace: whose jobs its pods are."""
NAMESPACE_ACCOUNT: Final = "scheduler.slinky.slurm.net/slurm-account"
"""Annotation of a namespace: the accounts its pods may use, by commas; the first is the default."""


def toleration(scheduler: str) -> Toleration:
    """What lets a pod stay on the nodes that this scheduler manages."""
    return Toleration(
        key=MANAGED_NODE, operator="Equal", value=scheduler, effect=MANAGED_NODE_EFFECT
    )


def taint(scheduler: str) -> Taint:
    return Taint(key=MANAGED_NODE, value=scheduler, effect=MANAGED_NODE_EFFECT)
