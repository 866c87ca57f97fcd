"""slurmdbd.conf: sections in a fixed order, the user's own lines, and no key that is set twice."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from windlass.api import names
from windlass.api.accounting import Accounting, StorageConfig, StorageTls
from windlass.operator.conf_text import joined, section
from windlass.operator.keys import JWKS, JWT_KEY
from windlass.slurm.conf import (
    SLURMDBD_CONF,
    Broken,
    Document,
    Fault,
    Parameter,
    Unwritable,
    check,
    parameter,
    parse,
)

EXTRA_CONF: Final = "extraConf"
ETC: Final = "/etc/slurm"
CA: Final = "storage/ca.crt"
CERTIFICATE: Final = "storage/tls.crt"
PRIVATE_KEY: Final = "storage/tls.key"
JOINED: Final = ("AuthAltParameters", "AuthInfo", "StorageParameters")
OURS: Final = {
    "DbdHost": "slurmdbd runs where the operator puts it",
    "DbdPort": "clients are told service.port",
    "SlurmUser": "the container runs as slurm",
}

Section: TypeAlias = tuple[str, list[Parameter]]


@dataclass(frozen=True, slots=True)
class SlurmdbdConf:
    """The file, or what stands in its way."""

    text: str = field(default="", repr=False)
    faults: tuple[str, ...] = ()


def slurmdbd_conf(accounting: Accounting, password: str, *, jwks: bool) -> SlurmdbdConf:
    """The file with the password in it; one with faults must not reach slurmdbd."""
    assert accounting.spec.storage_config is not None
    try:
        given = parse(accounting.spec.extra_conf, SLURMDBD_CONF, EXTRA_CONF)
        sections = [
            ("GENERAL", list(_general(accounting.metadata.name))),
            ("PLUGINS & PARAMETERS", list(_plugins(jwks=jwks))),
            ("STORAGE", list(_storage(accounting.spec.storage_config, password))),
            ("LOGGING", [parameter("LogFile", "/dev/null")]),
        ]
    except Broken as broken:
        return SlurmdbdConf(faults=tuple(map(str, broken.faults)))
    except Unwritable as error:
        return SlurmdbdConf(faults=(_unwritable(error),))
    faults = (*check(given, SLURMDBD_CONF), *_moved(given, sections))
    return SlurmdbdConf(_text(sections, accounting.spec.extra_conf, given), tuple(map(str, faults)))


def _unwritable(error: Unwritable) -> str:
    """What the error says, but for the value: it may be the password."""
    return f"slurmdbd.conf cannot carry {error.key}: {error.problem}; {error.fix}"


def _moved(given: Document, sections: Iterable[Section]) -> Iterator[Fault]:
    """Keys of the user that would take slurmdbd away from where the operator looks for it."""
    ours = Document(tuple(line for _, lines in sections for line in lines))
    for pair in given.pairs():
        for key, reason in OURS.items():
            if pair.is_for(key) and pair.value != ours.get(key):
                yield Fault(pair.where, key, reason, "take the line out")


# --- sections ------------------------------------------------------------------------------


def _general(name: str) -> Iterator[Parameter]:
    yield parameter("DbdHost", f"{names.slurmdbd(name)}-0")
    yield parameter("DbdPort", names.SLURMDBD_PORT)
    yield parameter("SlurmUser", "slurm")


def _plugins(*, jwks: bool) -> Iterator[Parameter]:
    more = f",jwks={ETC}/{JWKS}" if jwks else ""
    yield parameter("AuthType", "auth/slurm")
    yield parameter("AuthAltTypes", "auth/jwt")
    yield parameter("AuthAltParameters", f"jwt_key={ETC}/{JWT_KEY}{more}")
    yield parameter("AuthInfo", "use_client_ids")


def _storage(storage: StorageConfig, password: str) -> Iterator[Parameter]:
    yield parameter("StorageType", "accounting_storage/mysql")
    yield parameter("StorageHost", storage.host)
    yield parameter("StoragePort", storage.port)
    if storage.username:
        yield parameter("StorageUser", storage.username)
    yield parameter("StorageLoc", storage.database)
    if password:
        yield parameter("StoragePass", password)
    if storage.tls and (options := list(_tls(storage.tls))):
        yield parameter("StorageParameters", ",".join(options))


def _tls(tls: StorageTls) -> Iterator[str]:
    if tls.ca_ref or tls.ca_secret_ref:
        yield f"SSL_CA={ETC}/{CA}"
    if tls.certificate_ref:
        yield f"SSL_CERT={ETC}/{CERTIFICATE}"
        yield f"SSL_KEY={ETC}/{PRIVATE_KEY}"
    if tls.cipher:
        if any(character in tls.cipher for character in ", \t"):
            raise Unwritable("SSL_CIPHER", "a comma or a blank would end it", "join with : instead")
        yield f"SSL_CIPHER={tls.cipher}"


# --- text ----------------------------------------------------------------------------------


def _text(sections: Iterable[Section], extra: str, given: Document) -> str:
    ours = [(name, [line for line in lines if _is_ours(line, given)]) for name, lines in sections]
    texts = [section(name, lines) for name, lines in ours if lines]
    if extra.strip():
        texts.append(f"#\n### EXTRA CONFIG ###\n{extra.rstrip()}\n")
    whole = Document(tuple(line for _, lines in sections for line in lines))
    if shared := list(joined(JOINED, whole, given)):
        texts.append(section("MERGED CONFIG", shared))
    return "".join(texts)


def _is_ours(line: Parameter, given: Document) -> bool:
    return line.pair.key in JOINED or given.get(line.pair.key) is None
