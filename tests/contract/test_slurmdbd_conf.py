"""The slurmdbd.conf that an Accounting gets, before a real slurmdbd and a real MariaDB."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from windlass.api.accounting import Accounting
from windlass.inpod import wait_for_database
from windlass.local.errors import LocalError
from windlass.local.waiting import wait_for
from windlass.operator.slurmdbd.conf import slurmdbd_conf
from windlass.testing.ports import free_ports
from windlass.testing.slurm_accounting import AccountedSlurm

PASSWORD = "a#b \\c'd=e,f"
ELSEWHERE = """
mkdir -p /etc/slurm/ours
cp /etc/slurm/slurm.key /etc/slurm/ours/
cp /etc/slurm/jwt_hs256.key /etc/slurm/jwt.key
"""


def accounting(port: int, **spec: Any) -> Accounting:
    storage = {
        "host": "127.0.0.1",
        "port": port,
        "username": "tricky",
        "database": "tricky_db",
        "passwordKeyRef": {"name": "p", "key": "p"},
    }
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


def test_slurmdbd_reads_it_and_reaches_the_database_with_any_password(
    accounted_slurm: AccountedSlurm,
) -> None:
    database = accounted_slurm.database
    quoted = PASSWORD.replace("\\", "\\\\").replace("'", "\\'")
    for statement in (
        "CREATE DATABASE tricky_db",
        f"CREATE USER 'tricky'@'127.0.0.1' IDENTIFIED BY '{quoted}'",
        "GRANT ALL ON tricky_db.* TO 'tricky'@'127.0.0.1'",
    ):
        database.contained.inside("mariadb", f"--execute={statement}")
    (port,) = free_ports(1)
    made = slurmdbd_conf(
        accounting(database.port, extraConf="PurgeJobAfter=24months\nAuthInfo=cred_expire=300"),
        PASSWORD,
        jwks=False,
    )
    assert made.faults == ()
    host = accounted_slurm.slurm.inside("hostname", "-s").strip()

    def listens() -> bool:
        try:
            accounted_slurm.slurm.inside("bash", "-c", f": < /dev/tcp/127.0.0.1/{port}")
        except LocalError:
            return False
        return True

    with running(accounted_slurm, local(made.text, host, port)):
        wait_for(listens, "slurmdbd listens, since its database answered", within=60)
        tables = database.contained.inside("mariadb", "--execute=SHOW TABLES IN tricky_db")
        assert "acct_table" in tables


def test_the_greeting_of_a_real_server_is_understood(accounted_slurm: AccountedSlurm) -> None:
    assert "MariaDB" in wait_for_database.greeting("127.0.0.1", accounted_slurm.database.port)
