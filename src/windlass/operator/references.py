"""What a custom resource refers to, read from its raw fields: also of one that is malformed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.wire import Document
from windlass.values.key import Key

Reference: TypeAlias = tuple[Kind, Key]

# Where names stand, by the path to them; a list is walked through.
PATHS: Final[Mapping[Kind, tuple[tuple[Kind, str], ...]]] = {
    kinds.CONTROLLER: (
        (kinds.ACCOUNTING, "accountingRef"),
        (kinds.SECRET, "slurmKeyRef"),
        (kinds.SECRET, "jwtKeyRef"),
        (kinds.SECRET, "jwtHs256KeyRef"),
        (kinds.CONFIG_MAP, "jwksKeyRef"),
        (kinds.CONFIG_MAP, "configFileRefs"),
        (kinds.CONFIG_MAP, "prologScriptRefs"),
        (kinds.CONFIG_MAP, "epilogScriptRefs"),
        (kinds.CONFIG_MAP, "prologSlurmctldScriptRefs"),
        (kinds.CONFIG_MAP, "epilogSlurmctldScriptRefs"),
    ),
    kinds.ACCOUNTING: (
        (kinds.SECRET, "slurmKeyRef"),
        (kinds.SECRET, "jwtKeyRef"),
        (kinds.SECRET, "jwtHs256KeyRef"),
        (kinds.CONFIG_MAP, "jwksKeyRef"),
        (kinds.SECRET, "storageConfig.passwordKeyRef"),
        (kinds.CONFIG_MAP, "storageConfig.tls.caRef"),
        (kinds.SECRET, "storageConfig.tls.caSecretRef"),
        (kinds.SECRET, "storageConfig.tls.certificateRef"),
    ),
    kinds.REST_API: ((kinds.CONTROLLER, "controllerRef"), (kinds.SECRET, "tls.secretRef")),
    kinds.LOGIN_SET: ((kinds.CONTROLLER, "controllerRef"), (kinds.SECRET, "sssdConfRef")),
    kinds.NODE_SET: ((kinds.CONTROLLER, "controllerRef"), (kinds.SECRET, "ssh.sssdConfRef")),
    kinds.TOKEN: (
        (kinds.CONTROLLER, "controllerRef"),
        (kinds.SECRET, "jwtKeyRef"),
        (kinds.SECRET, "jwtHs256KeyRef"),
        (kinds.SECRET, "secretRef"),
    ),
}


def references(kind: Kind, item: Document) -> Iterator[Reference]:
    """Each object that this one names; all are of its own namespace."""
    spec = item.body.get("spec")
    for referred, path in PATHS[kind]:
        for name in _names(spec, path.split(".")):
            yield referred, Key(item.metadata.namespace, name)


def _names(value: Any, path: list[str]) -> Iterable[str]:
    if isinstance(value, list):
        return (name for entry in value for name in _names(entry, path))
    if not isinstance(value, Mapping):
        return ()
    if not path:
        name = value.get("name")
        return (name,) if isinstance(name, str) and name else ()
    return _names(value.get(path[0]), path[1:])
