"""What a pass over a Token reads."""

from dataclasses import dataclass, field
from typing import Any

from windlass.api import names
from windlass.api.accounting import Accounting
from windlass.api.common import SecretKey
from windlass.api.controller import Controller
from windlass.api.token import Token
from windlass.kube import kinds
from windlass.kube.wire import Document
from windlass.operator.keys import effective_keys, entry
from windlass.operator.reading import decode
from windlass.operator.world import View
from windlass.values.key import Key

ENTRY = "SLURM_JWT"


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    token: Token
    key_ref: SecretKey | None
    """Where the key to sign with is; None if the Controller that has it is not there."""
    key: bytes | None = field(default=None, repr=False)
    secret: dict[str, Any] | None = field(default=None, repr=False)
    """What has the name of the token's Secret now."""
    former: dict[str, Any] | None = field(default=None, repr=False)
    """The Secret that the token was in before it was given another name."""


def place(token: Token) -> SecretKey:
    """Where the token is to be."""
    usual = names.token_secret(token.metadata.name, token.spec.username)
    return token.spec.secret_ref or SecretKey(name=usual, key=ENTRY)


async def observe(view: View, document: Document) -> Observed:
    token = decode(document, Token)
    namespace = token.metadata.namespace
    key_ref = token.spec.jwt_key or _key_of_controller(view, token)
    key = await _body(view, Key(namespace, key_ref.name)) if key_ref else None
    name, before = place(token).name, token.status.secret_name
    return Observed(
        token=token,
        key_ref=key_ref,
        key=entry(key, key_ref.key) if key_ref else None,
        secret=await _body(view, Key(namespace, name)),
        former=await _body(view, Key(namespace, before)) if before not in ("", name) else None,
    )


def _key_of_controller(view: View, token: Token) -> SecretKey | None:
    namespace, ref = token.metadata.namespace, token.spec.controller_ref
    found = view.get(kinds.CONTROLLER, Key(namespace, ref.name)) if ref else None
    if found is None:
        return None
    controller = decode(found, Controller)
    named = controller.spec.accounting_ref
    accounting = view.get(kinds.ACCOUNTING, Key(namespace, named.name)) if named else None
    shared = decode(accounting, Accounting) if accounting else None
    return effective_keys(controller, shared).jwt


async def _body(view: View, key: Key) -> dict[str, Any] | None:
    document = await view.read(kinds.SECRET, key)
    return document.body if document else None
