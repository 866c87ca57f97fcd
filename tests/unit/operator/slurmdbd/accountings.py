"""Accountings and their world, for tests."""

import base64
from typing import Any

import msgspec

from windlass.api.accounting import Accounting
from windlass.api.controller import Controller
from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.operator.images import Images
from windlass.operator.pods.logged import PROGRAM
from windlass.operator.slurmdbd.children import WAITER
from windlass.operator.slurmdbd.observe import Observed

STORAGE = {
    "host": "mariadb",
    "username": "slurm",
    "passwordKeyRef": {"name": "mariadb-password", "key": "password"},
}


def accounting(status: dict[str, Any] | None = None, /, **spec: Any) -> Accounting:
    body = {
        "metadata": {
            "name": "slurm",
            "namespace": "hpc",
            "uid": "accounting-uid",
            "generation": 2,
            "labels": {"team": "hpc"},
            "annotations": {"note": "ours"},
        },
        "spec": {"storageConfig": STORAGE, **spec},
        "status": status or {},
    }
    return msgspec.convert(body, Accounting, strict=False)


def controller(name: str = "slurm", **spec: Any) -> Controller:
    body = {
        "metadata": {"name": name, "namespace": "hpc", "uid": f"{name}-uid"},
        "spec": {"accountingRef": {"name": "slurm"}, **spec},
    }
    return msgspec.convert(body, Controller)


def secret(**data: str | bytes) -> dict[str, Any]:
    """Entries by name; an underscore stands for a dot."""
    entries = {
        name.replace("_", "."): value if isinstance(value, bytes) else value.encode()
        for name, value in data.items()
    }
    return {"data": {name: base64.b64encode(value).decode() for name, value in entries.items()}}


def content(**more: dict[str, Any]) -> dict[tuple[Kind, str], dict[str, Any]]:
    """The Secrets that a plain Accounting needs, and more by name."""
    found = {
        "slurm-auth-slurm": secret(slurm_key=b"s" * 32),
        "slurm-auth-jwt": secret(jwt_key=b"j" * 32),
        "mariadb-password": secret(password="geheim"),
        **{name.replace("_", "-"): body for name, body in more.items()},
    }
    return {(kinds.SECRET, name): body for name, body in found.items()}


def seen(**fields: Any) -> Observed:
    plain: dict[str, Any] = {
        "accounting": accounting(),
        "controllers": (controller(),),
        "content": content(),
        "images": Images(slurmdbd="slurmdbd:26.05"),
        "programs": {WAITER: "print('waits')\n", PROGRAM: "print('logs')\n"},
    }
    return Observed(**{**plain, **fields})
