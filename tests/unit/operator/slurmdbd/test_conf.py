from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.operator.slurmdbd.accountings import STORAGE, accounting
from windlass.operator.slurmdbd.conf import SlurmdbdConf, slurmdbd_conf
from windlass.slurm.conf import SLURMDBD_CONF, parse


def conf(password: str = "geheim", *, jwks: bool = False, **spec: Any) -> SlurmdbdConf:
    return slurmdbd_conf(accounting(**spec), password, jwks=jwks)


def test_a_plain_accounting(golden: Callable[[str, str], None]) -> None:
    made = conf()
    assert made.faults == ()
    golden("plain.conf", made.text)


def test_everything_that_can_be_set(golden: Callable[[str, str], None]) -> None:
    storage = {
        **STORAGE,
        "host": "db.example.org",
        "port": 3307,
        "database": "acct",
        "tls": {
            "caRef": {"name": "ca", "key": "ca.crt"},
            "certificateRef": {"name": "pair"},
            "cipher": "AES128-SHA:AES256-SHA",
        },
    }
    extra = """\
# keep two years
PurgeJobAfter=24months
AuthInfo=cred_expire=300
AuthAltParameters=jwt_key=/elsewhere,disable_token_creation
StorageParameters=SSL_CAPATH=/certs
LogFile=/var/log/slurm/slurmdbd.log
"""
    made = conf("p #x", jwks=True, storageConfig=storage, extraConf=extra)
    assert made.faults == ()
    golden("everything.conf", made.text)


@pytest.mark.parametrize(
    "password", ["a#b", "back\\slash", "two words", "quo'te", 'in"side', "=", "ümlaut", "#", "\\#"]
)
def test_a_password_comes_through_slurms_parser_unchanged(password: str) -> None:
    made = conf(password)
    assert made.faults == ()
    assert parse(made.text, SLURMDBD_CONF).get("StoragePass") == password


@pytest.mark.parametrize("password", ["two\nlines", '"quoted"', 'a "b', "nul\0"])
def test_a_password_that_the_file_cannot_carry_is_refused_without_being_shown(
    password: str,
) -> None:
    made = conf(password)
    assert made.text == ""
    (fault,) = made.faults
    assert "slurmdbd.conf cannot carry StoragePass" in fault
    assert password not in fault


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"extraConf": "PurgeJobAftr=1"}, "extraConf, line 1: PurgeJobAftr"),
        ({"extraConf": "\nthis is no line"}, "extraConf, line 2"),
        ({"extraConf": "CommitDelay=often"}, "CommitDelay"),
        ({"extraConf": "DbdPort=7000"}, "clients are told service.port"),
        ({"extraConf": "SlurmUser=root"}, "runs as slurm"),
        (
            {"storageConfig": {**STORAGE, "tls": {"cipher": "A, B"}}},
            "cannot carry SSL_CIPHER: a comma",
        ),
    ],
)
def test_what_would_kill_slurmdbd_is_refused(spec: dict[str, Any], words: str) -> None:
    (fault,) = conf(**spec).faults
    assert words in fault


def test_a_user_may_repeat_what_is_so_anyway() -> None:
    assert conf(extraConf="DbdPort=6819\nSlurmUser=slurm").faults == ()
