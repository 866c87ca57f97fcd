"""What a LoginSet refers to and is not there; pods that run are left alone meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass

from windlass.api import names
from windlass.operator.logins.observe import Observed
from windlass.operator.membership import no_controller
from windlass.values.reason import Reason


@dataclass(frozen=True, slots=True)
class Missing:
    reason: Reason
    comes: bool = False
    """Whether the operator is about to make it."""


def missing(observed: Observed) -> Missing | None:
    """The first thing without which login pods cannot start."""
    return next(_missing(observed), None)


def _missing(observed: Observed) -> Iterator[Missing]:
    at, spec = observed.login_set.metadata, observed.login_set.spec
    cluster = observed.membership
    if cluster is None:
        yield Missing(no_controller(at.namespace, spec.controller_ref))
        return
    if not cluster.has_key:
        key = cluster.keys.slurm
        sentence = f"there is no entry {key.key} in a Secret {key.name}"
        yield Missing(Reason("KeyMissing", sentence), comes=cluster.key_comes)
    sssd = spec.sssd_conf_ref
    if sssd is not None and observed.sssd_conf is None and not sssd.optional:
        sentence = f"there is no entry {sssd.key} in a Secret {sssd.name}"
        yield Missing(Reason("SssdConfMissing", sentence))
    if not observed.host_keys_kept:
        # Pods carry the hash of their host keys: it must be of those that the Secret will have.
        yield Missing(Reason("HostKeysNew", "host keys are being made"), comes=True)
    if not observed.host_keys:
        name = names.ssh_host_keys(at.name)
        sentence = f"Secret {name} has no pair of host keys; delete it and new ones are made"
        yield Missing(Reason("HostKeysMissing", sentence))
