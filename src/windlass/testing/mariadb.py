"""A real MariaDB for tests, from Debian's packages, on a port of 127.0.0.1.

Small: its data are in memory. What was committed survives its crash.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from windlass.local.debian import Root
from windlass.local.errors import LocalError
from windlass.local.waiting import wait_for
from windlass.testing.contained import WAIT, Contained, serving
from windlass.testing.ports import free_ports

ROOT: Final = Root("mariadb", packages=("mariadb-server",))
USER: Final = "slurm"
DATABASE: Final = "slurm_acct_db"
PASSWORD: Final = "contract"  # noqa: S105 - it listens on the loopback address, during a test

# The server runs this at every start. slurmdbd could make its database itself, but 26.05 with
# libmariadb 11.8.9 dies of "Number of columns in result" on the connection it does that with.
ACCOUNTS: Final = f"""\
CREATE DATABASE IF NOT EXISTS {DATABASE};
CREATE USER IF NOT EXISTS '{USER}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO '{USER}'@'127.0.0.1';
"""

OPTIONS: Final = (
    *("--no-defaults", "--user=mysql", "--datadir=/var/lib/mysql"),
    *("--innodb-buffer-pool-size=64M", "--innodb-log-file-size=16M"),
    *("--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=0", "--skip-log-bin"),
    # With MariaDB's own defaults for these, slurmdbd dies of a conflict between two writes.
    *("--innodb-snapshot-isolation=OFF", "--innodb-lock-wait-timeout=900"),
)

PREPARE: Final = f"""
set -e
install -d -o mysql -g mysql /run/mysqld /var/lib/mysql
install -o mysql /dev/null /run/mariadbd.pid
rm -rf /var/lib/mysql/*
mariadb-install-db {" ".join(OPTIONS)} --skip-test-db > /var/log/install.log 2>&1
set +e
"""

SERVE: Final = (
    "mariadbd {options} --bind-address=127.0.0.1 --port={port} --skip-name-resolve"
    " --socket=/run/mysqld/mysqld.sock --pid-file=/run/mariadbd.pid"
    " --init-file=/etc/accounts/accounts.sql"
)


TLS: Final = (
    "--ssl-ca=/etc/tls/ca.crt",
    "--ssl-cert=/etc/tls/tls.crt",
    "--ssl-key=/etc/tls/tls.key",
)


@dataclass(slots=True)
class RealMariaDb:
    """One server with one user; `folder` is an empty folder that keeps its logs."""

    root: Path
    folder: Path
    port: int = 0
    tls: Path | None = None
    """A folder with ca.crt, tls.crt and tls.key, which everybody may read."""
    contained: Contained = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.contained = Contained(self.root, self.folder, "MariaDB")

    @property
    def logs(self) -> Path:
        return self.contained.logs

    def start(self, within: float = 60) -> None:
        """Return once it answers."""
        (self.port,) = free_ports(1)
        accounts = self.folder / "accounts"
        accounts.mkdir(parents=True)
        (accounts / "accounts.sql").write_text(ACCOUNTS)
        options = (*OPTIONS, *TLS) if self.tls else OPTIONS
        command = SERVE.format(options=" ".join(options), port=self.port)
        script = PREPARE + serving("mariadbd", command) + WAIT
        own = {"etc/tls": self.tls} if self.tls else {}
        self.contained.start(script, {"var/log": self.logs, "etc/accounts": accounts, **own})
        try:
            self._wait(within)
        except LocalError as error:
            self.stop()
            raise LocalError(f"{error}\n{self.contained.last_words()}") from error

    def stop(self) -> None:
        self.contained.stop()

    def rest(self) -> None:
        """Kill it as a crash would; it stays away until it is woken."""
        self.contained.rest("mariadbd")

    def wake(self, within: float = 30) -> None:
        """Start it again on its data, and return once it answers."""
        self.contained.wake("mariadbd")
        self._wait(within)

    def query(self, sql: str) -> str:
        """What the server answers to a statement, in columns."""
        login = (f"--user={USER}", f"--password={PASSWORD}", "--skip-ssl")
        where = ("--host=127.0.0.1", f"--port={self.port}", "--protocol=tcp")
        return self.contained.inside("mariadb", *login, *where, "--batch", f"--execute={sql}")

    def _wait(self, within: float) -> None:
        wait_for(self._answers, "MariaDB answers", within=within)

    def _answers(self) -> bool:
        self.contained.check()
        try:
            return "1" in self.query("SELECT 1")
        except LocalError:
            return False
