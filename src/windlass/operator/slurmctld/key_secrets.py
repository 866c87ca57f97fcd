"""The keys of a cluster whose Controller names none: made once, never rewritten."""

import base64
from collections.abc import Iterator

from windlass.api import names
from windlass.kube.kinds import CONTROLLER
from windlass.operator import owned
from windlass.operator.keys import JWT_KEY, SLURM_KEY
from windlass.operator.plan import Body
from windlass.operator.slurmctld import words
from windlass.operator.slurmctld.observe import Observed, has_key
from windlass.values.reason import Reason


def to_make(observed: Observed) -> Iterator[Body]:
    """The Secrets that are ours to make and not there."""
    name, used = observed.controller.metadata.name, observed.keys
    if used.slurm.name == names.slurm_key(name) and observed.slurm_secret is None:
        yield _secret(observed, used.slurm.name, SLURM_KEY, observed.fresh.slurm)
    if used.jwt.name == names.jwt_key(name) and observed.jwt_secret is None:
        yield _secret(observed, used.jwt.name, JWT_KEY, observed.fresh.jwt)


def missing(observed: Observed) -> Reason | None:
    """The keys without which no daemon can start."""
    used = observed.keys
    pairs = ((used.slurm, observed.slurm_secret), (used.jwt, observed.jwt_secret))
    absent = [reference for reference, secret in pairs if not has_key(secret, reference)]
    if not absent:
        return None
    told = " and ".join(f"Secret {each.name} with the entry {each.key}" for each in absent)
    return Reason("KeyMissing", f"{told} {'are' if len(absent) > 1 else 'is'} not there")


def _secret(observed: Observed, name: str, entry: str, content: bytes) -> Body:
    owner = observed.controller.metadata
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": owned.metadata(owner, CONTROLLER, name, words.labels_of(observed.controller)),
        "type": "Opaque",
        "immutable": False,
        "data": {entry: base64.b64encode(content).decode()},
    }
