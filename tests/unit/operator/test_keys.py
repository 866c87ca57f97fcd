import base64
from typing import Any

import msgspec
import pytest

from windlass.api.accounting import Accounting
from windlass.api.common import ConfigMapKey, SecretKey
from windlass.api.controller import Controller
from windlass.operator.keys import (
    Keys,
    accounting_keys,
    effective_keys,
    entry,
    jwt_key_hash,
    jwt_key_sources,
    key_fault,
    slurm_key_hash,
    slurm_key_sources,
)
from windlass.slurm.key_set import KeySet

MADE = Keys(
    SecretKey(name="c-auth-slurm", key="slurm.key"), SecretKey(name="c-auth-jwt", key="jwt.key")
)


def named(name: str) -> dict[str, Any]:
    return {
        "slurmKeyRef": {"name": f"{name}-s", "key": "k"},
        "jwtKeyRef": {"name": f"{name}-j", "key": "k"},
        "jwksKeyRef": {"name": f"{name}-jwks", "key": "k"},
    }


def keys(name: str) -> Keys:
    return Keys(
        SecretKey(name=f"{name}-s", key="k"),
        SecretKey(name=f"{name}-j", key="k"),
        ConfigMapKey(name=f"{name}-jwks", key="k"),
    )


def controller(name: str = "c", **spec: Any) -> Controller:
    return msgspec.convert({"metadata": {"name": name}, "spec": spec}, Controller)


def accounting(**spec: Any) -> Accounting:
    return msgspec.convert({"metadata": {"name": "a"}, "spec": spec}, Accounting)


@pytest.mark.parametrize(
    ("own", "shared", "wanted"),
    [
        (controller(), None, MADE),
        (controller(), accounting(), MADE),
        (controller(), accounting(**named("a")), keys("a")),
        (controller(**named("c")), accounting(**named("a")), keys("c")),
        (
            controller(slurmKeyRef={"name": "own", "key": "k"}),
            accounting(**named("a")),
            Keys(SecretKey(name="own", key="k"), keys("a").jwt, keys("a").jwks),
        ),
        (
            controller(jwtHs256KeyRef={"name": "older", "key": "k"}),
            None,
            Keys(MADE.slurm, SecretKey(name="older", key="k")),
        ),
    ],
)
def test_a_controllers_keys_are_its_own_its_accountings_or_made(
    own: Controller, shared: Accounting | None, wanted: Keys
) -> None:
    assert effective_keys(own, shared) == wanted


@pytest.mark.parametrize(
    ("own", "controllers", "wanted"),
    [
        (accounting(), [], None),
        (accounting(slurmKeyRef={"name": "half", "key": "k"}), [], None),
        (accounting(**named("a")), [], keys("a")),
        (accounting(**named("a")), [controller(**named("c"))], keys("a")),
        (accounting(), [controller(), controller("younger", **named("y"))], MADE),
        (accounting(), [controller(**named("c"))], keys("c")),
        (
            accounting(slurmKeyRef={"name": "half", "key": "k"}),
            [controller()],
            Keys(SecretKey(name="half", key="k"), MADE.jwt),
        ),
    ],
)
def test_an_accountings_keys_are_its_own_or_its_oldest_controllers(
    own: Accounting, controllers: list[Controller], wanted: Keys | None
) -> None:
    assert accounting_keys(own, controllers) == wanted


@pytest.mark.parametrize("shared", [accounting(), accounting(**named("a"))])
@pytest.mark.parametrize("own", [controller(), controller(**named("c"))])
def test_one_controller_and_its_accounting_agree_unless_both_name_a_key(
    own: Controller, shared: Accounting
) -> None:
    both = own.spec.slurm_key_ref is not None and shared.spec.slurm_key_ref is not None
    agree = effective_keys(own, shared) == accounting_keys(shared, [own])
    assert agree is not both


def test_several_keys_are_mounted_from_the_day_the_secret_has_them() -> None:
    first, later = slurm_key_sources(keys("a"))
    assert first == {"secret": {"name": "a-s", "items": [{"key": "k", "path": "slurm.key"}]}}
    items = [{"key": "slurm.jwks", "path": "slurm.jwks"}]
    assert later == {"secret": {"name": "a-s", "items": items, "optional": True}}

    only = Keys(SecretKey(name="s", key="slurm.jwks"), MADE.jwt)
    assert slurm_key_sources(only) == [{"secret": {"name": "s", "items": items}}]


def test_a_jwks_file_is_mounted_beside_the_jwt_key() -> None:
    assert [next(iter(each)) for each in jwt_key_sources(keys("a"))] == ["secret", "configMap"]
    assert len(jwt_key_sources(MADE)) == 1


@pytest.mark.parametrize(
    ("secret", "wanted"),
    [
        ({"data": {"k": "a2V5"}}, b"key"),
        ({"data": {"k": ""}}, b""),
        ({"data": {"k": "not base64!"}}, None),
        ({"data": {}}, None),
        ({"data": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_an_entry_of_a_secret_is_read_if_it_is_there(
    secret: dict[str, Any] | None, wanted: bytes | None
) -> None:
    assert entry(secret, "k") == wanted


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ({"k": b"any bytes"}, None),
        ({"k": b"x", "slurm.jwks": str(KeySet.of(b"k" * 16, "1")).encode()}, None),
        ({"k": b""}, "KeyMissing"),
        ({}, "KeyMissing"),
        ({"k": b"x", "slurm.jwks": b"{broken"}, "BadKey"),
        ({"k": b"x", "slurm.jwks": b"\xff"}, "BadKey"),
    ],
)
def test_keys_that_would_end_every_daemon_are_found(
    data: dict[str, bytes], code: str | None
) -> None:
    secret = {"data": {name: base64.b64encode(value).decode() for name, value in data.items()}}
    fault = key_fault(secret, SecretKey(name="s", key="k"))
    assert (fault.code if fault else None) == code


def test_a_hash_changes_with_the_keys_and_with_nothing_else() -> None:
    ref = SecretKey(name="s", key="k")
    plain = {"data": {"k": "a2V5"}}
    assert slurm_key_hash(plain, ref) == slurm_key_hash({"data": {"k": "a2V5", "x": "eA=="}}, ref)
    assert slurm_key_hash(plain, ref) != slurm_key_hash(
        {"data": {"k": "a2V5", "slurm.jwks": "e30="}}, ref
    )
    assert jwt_key_hash(plain, ref) != jwt_key_hash(plain, ref, "{}")
