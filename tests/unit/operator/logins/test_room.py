import asyncio
from base64 import b64encode
from typing import Any

from tests.unit.operator.worlds import GivenWorld
from windlass.kube.kinds import CONTROLLER, DEPLOYMENT, LOGIN_SET, SECRET, SERVICE, Kind
from windlass.operator.logins.observe import Observed, observe
from windlass.operator.site import Site
from windlass.values.key import Key

SITE = Site()
MADE = {"ssh_host_rsa_key": b"new"}


def thing(name: str, spec: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "hpc", **meta}, "spec": spec or {}}


def secret(name: str, **data: bytes) -> tuple[Kind, dict[str, Any]]:
    encoded = {key.replace("__", "."): b64encode(value).decode() for key, value in data.items()}
    return SECRET, {"metadata": {"name": name, "namespace": "hpc"}, "data": encoded}


def login_set(**meta: Any) -> tuple[Kind, dict[str, Any]]:
    sssd = {"name": "sssd", "key": "sssd.conf"}
    return LOGIN_SET, thing(
        "login", {"controllerRef": {"name": "slurm"}, "sssdConfRef": sssd}, **meta
    )


def look(*objects: tuple[Kind, dict[str, Any]]) -> Observed | None:
    return asyncio.run(observe(GivenWorld(objects), Key("hpc", "login"), SITE, lambda: MADE))


def test_all_that_concerns_the_set_is_read() -> None:
    seen = look(
        login_set(),
        (CONTROLLER, thing("slurm")),
        secret("slurm-auth-slurm", slurm__key=b"key"),
        secret("sssd", sssd__conf=b"[sssd]"),
        (DEPLOYMENT, thing("login", {"replicas": 1})),
        (SERVICE, thing("login")),
    )

    assert seen is not None
    assert (seen.slurm_key, seen.sssd_conf) == (b"key", b"[sssd]")
    assert seen.deployment is not None
    assert seen.deployment.spec.replicas == 1
    assert seen.service == thing("login")


def test_host_keys_are_made_only_where_there_are_none() -> None:
    new = look(login_set())
    kept = look(
        login_set(),
        secret(
            "login-ssh-host-keys",
            ssh_host_rsa_key=b"old",
            ssh_host_rsa_key__pub=b"public",
            ssh_host_ecdsa_key=b"without its public half",
        ),
    )

    assert new is not None
    assert (new.host_keys, new.host_keys_kept) == (MADE, False)
    assert kept is not None
    assert kept.host_keys == {"ssh_host_rsa_key": b"old", "ssh_host_rsa_key.pub": b"public"}
    assert kept.host_keys_kept


def test_a_set_that_is_gone_or_going_is_not_looked_at() -> None:
    assert look() is None
    assert look(login_set(deletionTimestamp="2026-07-01T12:00:00Z")) is None
