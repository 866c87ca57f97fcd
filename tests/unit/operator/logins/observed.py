"""A LoginSet with all it needs, to be changed by each test."""

from typing import Any

import msgspec

from windlass.api.controller import Controller
from windlass.api.login_set import LoginSet
from windlass.operator.logins.observe import Observed
from windlass.operator.site import Site

HOST_KEYS = {"ssh_host_ed25519_key": b"private", "ssh_host_ed25519_key.pub": b"public"}


def login_set(status: dict[str, Any] | None = None, **spec: Any) -> LoginSet:
    body = {
        "metadata": {"name": "login", "namespace": "hpc", "uid": "u-login", "generation": 3},
        "spec": {"controllerRef": {"name": "slurm"}, **spec},
        "status": status or {},
    }
    return msgspec.convert(body, LoginSet)


def controller(**spec: Any) -> Controller:
    return msgspec.convert(
        {"metadata": {"name": "slurm", "namespace": "hpc", "uid": "u-slurm"}, "spec": spec},
        Controller,
    )


def observed(login: LoginSet | None = None, **more: Any) -> Observed:
    fields: dict[str, Any] = {
        "login_set": login or login_set(),
        "controller": controller(),
        "slurm_key": b"key",
        "host_keys": HOST_KEYS,
        "host_keys_kept": True,
        "site": Site(),
    }
    return Observed(**{**fields, **more})
