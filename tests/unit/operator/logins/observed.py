"""A LoginSet with all it needs, to be changed by each test."""

from base64 import b64encode
from typing import Any

import msgspec

from windlass.api.controller import Controller
from windlass.api.login_set import LoginSet
from windlass.operator.keys import effective_keys
from windlass.operator.logins.observe import Observed
from windlass.operator.membership import Membership
from windlass.operator.site import Site

HOST_KEYS = {"ssh_host_ed25519_key": b"private", "ssh_host_ed25519_key.pub": b"public"}


def login_set(status: dict[str, Any] | None = None, **spec: Any) -> LoginSet:
    body = {
        "metadata": {"name": "login", "namespace": "hpc", "uid": "u-login", "generation": 3},
        "spec": {"controllerRef": {"name": "slurm"}, **spec},
        "status": status or {},
    }
    return msgspec.convert(body, LoginSet)


def membership(key: bytes | None = b"key", **spec: Any) -> Membership:
    chosen = controller(**spec)
    data = {} if key is None else {"slurm.key": b64encode(key).decode()}
    return Membership(
        controller=chosen, keys=effective_keys(chosen, None), slurm_secret={"data": data}
    )


def controller(**spec: Any) -> Controller:
    return msgspec.convert(
        {"metadata": {"name": "slurm", "namespace": "hpc", "uid": "u-slurm"}, "spec": spec},
        Controller,
    )


def observed(login: LoginSet | None = None, **more: Any) -> Observed:
    fields: dict[str, Any] = {
        "login_set": login or login_set(),
        "membership": membership(),
        "host_keys": HOST_KEYS,
        "host_keys_kept": True,
        "site": Site(),
    }
    return Observed(**{**fields, **more})
