"""What a daemon must be told to join a Slurm cluster: whom to ask, and where workers are."""

from windlass.api import names
from windlass.api.controller import Controller
from windlass.operator.pods.service import port_of


def conf_server(controller: Controller) -> str:
    """`host:port` of the slurmctld that hands out the configuration."""
    outside = controller.spec.external_config
    if controller.spec.external and outside is not None:
        return f"{outside.host}:{outside.port}"
    meta = controller.metadata
    port = port_of(controller.spec.service, names.SLURMCTLD_PORT)
    return f"{names.slurmctld(meta.name)}.{meta.namespace}:{port}"


def workers_domain(controller: Controller, domain: str) -> str:
    """The DNS domain in which the workers of a cluster have their short names."""
    meta = controller.metadata
    return f"{names.workers(meta.name)}.{meta.namespace}.svc.{domain}"
