"""What Slurm is: a client of slurmrestd, and the model that the rest of Windlass sees.

    from windlass.slurm import connect, requests

    async with connect("http://slurmrestd:6820", token) as slurm:
        node = await slurm.send(requests.node("w-0"))

Everything public is named here and loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from windlass.slurm import errors, model, requests, specs
    from windlass.slurm.client import Client, connect
    from windlass.slurm.errors import (
        Absent,
        Busy,
        Refused,
        SlurmError,
        Unauthorized,
        Unavailable,
        Unsupported,
    )
    from windlass.slurm.specs import JobSpec, NodeUpdate, PartitionSpec, ReservationSpec
    from windlass.slurm.tokens import MintedToken, Passthrough, StaticToken, TokenFile

__all__ = [
    "Absent",
    "Busy",
    "Client",
    "JobSpec",
    "MintedToken",
    "NodeUpdate",
    "PartitionSpec",
    "Passthrough",
    "Refused",
    "ReservationSpec",
    "SlurmError",
    "StaticToken",
    "TokenFile",
    "Unauthorized",
    "Unavailable",
    "Unsupported",
    "connect",
    "errors",
    "model",
    "requests",
    "specs",
]

_HOMES: Final = {
    "client": ("Client", "connect"),
    "errors": (
        "Absent",
        "Busy",
        "Refused",
        "SlurmError",
        "Unauthorized",
        "Unavailable",
        "Unsupported",
    ),
    "specs": ("JobSpec", "NodeUpdate", "PartitionSpec", "ReservationSpec"),
    "tokens": ("MintedToken", "Passthrough", "StaticToken", "TokenFile"),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name in _HOME_OF:
        return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    if name in __all__:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
