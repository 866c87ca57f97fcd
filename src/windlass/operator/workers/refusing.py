"""Why no worker can be made at all; pods that run are left alone meanwhile."""

from windlass.operator.workers.conf import parse_extra_conf
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.resources import limits_env
from windlass.values.malformed import Malformed
from windlass.values.reason import Reason


def refusal(observed: Observed) -> Reason | None:
    spec = observed.node_set.spec
    if observed.controller is None:
        return _no_controller(observed)
    if spec.scaling_mode == "DaemonSet":
        return Reason(
            "ScalingModeNotServed",
            "scalingMode DaemonSet is not served yet and no worker is made or removed; "
            "use StatefulSet with replicas",
        )
    sssd = spec.ssh.sssd_conf_ref
    if spec.ssh.enabled and sssd and observed.sssd_conf is None and not sssd.optional:
        return Reason(
            "SssdConfMissing", f"Secret {sssd.name} with the entry {sssd.key} is not there yet"
        )
    return _unreadable(observed)


def _unreadable(observed: Observed) -> Reason | None:
    try:
        parse_extra_conf(observed.node_set.spec.extra_conf)
        limits_env(observed.node_set)
    except Malformed as error:
        return Reason("SpecInvalid", str(error))
    return None


def _no_controller(observed: Observed) -> Reason:
    reference = observed.node_set.spec.controller_ref
    own = observed.node_set.metadata.namespace
    if (reference.namespace or own) != own:
        sentence = (
            f"Controller {reference.namespace}/{reference.name} is in another namespace; "
            f"a NodeSet can only join one in {own}"
        )
    else:
        sentence = f"Controller {reference.name} is not in namespace {own}"
    return Reason("ControllerMissing", sentence)
