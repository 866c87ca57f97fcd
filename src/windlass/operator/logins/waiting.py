"""What login pods need before they can be made, or made anew."""

from windlass.api import names
from windlass.operator import joining
from windlass.operator.logins.observe import Observed
from windlass.values.reason import Reason


def missing(observed: Observed) -> Reason | None:
    """The first thing that is not there; pods that run are left alone meanwhile."""
    spec = observed.login_set.spec
    controller = observed.controller
    if controller is None:
        return _no_controller(observed)
    if observed.slurm_key is None:
        key = joining.slurm_key(controller)
        return _no_entry("SlurmKeyMissing", key.name, key.key)
    sssd = spec.sssd_conf_ref
    if sssd is not None and observed.sssd_conf is None and not sssd.optional:
        return _no_entry("SssdConfMissing", sssd.name, sssd.key)
    if not observed.host_keys:
        name = names.ssh_host_keys(observed.login_set.metadata.name)
        return Reason(
            "HostKeysMissing",
            f"Secret {name} has no pair of host keys; delete it and new ones are made",
        )
    return None


def _no_controller(observed: Observed) -> Reason:
    reference = observed.login_set.spec.controller_ref
    own = observed.login_set.metadata.namespace
    if (reference.namespace or own) != own:
        sentence = (
            f"Controller {reference.namespace}/{reference.name} is in another namespace; "
            f"a LoginSet can only join one in {own}"
        )
    else:
        sentence = f"Controller {reference.name} is not in namespace {own}"
    return Reason("ControllerMissing", sentence)


def _no_entry(code: str, name: str, key: str) -> Reason:
    return Reason(code, f"Secret {name} with the entry {key} is not there yet")
