"""How slurmd is started: as a dynamic node, with its line of slurm.conf on the command line."""

import re
from typing import Final

from windlass.api.controller import Controller
from windlass.api.node_set import NodeSet
from windlass.operator import joining
from windlass.operator.workers.belonging import belonging
from windlass.operator.workers.resources import gpus
from windlass.slurm.conf.checking import check
from windlass.slurm.conf.faults import Broken, Fault
from windlass.slurm.conf.keys import SLURM_CONF
from windlass.slurm.conf.reading import parse
from windlass.values.malformed import Malformed

FEATURES: Final = "Features"
_FEATURES: Final = frozenset({"feature", "features"})
_WORD: Final = re.compile(r'(?:[^\s"]|"[^"]*")+')


def arguments(node_set: NodeSet, controller: Controller) -> list[str]:
    """Words of a command line, none of which passes through a shell."""
    server = joining.conf_server(controller)
    mine = str(belonging(node_set.metadata))
    return ["-Z", "--conf-server", server, "--conf", node_conf(node_set), "--extra", mine]


def node_conf(node_set: NodeSet) -> str:
    """The node's line: the set's name as a feature, what the user adds, and the GPUs that its pod
    gets, in a fixed order."""
    given = parse_extra_conf(node_set.spec.extra_conf)
    features = {node_set.prefix}
    others: dict[str, str] = {}
    for key, values in given.items():
        if key.lower() in _FEATURES:
            features.update(each for value in values for each in value.split(",") if each)
        else:
            others[key] = ",".join(values)
    devices = gpus(node_set)
    if devices and not any(key.lower() == "gres" for key in others):
        others["Gres"] = f"gpu:{devices}"
    words = [f"{key}={others[key]}" for key in sorted(others, key=str.lower)]
    return " ".join([f"{FEATURES}={','.join(sorted(features))}", *words])


def parse_extra_conf(text: str) -> dict[str, list[str]]:
    """Key=Value words; a key that comes twice, in whatever case, has both values."""
    found: dict[str, list[str]] = {}
    written: dict[str, str] = {}
    position = 0
    for word in _WORD.finditer(text):
        _only_space(text, position, word.start())
        position = word.end()
        key, equals, value = word[0].partition("=")
        if not (key and equals):
            raise _wrong(text, word.start(), f"{word[0]!r} has no = or no name before it")
        found.setdefault(written.setdefault(key.lower(), key), []).append(value)
    _only_space(text, position, len(text))
    return found


def doubts(node_set: NodeSet) -> tuple[Fault, ...]:
    """What the Slurm that we know would refuse; slurmd does not start on a key it does not know.

    Only doubts: the Slurm in the user's image may be a newer one.
    """
    line = f"NodeName={node_set.metadata.name} {node_conf(node_set)}"
    try:
        return check(parse(line, SLURM_CONF, "extraConf"), SLURM_CONF)
    except Broken as broken:
        return broken.faults


def _only_space(text: str, start: int, end: int) -> None:
    """What lies between words is space, or a quotation mark that is never closed."""
    if text[start:end].strip():
        raise _wrong(text, start + text[start:end].index('"'), 'a " is not closed')


def _wrong(text: str, position: int, problem: str) -> Malformed:
    return Malformed("extraConf", text, position, problem, "write Key=Value words")
