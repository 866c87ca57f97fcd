"""Accounting: the database, and lines for slurmdbd.conf."""

from collections.abc import Iterator
from typing import Final

from windlass.api import names
from windlass.api.accounting import Accounting, StorageConfig
from windlass.api.validation import configuration, references, services, words
from windlass.api.validation.context import Context
from windlass.api.validation.findings import Finding
from windlass.slurm.conf import SLURMDBD_CONF

OWNED: Final = frozenset(
    [
        "authtype",
        "dbdhost",
        "dbdport",
        "slurmuser",
        "storagehost",
        "storageloc",
        "storagepass",
        "storageport",
        "storagetype",
        "storageuser",
    ]
)


def review(new: Accounting, old: Accounting | None, _: Context) -> tuple[Finding, ...]:
    spec = new.spec
    return (
        *words.external(spec.external_config),
        *_storage(spec.storage_config),
        *references.one_jwt_key(spec.jwt_key_ref, spec.jwt_hs256_key_ref),
        *configuration.lines("spec.extraConf", spec.extra_conf, SLURMDBD_CONF, OWNED),
        *services.review(spec.service, "slurmdbd", names.SLURMDBD_PORT),
        *(() if old is None else _changes(new, old)),
    )


def _storage(storage: StorageConfig | None) -> Iterator[Finding]:
    if storage is None:
        return
    field = "spec.storageConfig"
    yield from words.host(f"{field}.host", storage.host)
    yield from words.text(f"{field}.database", "StorageLoc", storage.database)
    yield from words.text(f"{field}.username", "StorageUser", storage.username)
    if storage.tls is not None:
        yield from words.text(f"{field}.tls.cipher", "StorageParameters", storage.tls.cipher)


def _changes(new: Accounting, old: Accounting) -> Iterator[Finding]:
    """One that was left out was the Controller's: it may be named afterwards."""
    if old.spec.jwt_key is not None:
        yield from references.jwt_key_stays(new.spec.jwt_key, old.spec.jwt_key)
