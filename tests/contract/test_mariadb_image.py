"""The image `mariadb`, run as the chart runs it: one user, one volume, a password from a file."""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.contract.helm import Helm
from windlass.local import images
from windlass.local.errors import LocalError
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.testing.contained import Contained
from windlass.testing.ports import free_ports

AS_IN_A_POD = """
install -d -o 999 -g 999 /run/mysqld /var/lib/mysql
chown -R 999:999 /var/lib/mysql
export MARIADB_PASSWORD_FILE=/run/secrets/mariadb/password
exec setpriv --reuid=999 --regid=999 --clear-groups --no-new-privs entrypoint --port={port}
"""


@dataclass(slots=True)
class Database:
    root: Path
    folder: Path
    port: int = 0
    contained: Contained = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.contained = Contained(self.root, self.folder, "MariaDB")
        for name in ("secret", "volume", "config"):
            (self.folder / name).mkdir(parents=True)

    def configure(self, text: str) -> None:
        (self.folder / "config" / "mariadb.cnf").write_text(text)

    def start(self, password: str) -> None:
        (self.port,) = free_ports(1)
        secret = self.folder / "secret" / "password"
        secret.write_text(password)
        secret.chmod(0o644)
        binds = {
            "run/secrets/mariadb": secret.parent,
            "var/lib/mysql": self.folder / "volume",
            "etc/mariadb": self.folder / "config",
        }
        self.contained.start(AS_IN_A_POD.format(port=self.port), binds)
        wait_for(lambda: self.answers(password), "MariaDB answers", within=60)

    def end(self) -> None:
        self.contained.inside("sh", "-c", "kill -TERM $(cat /run/mysqld/mysqld.pid)")
        wait_for(self._ended, "MariaDB has ended", within=60)

    def _ended(self) -> bool:
        try:
            self.contained.check()
        except LocalError:
            return True
        return False

    def answers(self, password: str) -> bool:
        self.contained.check()
        try:
            return self.query("SELECT 1", password).split() == ["1", "1"]
        except LocalError:
            return False

    def query(self, sql: str, password: str) -> str:
        where = ("--host=127.0.0.1", f"--port={self.port}", "--protocol=tcp", "--skip-ssl")
        who = ("--user=slurm", f"--password={password}", "slurm_acct_db")
        return self.contained.inside("mariadb", *where, *who, "--batch", f"--execute={sql}")


@pytest.fixture
def database(
    as_root: None,
    folders: Folders,
    display: Display,
    tmp_path: Path,
    explaining_logs: list[Path],
) -> Iterator[Database]:
    root = images.root_of("mariadb", folders.cache, display, programs={})
    made = Database(root, tmp_path / "database")
    explaining_logs.append(made.contained.logs)
    yield made
    made.contained.stop()


@pytest.fixture
def chart_settings(helm: Helm) -> str:
    values = {"accounting": {"enabled": True}, "mariadb": {"enabled": True}}
    return str(helm.template("slurm", values).one("ConfigMap")["data"]["mariadb.cnf"])


def test_it_serves_one_database_to_one_user_with_the_settings_of_the_chart(
    database: Database, chart_settings: str
) -> None:
    database.configure(chart_settings)
    database.start("it's a \\ secret")
    ask = "SELECT @@innodb_snapshot_isolation, @@innodb_lock_wait_timeout, CURRENT_USER()"
    answer = database.query(ask, "it's a \\ secret").splitlines()[1]
    assert answer.split("\t") == ["0", "900", "slurm@%"]
    with pytest.raises(LocalError, match="Access denied"):
        database.query("CREATE DATABASE another", "it's a \\ secret")


def test_data_outlive_a_restart_with_another_password(database: Database) -> None:
    database.start("first")
    database.query("CREATE TABLE kept (id INT); INSERT INTO kept VALUES (7)", "first")
    database.end()
    database.start("second")
    assert database.query("SELECT id FROM kept", "second").split() == ["id", "7"]
    with pytest.raises(LocalError, match="Access denied"):
        database.query("SELECT 1", "first")


def test_a_first_start_that_was_cut_short_is_begun_anew(database: Database) -> None:
    half_made = database.folder / "volume" / "making" / "mysql"
    half_made.mkdir(parents=True)
    (half_made / "proc.frm").write_text("torn")
    database.start("first")
    assert database.answers("first")


def test_nothing_of_it_runs_on_when_a_test_has_ended(database: Database) -> None:
    database.start("first")
    port = database.port
    database.contained.stop()
    with socket.socket() as caller:
        assert caller.connect_ex(("127.0.0.1", port)) != 0
