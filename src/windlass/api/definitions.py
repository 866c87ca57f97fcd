"""The six kinds as the API server knows them."""

from typing import Final

from windlass.api import accounting, controller, login_set, node_set, rest_api, token
from windlass.kube.crd import Column, Kind, Scale, Version

GROUP: Final = "slinky.slurm.net"
_READY: Final = Column(
    name="READY", path='.status.conditions[?(@.type=="Ready")].status', description="Ready or not"
)
_REASON: Final = Column(
    name="REASON", path='.status.conditions[?(@.type=="Ready")].reason', priority=1
)
_AGE: Final = Column(name="AGE", path=".metadata.creationTimestamp", type="date")


def _count(name: str, path: str, priority: int = 0) -> Column:
    return Column(name=name, path=path, type="integer", priority=priority)


def _kind(kind: str, plural: str, short_names: tuple[str, ...], version: Version) -> Kind:
    return Kind(
        group=GROUP,
        kind=kind,
        plural=plural,
        short_names=short_names,
        categories=("slurm",),
        description=(version.spec.__doc__ or "").strip(),
        versions=(version,),
    )


CONTROLLER: Final = _kind(
    "Controller",
    "controllers",
    ("slurmctld",),
    Version(
        name="v1beta1",
        spec=controller.ControllerSpec,
        status=controller.ControllerStatus,
        columns=(
            Column(name="CLUSTER", path=".status.clusterName"),
            _READY,
            Column(name="SLURM", path=".status.slurmVersion"),
            Column(name="ADDRESS", path=".status.address", priority=1),
            _REASON,
            _AGE,
        ),
    ),
)
ACCOUNTING: Final = _kind(
    "Accounting",
    "accountings",
    ("slurmdbd",),
    Version(
        name="v1beta1",
        spec=accounting.AccountingSpec,
        status=accounting.AccountingStatus,
        columns=(_READY, Column(name="ADDRESS", path=".status.address", priority=1), _REASON, _AGE),
    ),
)
REST_API: Final = _kind(
    "RestApi",
    "restapis",
    ("slurmrestd",),
    Version(
        name="v1beta1",
        spec=rest_api.RestApiSpec,
        status=rest_api.RestApiStatus,
        columns=(_READY, Column(name="ADDRESS", path=".status.address", priority=1), _REASON, _AGE),
    ),
)
LOGIN_SET: Final = _kind(
    "LoginSet",
    "loginsets",
    ("lss", "sackd"),
    Version(
        name="v1beta1",
        spec=login_set.LoginSetSpec,
        status=login_set.LoginSetStatus,
        columns=(
            _count("REPLICAS", ".status.replicas"),
            _READY,
            Column(name="ADDRESS", path=".status.address", priority=1),
            _REASON,
            _AGE,
        ),
        scale=Scale(),
    ),
)
NODE_SET: Final = _kind(
    "NodeSet",
    "nodesets",
    ("nss", "slurmd"),
    Version(
        name="v1beta1",
        spec=node_set.NodeSetSpec,
        status=node_set.NodeSetStatus,
        columns=(
            _count("DESIRED", ".status.desired"),
            _count("REPLICAS", ".status.replicas"),
            _count("UPDATED", ".status.updatedReplicas"),
            _count("READY", ".status.readyReplicas"),
            _count("IDLE", ".status.slurmIdle", 1),
            _count("ALLOCATED", ".status.slurmAllocated", 1),
            _count("DOWN", ".status.slurmDown", 1),
            _count("DRAIN", ".status.slurmDrain", 1),
            _AGE,
        ),
        scale=Scale(),
    ),
)
TOKEN: Final = _kind(
    "Token",
    "tokens",
    ("jwt",),
    Version(
        name="v1beta1",
        spec=token.TokenSpec,
        status=token.TokenStatus,
        columns=(
            Column(name="USER", path=".spec.username"),
            Column(name="IAT", path=".status.issuedAt", type="date"),
            _READY,
            _REASON,
            _AGE,
        ),
    ),
)
KINDS: Final = (CONTROLLER, ACCOUNTING, REST_API, LOGIN_SET, NODE_SET, TOKEN)
