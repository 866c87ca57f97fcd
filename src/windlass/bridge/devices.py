"""Which device of Kubernetes is what in Slurm: extended resources as GRES or licences, by a table.

The key may end in `*`, and a `*` in the value stands for the same text. The whole name counts
first, then the longest key that matches.

>>> table = DeviceMap.parse({"nvidia.com/mig-*": "gres/gpu:*", "example.com/dongle": "license/cad"})
>>> print(table.target("nvidia.com/mig-1g.10gb"), table.target("example.com/dongle"))
gres/gpu:1g.10gb license/cad
>>> table.target("example.com/unheard-of") is None
True
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from windlass.bridge import words
from windlass.values.malformed import Malformed

_RESOURCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*\*?")
_TARGET: Final = re.compile(r"(gres|license)/([A-Za-z0-9_.-]+)(?::([A-Za-z0-9_.*-]+))?")
_FORM: Final = "write as in gres/gpu, gres/gpu:h100 or license/ansys"


@dataclass(frozen=True, slots=True)
class Target:
    """What Slurm counts instead."""

    plugin: str
    name: str
    type: str = ""

    def __str__(self) -> str:
        return f"{self.plugin}/{self.name}" + (f":{self.type}" if self.type else "")


@dataclass(frozen=True, slots=True)
class DeviceMap:
    """Targets by resource, made by `parse`."""

    targets: tuple[tuple[str, Target], ...] = ()

    @classmethod
    def parse(cls, table: Mapping[str, str]) -> "DeviceMap":
        """Read a table of settings; raises Malformed of the first bad line."""
        targets = [(_resource(name), _target(name, text)) for name, text in table.items()]
        return cls(tuple(sorted(targets, key=_precedence)))

    def target(self, resource: str) -> Target | None:
        """What a resource is to Slurm; None where nobody said."""
        for key, target in self.targets:
            if key == resource:
                return target
            stem = key.removesuffix("*")
            if stem != key and resource.startswith(stem) and resource != stem:
                kind = target.type.replace("*", resource.removeprefix(stem))
                return Target(target.plugin, target.name, kind)
        return None


def _precedence(line: tuple[str, Target]) -> tuple[bool, int, str]:
    key = line[0]
    return key.endswith("*"), -len(key), key


def _resource(name: str) -> str:
    if not _RESOURCE.fullmatch(name):
        problem = f"{name!r} is no resource of Kubernetes"
        raise Malformed(
            "device", name, 0, problem, "write as in nvidia.com/gpu or nvidia.com/mig-*"
        )
    return name


def _target(name: str, text: str) -> Target:
    found = _TARGET.fullmatch(text)
    if not found or (found[1] == "license" and found[3]):
        raise Malformed(f"device {name}", text, 0, f"{text!r} is nothing that Slurm counts", _FORM)
    if "*" in (found[3] or "") and not name.endswith("*"):
        raise Malformed(f"device {name}", text, 0, "its * stands for nothing", "end the key in *")
    return Target(found[1], found[2], found[3] or "")


DEFAULT: Final = DeviceMap.parse(
    {
        "nvidia.com/gpu": "gres/gpu",
        "nvidia.com/mig-*": "gres/gpu:*",
        "amd.com/gpu": "gres/gpu",
        "gpu.intel.com/i915": "gres/gpu",
        "gpu.intel.com/xe": "gres/gpu",
        words.DEVICE_CLASS + "gpu.nvidia.com": "gres/gpu:gpu.nvidia.com",
        words.DEVICE_CLASS + "gpu.example.com": "gres/gpu:gpu.example.com",
    }
)
