"""What a Controller's slurmctld is called and where it answers."""

from collections.abc import Iterator

from windlass.api import names
from windlass.api.controller import Controller
from windlass.operator.pods.service import port_of


def cluster_name(controller: Controller) -> str:
    """Slurm's ClusterName."""
    at = controller.metadata
    return controller.spec.cluster_name or names.cluster(at.namespace, at.name)


def replicas(controller: Controller) -> int:
    ha = controller.spec.ha
    return 1 + ha.backups if ha and ha.enabled else 1


def pods(controller: Controller) -> Iterator[str]:
    """The names of its pods, the primary first."""
    name = names.slurmctld(controller.metadata.name)
    return (f"{name}-{ordinal}" for ordinal in range(replicas(controller)))


def host(controller: Controller) -> str:
    """The name that clients use; it resolves from every namespace."""
    if controller.spec.external_config and controller.spec.external:
        return controller.spec.external_config.host
    return f"{names.slurmctld(controller.metadata.name)}.{controller.metadata.namespace}"


def port(controller: Controller) -> int:
    """The port that clients use. slurmctld listens on it, since slurm.conf has only one number."""
    if controller.spec.external_config and controller.spec.external:
        return controller.spec.external_config.port
    return port_of(controller.spec.service, names.SLURMCTLD_PORT)


def slurm_hosts(controller: Controller, service: str) -> Iterator[str]:
    """The values of SlurmctldHost: where a slurmctld runs, and how it is reached.

    One alone is reached through its Service, by whatever leads to it: that is the same, and
    answers as soon as it can, also while its pod is away. Several have to tell each other apart,
    so each has a name of its own.
    """
    if replicas(controller) == 1:
        return (f"{pod}({service})" for pod in pods(controller))
    at = controller.metadata
    domain = f"{names.slurmctld_internal(at.name)}.{at.namespace}"
    return (f"{pod}({pod}.{domain})" for pod in pods(controller))


def state_folder(controller: Controller) -> str:
    return f"/var/spool/slurmctld/{cluster_name(controller)}"
