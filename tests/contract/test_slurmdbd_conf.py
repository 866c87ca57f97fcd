"""The slurmdbd.conf that an Accounting gets, before a real slurmdbd and a real MariaDB."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from windlass.api.accounting import Accounting
from windlass.inpod import wait_for_database
from windlass.local.errors import LocalError
from windlass.local.pki import Authority, Subject
from windlass.local.waiting import wait_for
from windlass.mains.windlass import now
from windlass.operator.slurmdbd.conf import CA, CERTIFICATE, PRIVATE_KEY, slurmdbd_conf
from windlass.testing.mariadb import RealMariaDb
from windlass.testing.ports import free_ports
from windlass.testing.slurm_accounting import AccountedSlurm

PASSWORD = "a#b \\c'd=e,f"
ELSEWHERE = """
mkdir -p /etc/slurm/ours
cp /etc/slurm/slurm.key /etc/slurm/ours/
cp /etc/slurm/jwt_hs256.key /etc/slurm/jwt.key
"""


def accounting(port: int, tls: dict[str, Any] | None = None, **spec: Any) -> Accounting:
    storage: dict[str, Any] = {
        "host": "127.0.0.1",
        "port": port,
        "username": "tricky",
        "database": "tricky_db",
        "passwordKeyRef": {"name": "p", "key": "p"},
    }
    if tls:
        storage["tls"] = tls
    body = {"metadata": {"name": "a"}, "spec": {"storageConfig": storage, **spec}}
    return msgspec.convert(body, Accounting)


@contextmanager
def running(server: AccountedSlurm, conf: str) -> Iterator[None]:
    """A second slurmdbd beside the first, with a configuration of its own."""
    server.slurm.inside("sh", "-ec", ELSEWHERE)
    folder = server.slurm.folder / "etc" / "ours"
    (folder / "slurmdbd.conf").touch(mode=0o600)
    (folder / "slurmdbd.conf").write_text(conf)
    start = "SLURM_CONF=/etc/slurm/ours/slurm.conf slurmdbd -D > /var/log/ours.log 2>&1 & echo $!"
    pid = server.slurm.inside("sh", "-c", start).strip()
    try:
        yield
    finally:
        server.slurm.inside("kill", pid)


def local(conf: str, host: str, port: int) -> str:
    """The same file for a slurmdbd that runs here, as root."""
    return (
        conf.replace("DbdHost=a-accounting-0", f"DbdHost={host}\nPidFile=/run/ours.pid")
        .replace("DbdPort=6819", f"DbdPort={port}")
        .replace("SlurmUser=slurm", "SlurmUser=root")
    )


def own_database(database: RealMariaDb, password: str, more: str = "") -> None:
    quoted = password.replace("\\", "\\\\").replace("'", "\\'")
    for statement in (
        "CREATE DATABASE tricky_db",
        f"CREATE USER 'tricky'@'127.0.0.1' IDENTIFIED BY '{quoted}' {more}",
        "GRANT ALL ON tricky_db.* TO 'tricky'@'127.0.0.1'",
    ):
        database.contained.inside("mariadb", f"--execute={statement}")


def tables(database: RealMariaDb) -> str:
    return database.contained.inside("mariadb", "--execute=SHOW TABLES IN tricky_db")


def listens(server: AccountedSlurm, port: int) -> bool:
    try:
        server.slurm.inside("bash", "-c", f": < /dev/tcp/127.0.0.1/{port}")
    except LocalError:
        return False
    return True


def conf_of(server: AccountedSlurm, spec: Accounting, port: int) -> str:
    made = slurmdbd_conf(spec, PASSWORD, jwks=False)
    assert made.faults == ()
    return local(made.text, server.slurm.inside("hostname", "-s").strip(), port)


def test_slurmdbd_reads_it_and_reaches_the_database_with_any_password(
    accounted_slurm: AccountedSlurm,
) -> None:
    database = accounted_slurm.database
    own_database(database, PASSWORD)
    (port,) = free_ports(1)
    extra = "PurgeJobAfter=24months\nAuthInfo=cred_expire=300"
    conf = conf_of(accounted_slurm, accounting(database.port, extraConf=extra), port)

    with running(accounted_slurm, conf):
        wait_for(
            lambda: listens(accounted_slurm, port),
            "slurmdbd listens, since its database answered",
            within=60,
        )
        assert "acct_table" in tables(database)


# --- TLS -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def guarded(
    accounted_slurm: AccountedSlurm, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealMariaDb]:
    """A database that lets its user in by a certificate only."""
    folder = tmp_path_factory.mktemp("guarded")
    authority = Authority(folder / "authority", now())
    subjects = (Subject("tls", "database", names=("127.0.0.1",)), Subject("slurmdbd", "slurmdbd"))
    authority.ensure(subjects)
    (folder / "tls").mkdir(mode=0o755)
    for name in ("ca.crt", "tls.crt", "tls.key"):
        (folder / "tls" / name).write_bytes((authority.folder / name).read_bytes())
    storage = accounted_slurm.slurm.folder / "etc" / "storage"
    storage.mkdir()
    for ours, theirs in (
        (CA, "ca.crt"),
        (CERTIFICATE, "slurmdbd.crt"),
        (PRIVATE_KEY, "slurmdbd.key"),
    ):
        (storage.parent / ours).write_bytes((authority.folder / theirs).read_bytes())
    database = RealMariaDb(accounted_slurm.mariadb_root, folder / "mariadb", tls=folder / "tls")
    database.start()
    own_database(database, PASSWORD, "REQUIRE X509")
    yield database
    database.stop()


BOTH = {"caSecretRef": {"name": "t", "key": "ca.crt"}, "certificateRef": {"name": "t"}}


def test_a_database_that_wants_a_certificate_gets_slurmdbds(
    accounted_slurm: AccountedSlurm, guarded: RealMariaDb
) -> None:
    (port,) = free_ports(1)
    with running(accounted_slurm, conf_of(accounted_slurm, accounting(guarded.port, BOTH), port)):
        wait_for(lambda: listens(accounted_slurm, port), "slurmdbd listens", within=60)
        assert "acct_table" in tables(guarded)


def test_slurmdbd_tells_its_password_to_no_database_that_its_authority_does_not_know(
    accounted_slurm: AccountedSlurm, guarded: RealMariaDb, tmp_path: Path
) -> None:
    others = Authority(tmp_path / "others", now())
    others.ensure(())
    ca = accounted_slurm.slurm.folder / "etc" / CA
    ca.write_bytes(others.certificate("ca").read_bytes())
    (port,) = free_ports(1)
    log = accounted_slurm.slurm.contained.logs / "ours.log"
    with running(accounted_slurm, conf_of(accounted_slurm, accounting(guarded.port, BOTH), port)):
        wait_for(lambda: "certificate" in log.read_text().lower(), "slurmdbd says so", within=60)
        assert not listens(accounted_slurm, port)


def test_the_greeting_of_a_real_server_is_understood(accounted_slurm: AccountedSlurm) -> None:
    assert "MariaDB" in wait_for_database.greeting("127.0.0.1", accounted_slurm.database.port)
