"""What a pass over an Accounting reads."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from windlass.api import names
from windlass.api.accounting import Accounting, StorageConfig
from windlass.api.common import SecretKey
from windlass.api.controller import Controller
from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.objects import Pod
from windlass.kube.wire import Document
from windlass.operator.images import Images
from windlass.operator.keys import Keys, accounting_keys, effective_keys
from windlass.operator.reading import decode
from windlass.operator.world import View
from windlass.values.key import Key

Content = Mapping[tuple[Kind, str], dict[str, Any]]
"""Secrets and ConfigMaps by kind and name; what is not there is not in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    accounting: Accounting
    controllers: tuple[Controller, ...] = ()
    """Those that refer to it, the oldest first."""
    content: Content = field(default_factory=dict, repr=False)
    stateful_set: dict[str, Any] | None = None
    pods: tuple[Pod, ...] = ()
    images: Images = field(default_factory=Images)
    programs: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The texts of what runs in pods, by the name of the file."""
    fresh_password: str = field(default="", repr=False)
    """For a database whose password nobody chose yet."""

    @property
    def password_ref(self) -> SecretKey:
        """Where the database's password is: the user's, or the one that the operator makes."""
        made = names.storage_password(self.accounting.metadata.name)
        given = self.storage.password_key_ref if self.storage else None
        return given or SecretKey(name=made, key="password")

    @property
    def keys(self) -> Keys | None:
        return accounting_keys(self.accounting, self.controllers)

    @property
    def storage(self) -> StorageConfig | None:
        return self.accounting.spec.storage_config

    def secret(self, name: str) -> dict[str, Any] | None:
        return self.content.get((kinds.SECRET, name))

    def text(self, name: str, key: str) -> str | None:
        """An entry of a ConfigMap."""
        found = self.content.get((kinds.CONFIG_MAP, name)) or {}
        text = (found.get("data") or {}).get(key)
        return text if isinstance(text, str) else None


@dataclass(frozen=True, slots=True)
class Observer:
    """Reads for a pass; what it is made with is the same for all of them."""

    images: Images
    programs: Mapping[str, str] = field(repr=False)
    make_password: Callable[[], str]

    async def observe(self, view: View, document: Document) -> Observed:
        accounting = decode(document, Accounting)
        key = accounting.metadata.key
        referring = view.referring(kinds.CONTROLLER, (kinds.ACCOUNTING, key))
        controllers = tuple(decode(each, Controller) for each in referring)
        live = view.get(kinds.STATEFUL_SET, Key(key.namespace, names.slurmdbd(key.name)))
        return Observed(
            accounting=accounting,
            controllers=controllers,
            content=await _content(view, accounting, controllers),
            stateful_set=live.body if live else None,
            pods=tuple(view.pods(kinds.ACCOUNTING, key)),
            images=self.images,
            programs=self.programs,
            fresh_password=self.make_password(),
        )


async def _content(
    view: View, accounting: Accounting, controllers: tuple[Controller, ...]
) -> Content:
    found = {}
    keys = accounting_keys(accounting, controllers)
    theirs = (effective_keys(controller, accounting).slurm.name for controller in controllers)
    wanted = {
        *_of_keys(keys),
        *_of_storage(accounting),
        *((kinds.SECRET, name) for name in theirs),
    }
    for kind, name in wanted:
        document = await view.read(kind, Key(accounting.metadata.namespace, name))
        if document is not None:
            found[(kind, name)] = document.body
    return found


def _of_keys(keys: Keys | None) -> list[tuple[Kind, str]]:
    if keys is None:
        return []
    jwks = [(kinds.CONFIG_MAP, keys.jwks.name)] if keys.jwks else []
    return [(kinds.SECRET, keys.slurm.name), (kinds.SECRET, keys.jwt.name), *jwks]


def _of_storage(accounting: Accounting) -> list[tuple[Kind, str]]:
    storage = accounting.spec.storage_config
    if storage is None:
        return []
    made, given = names.storage_password(accounting.metadata.name), storage.password_key_ref
    found = [(kinds.SECRET, given.name if given else made)]
    tls = storage.tls
    if tls and tls.ca_ref:
        found.append((kinds.CONFIG_MAP, tls.ca_ref.name))
    if tls and tls.ca_secret_ref:
        found.append((kinds.SECRET, tls.ca_secret_ref.name))
    if tls and tls.certificate_ref:
        found.append((kinds.SECRET, tls.certificate_ref.name))
    return found
