"""Labels and annotations: the same as Slinky's, since selectors and scripts use them."""

from typing import Final

NAME: Final = "app.kubernetes.io/name"
INSTANCE: Final = "app.kubernetes.io/instance"
COMPONENT: Final = "app.kubernetes.io/component"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
CLUSTER: Final = "slinky.slurm.net/cluster"

SLURM_KEY_HASH: Final = "slinky.slurm.net/slurm-key-hash"
JWT_KEY_HASH: Final = "slinky.slurm.net/jwt-key-hash"
SLURM_CONFIG_HASH: Final = "slinky.slurm.net/slurm-config-hash"
SLURMDBD_CONF_HASH: Final = "slinky.slurm.net/slurmdbd-conf-hash"
SSHD_CONF_HASH: Final = "slinky.slurm.net/sshd-conf-hash"
SSSD_CONF_HASH: Final = "slinky.slurm.net/sssd-conf-hash"
SSH_HOST_KEYS_HASH: Final = "slinky.slurm.net/ssh-host-keys-hash"

DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"

POD_CORDON: Final = "nodeset.slinky.slurm.net/pod-cordon"
POD_DELETION_COST: Final = "nodeset.slinky.slurm.net/pod-deletion-cost"
POD_DEADLINE: Final = "nodeset.slinky.slurm.net/pod-deadline"
POD_NAME: Final = "nodeset.slinky.slurm.net/pod-name"
POD_INDEX: Final = "nodeset.slinky.slurm.net/pod-index"
POD_HOSTNAME: Final = "nodeset.slinky.slurm.net/pod-hostname"
POD_FAILURES: Final = "nodeset.slinky.slurm.net/pod-failures"
POD_PROTECT: Final = "nodeset.slinky.slurm.net/pod-protect"
UNWANTED_SINCE: Final = "nodeset.slinky.slurm.net/unwanted-since"
SCALING_MODE: Final = "nodeset.slinky.slurm.net/scaling-mode"
NODE_CORDON_REASON: Final = "nodeset.slinky.slurm.net/node-cordon-reason"
HOSTNAME_OVERRIDE: Final = "nodeset.slinky.slurm.net/hostname-override"
RESERVATION: Final = "nodeset.slinky.slurm.net/reservation"
WORKER_TAINT: Final = "nodeset.slinky.slurm.net/worker"
TOPOLOGY: Final = "topology.slinky.slurm.net/spec"
FEATURES: Final = "features.slinky.slurm.net/spec"
EVICTION_ASKED: Final = "nodeset.slinky.slurm.net/eviction-asked"
FORCE_DELETE: Final = "nodeset.slinky.slurm.net/force-delete"
WORKERS: Final = "nodeset.slinky.slurm.net/workers"
"""The finalizer of a NodeSet that may have workers, or jobs that name its partition."""
REVISION: Final = "controller-revision-hash"


def selector(name: str, instance: str) -> dict[str, str]:
    """What a Service or a workload finds its pods by."""
    return {NAME: name, INSTANCE: instance}


def common(name: str, instance: str, component: str) -> dict[str, str]:
    return {**selector(name, instance), COMPONENT: component}
