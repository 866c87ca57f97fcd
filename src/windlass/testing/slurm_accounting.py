"""A real Slurm with accounting for tests: slurmdbd beside slurmctld, MariaDB behind it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from windlass.local.errors import LocalError
from windlass.local.waiting import wait_for
from windlass.testing.contained import serving
from windlass.testing.mariadb import DATABASE, PASSWORD, USER, RealMariaDb
from windlass.testing.ports import free_ports
from windlass.testing.slurm import Besides, RealSlurm

SLURM_CONF: Final = """\
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoreFlags=job_comment,job_extra
"""

SLURMDBD_CONF: Final = """\
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
AuthType=auth/slurm
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt_hs256.key
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={storage_port}
StorageUser={user}
StoragePass={password}
StorageLoc={database}
PidFile=/run/slurmdbd.pid
DebugLevel=info
"""

# Without a slurmdbd, a slurmctld that has no saved state gives up at once.
PATIENTLY: Final = """
until (: < /dev/tcp/127.0.0.1/{port}) 2> /dev/null; do sleep 0.1; done
"""


@dataclass(slots=True)
class AccountedSlurm:
    """One Slurm and its database; `folder` is an empty folder for both."""

    image_root: Path
    mariadb_root: Path
    folder: Path
    slurmdbd_port: int = 0
    database: RealMariaDb = field(init=False)
    slurm: RealSlurm = field(init=False)

    def start(self, within: float = 60) -> None:
        """Return once slurmctld answers; it does so only after slurmdbd."""
        self.database = RealMariaDb(self.mariadb_root, self.folder / "mariadb")
        self.database.start(within)
        (self.slurmdbd_port,) = free_ports(1)
        self.slurm = RealSlurm(self.image_root, self.folder / "slurm", self._slurmdbd())
        try:
            self.slurm.start(within)
        except BaseException:
            self.database.stop()
            raise

    def stop(self) -> None:
        self.slurm.stop()
        self.database.stop()

    def rest_slurmdbd(self) -> None:
        """Kill slurmdbd as a crash would; it stays away until it is woken."""
        self.slurm.contained.rest("slurmdbd")

    def wake_slurmdbd(self, within: float = 30) -> None:
        """Start it again, and return once it answers."""
        self.slurm.contained.wake("slurmdbd")
        wait_for(self._accounts, "slurmdbd is back", within=within)

    def _accounts(self) -> bool:
        try:
            return bool(self.slurm.inside("sacctmgr", "--noheader", "show", "cluster"))
        except LocalError:
            return False

    def _slurmdbd(self) -> Besides:
        port, storage_port = self.slurmdbd_port, self.database.port
        login = {"database": DATABASE, "user": USER, "password": PASSWORD}
        conf = SLURMDBD_CONF.format(port=port, storage_port=storage_port, **login)
        return Besides(
            conf=SLURM_CONF.format(port=port),
            files={"slurmdbd.conf": conf},
            script=serving("slurmdbd", "slurmdbd -D") + PATIENTLY.format(port=port),
            plugins="openapi/slurmctld,openapi/slurmdbd,openapi/util",
        )
