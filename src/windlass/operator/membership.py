"""The Slurm cluster that a login set or a node set belongs to, as its namespace shows it."""

from dataclasses import dataclass, field
from typing import Any

from windlass.api import names
from windlass.api.accounting import Accounting
from windlass.api.common import ControllerReference
from windlass.api.controller import Controller
from windlass.kube import kinds
from windlass.operator.keys import Keys, effective_keys, entry
from windlass.operator.reading import decode
from windlass.operator.world import View
from windlass.values.key import Key
from windlass.values.reason import Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Membership:
    controller: Controller
    keys: Keys
    slurm_secret: dict[str, Any] | None = field(default=None, repr=False)
    """The Secret with slurm.key."""

    @property
    def has_key(self) -> bool:
        return entry(self.slurm_secret, self.keys.slurm.key) is not None

    @property
    def key_comes(self) -> bool:
        """Whether the operator makes the key."""
        return self.keys.slurm.name == names.slurm_key(self.controller.metadata.name)


async def membership(
    view: View, namespace: str, reference: ControllerReference
) -> Membership | None:
    """None where there is no such Controller. One of another namespace cannot be joined: its key
    could not be mounted."""
    if reference.namespace not in ("", namespace):
        return None
    found = view.get(kinds.CONTROLLER, Key(namespace, reference.name))
    if found is None:
        return None
    controller = decode(found, Controller)
    keys = effective_keys(controller, accounting_of(view, controller))
    secret = await view.read(kinds.SECRET, Key(namespace, keys.slurm.name))
    return Membership(
        controller=controller, keys=keys, slurm_secret=secret.body if secret else None
    )


def no_controller(namespace: str, reference: ControllerReference) -> Reason:
    if reference.namespace not in ("", namespace):
        sentence = (
            f"Controller {reference.name} is in namespace {reference.namespace}, "
            "and pods cannot mount its key from there"
        )
        return Reason("ControllerElsewhere", sentence)
    return Reason("ControllerMissing", f"there is no Controller {reference.name}")


def accounting_of(view: View, controller: Controller) -> Accounting | None:
    reference = controller.spec.accounting_ref
    if reference is None:
        return None
    found = view.get(kinds.ACCOUNTING, Key(controller.metadata.namespace, reference.name))
    return decode(found, Accounting) if found else None
