"""The files that ConfigMaps bring to /etc/slurm beside slurm.conf."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from windlass.api.common import LocalReference
from windlass.api.controller import Controller
from windlass.kube.objects import ConfigMap
from windlass.values.reason import Reason

Content: TypeAlias = str | bytes

SLURM_CONF: Final = "slurm.conf"
CGROUP_CONF: Final = "cgroup.conf"
GRES_CONF: Final = "gres.conf"
SLURM_KEY: Final = "slurm.key"
JWT_KEY: Final = "jwt.key"
JWKS: Final = "jwks.json"
SLURM_JWKS: Final = "slurm.jwks"
RESERVED: Final = frozenset({SLURM_CONF, SLURM_KEY, SLURM_JWKS, JWT_KEY, JWKS})


@dataclass(frozen=True, kw_only=True, slots=True)
class Files:
    """Every file by name, and which of them are scripts of which kind."""

    content: Mapping[str, Content] = field(default_factory=dict)
    prolog: tuple[str, ...] = ()
    epilog: tuple[str, ...] = ()
    prolog_slurmctld: tuple[str, ...] = ()
    epilog_slurmctld: tuple[str, ...] = ()
    notes: tuple[Reason, ...] = ()

    def text(self, name: str) -> str | None:
        """A file as text, if it is one."""
        content = self.content.get(name)
        return content if isinstance(content, str) else None


def referenced(controller: Controller) -> tuple[str, ...]:
    """The ConfigMaps whose files belong to the configuration, by name."""
    return tuple(sorted({name for names in _references(controller).values() for name in names}))


def gather(controller: Controller, config_maps: Mapping[str, ConfigMap]) -> Files:
    """The files of these ConfigMaps; of two with one name the last by ConfigMap is taken."""
    by_kind = _references(controller)
    content: dict[str, Content] = {}
    origins: dict[str, list[str]] = {}
    for name in referenced(controller):
        for file, text in entries(config_maps[name]).items():
            origins.setdefault(file, []).append(name)
            if file not in RESERVED:
                content[file] = text
    scripts = {
        kind: _scripts(kind_names, config_maps)
        for kind, kind_names in by_kind.items()
        if kind != "config"
    }
    return Files(content=content, notes=tuple(_notes(origins)), **scripts)


def entries(config_map: ConfigMap) -> dict[str, Content]:
    return {**(config_map.data or {}), **(config_map.binary_data or {})}


def _references(controller: Controller) -> dict[str, tuple[str, ...]]:
    spec = controller.spec
    return {
        "config": _names(spec.config_file_refs),
        "prolog": _names(spec.prolog_script_refs),
        "epilog": _names(spec.epilog_script_refs),
        "prolog_slurmctld": _names(spec.prolog_slurmctld_script_refs),
        "epilog_slurmctld": _names(spec.epilog_slurmctld_script_refs),
    }


def _names(references: Sequence[LocalReference] | None) -> tuple[str, ...]:
    return tuple(reference.name for reference in references or () if reference.name)


def _scripts(names: Iterable[str], config_maps: Mapping[str, ConfigMap]) -> tuple[str, ...]:
    found = {file for name in names for file in entries(config_maps[name])}
    return tuple(sorted(found - RESERVED))


def _notes(origins: Mapping[str, list[str]]) -> Iterable[Reason]:
    for file, places in sorted(origins.items()):
        if file in RESERVED:
            sentence = f"{file} of ConfigMap {places[0]} is not used: the operator writes that file"
            yield Reason("FileNotUsed", sentence + (_ADVICE if file == SLURM_CONF else ""))
        elif len(places) > 1:
            yield Reason(
                "FileTwice",
                f"{file} is in ConfigMaps {' and '.join(places)}; that of {places[-1]} is used",
            )


_ADVICE: Final = "; put your lines into extraConf"
