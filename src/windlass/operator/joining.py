"""What a daemon must be told to join a Slurm cluster: whom to ask, and with which key."""

from typing import Final

from windlass.api import names
from windlass.api.common import SecretKey
from windlass.api.controller import Controller
from windlass.operator.pods.service import port_of

SLURM_KEY_ENTRY: Final = "slurm.key"


def conf_server(controller: Controller) -> str:
    """`host:port` of the slurmctld that hands out the configuration."""
    outside = controller.spec.external_config
    if controller.spec.external and outside is not None:
        return f"{outside.host}:{outside.port}"
    meta = controller.metadata
    port = port_of(controller.spec.service, names.SLURMCTLD_PORT)
    return f"{names.slurmctld(meta.name)}.{meta.namespace}:{port}"


def slurm_key(controller: Controller) -> SecretKey:
    """Where slurm.key is: the user's, or the one that the operator made."""
    made = SecretKey(name=names.slurm_key(controller.metadata.name), key=SLURM_KEY_ENTRY)
    return controller.spec.slurm_key_ref or made


def workers_domain(controller: Controller, domain: str) -> str:
    """The DNS domain in which the workers of a cluster have their short names."""
    meta = controller.metadata
    return f"{names.workers(meta.name)}.{meta.namespace}.svc.{domain}"
