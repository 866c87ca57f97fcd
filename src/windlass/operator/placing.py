"""Where a Kubernetes node is, in the words of Slurm's topology.

An annotation of the node says it outright. Else its labels do, by the operator's pattern: with
`default:root:{topology.kubernetes.io/zone}:{rack}` a node whose labels are `eu-1` and `r7` is at
`default:root:eu-1:r7`. What Slurm takes is `TOPOLOGY:UNIT`, by commas if several: the name of a
topology of topology.yaml, and a block or a path of switches that begins with one that is there.
Switches further down the path are made as they are named; blocks are not.
"""

import re
from typing import Final

from windlass.api import labels
from windlass.kube.meta import Meta

_LABEL: Final = re.compile(r"\{([^{}]+)\}")


def topology_of(host: Meta, pattern: str) -> str | None:
    """None where neither says so: then a node's topology is somebody else's business."""
    given = (host.annotations or {}).get(labels.TOPOLOGY)
    return from_labels(pattern, host.labels or {}) if given is None else given.strip()


def from_labels(pattern: str, found: dict[str, str]) -> str | None:
    """The pattern with a node's labels in it; None where one of them is missing or empty."""
    if not pattern or not all(found.get(name) for name in _LABEL.findall(pattern)):
        return None
    return _LABEL.sub(lambda name: found[name[1]], pattern)
