"""Whose a Slurm node is: slurmd says so when it joins (`--extra`), and Slurm keeps that.

    namespace=hpc,nodeSetName=gpu,nodeSetUID=0b1c...

The same for all workers of a set, so that one call can correct a thousand, and without a sign that
a shell would read, since some images start slurmd through one. Slinky's operator writes JSON with
the same names into the comment: that is read as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec

from windlass.kube.meta import Meta
from windlass.slurm.model import Node

KEYS: Final = ("namespace", "nodeSetName", "nodeSetUID")


@dataclass(frozen=True, slots=True)
class Belonging:
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        values = (self.namespace, self.name, self.uid)
        return ",".join(f"{key}={value}" for key, value in zip(KEYS, values, strict=True))


def belonging(node_set: Meta) -> Belonging:
    """What the nodes of a set say."""
    return Belonging(node_set.namespace, node_set.name, node_set.uid)


def owner(node: Node) -> Belonging | None:
    """Whose a node is; None where it does not say so."""
    return read(node.extra) or read(node.comment)


@lru_cache(maxsize=1024)
def read(text: str) -> Belonging | None:
    if text.startswith("{"):
        return _found(_parsed(text))
    if text.startswith(f"{KEYS[0]}="):
        parts = (part.partition("=") for part in text.split(","))
        return _found({key: value for key, _, value in parts})
    return None


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _found(said: Mapping[str, Any]) -> Belonging | None:
    values = [said.get(key) for key in KEYS]
    if all(isinstance(value, str) and value for value in values):
        return Belonging(*map(str, values))
    return None
