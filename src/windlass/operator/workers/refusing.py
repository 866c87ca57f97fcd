"""Why no worker can be made at all; pods that run are left alone meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from windlass.operator.membership import no_controller
from windlass.operator.workers.conf import parse_extra_conf
from windlass.operator.workers.hosts import demands_of
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.resources import limits_env
from windlass.values.malformed import Malformed
from windlass.values.reason import Reason


@dataclass(frozen=True, slots=True)
class Refusal:
    reason: Reason
    passes: bool = False
    """Whether it passes by itself, since the operator makes what is missing."""


def refusal(observed: Observed) -> Refusal | None:
    return next(_refusals(observed), None)


def _refusals(observed: Observed) -> Iterator[Refusal]:
    spec, cluster = observed.node_set.spec, observed.membership
    if cluster is None:
        namespace = observed.node_set.metadata.namespace
        yield Refusal(no_controller(namespace, spec.controller_ref))
        return
    if not cluster.has_key:
        key = cluster.keys.slurm
        sentence = f"there is no entry {key.key} in a Secret {key.name}"
        yield Refusal(Reason("KeyMissing", sentence), passes=cluster.key_comes)
    sssd = spec.ssh.sssd_conf_ref
    if spec.ssh.enabled and sssd and observed.sssd_conf is None and not sssd.optional:
        sentence = f"there is no entry {sssd.key} in a Secret {sssd.name}"
        yield Refusal(Reason("SssdConfMissing", sentence))
    yield from _unreadable(observed)


def _unreadable(observed: Observed) -> Iterator[Refusal]:
    try:
        parse_extra_conf(observed.node_set.spec.extra_conf)
        limits_env(observed.node_set)
        demands_of(observed.node_set)
    except (Malformed, msgspec.ValidationError) as error:
        yield Refusal(Reason("SpecInvalid", str(error)))
