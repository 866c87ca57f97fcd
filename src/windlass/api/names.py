"""The names of what the operator makes: the same as Slinky's, since users have them in scripts."""

from typing import Final

SLURMCTLD_PORT: Final = 6817
SLURMD_PORT: Final = 6818
SLURMDBD_PORT: Final = 6819
SLURMRESTD_PORT: Final = 6820
REPORT_PORT: Final = 6821
AGENT_PORT: Final = 6821
SSH_PORT: Final = 22

SLURM_UID: Final = 401
NOBODY_UID: Final = 65534


def slurmctld(controller: str) -> str:
    """The StatefulSet and the Service that clients use."""
    return f"{controller}-controller"


def slurmctld_internal(controller: str) -> str:
    """The headless Service that gives each slurmctld pod a name."""
    return f"{controller}-controller-internal"


def config(controller: str) -> str:
    """The ConfigMap with slurm.conf."""
    return f"{controller}-config"


def programs(controller: str) -> str:
    """The ConfigMap with what runs beside the daemons."""
    return f"{controller}-programs"


def slurm_key(controller: str) -> str:
    """The Secret with a slurm.key that the operator made."""
    return f"{controller}-auth-slurm"


def jwt_key(controller: str) -> str:
    """The Secret with a jwt.key that the operator made."""
    return f"{controller}-auth-jwt"


def slurmdbd(accounting: str) -> str:
    return f"{accounting}-accounting"


def storage_password(accounting: str) -> str:
    """The Secret with a database password that the operator made, under the key `password`."""
    return f"{accounting}-accounting-password"


def slurmrestd(rest_api: str) -> str:
    return f"{rest_api}-restapi"


def ssh_host_keys(login_set: str) -> str:
    return f"{login_set}-ssh-host-keys"


def ssh_config(owner: str) -> str:
    """The ConfigMap with sshd_config of a LoginSet or NodeSet."""
    return f"{owner}-ssh-config"


def workers(controller: str) -> str:
    """The headless Service that all workers of a cluster share."""
    return f"slurm-workers-{controller}"


def workers_budget(controller: str) -> str:
    return f"slurm-workers-pdb-{controller}"


def token_secret(token: str, username: str) -> str:
    return f"{token}-jwt-{username}"


def cluster(namespace: str, controller: str) -> str:
    """Slurm's ClusterName where none is given."""
    return f"{namespace}_{controller}"
