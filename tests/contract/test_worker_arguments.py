"""A real slurmd takes the words that a worker pod gives it, joins, and answers the pod's probes."""

import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.operator.workers.observed import controller, node_set
from windlass.local import images
from windlass.local.errors import LocalError
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for
from windlass.operator.workers.conf import arguments
from windlass.testing.ports import free_ports
from windlass.testing.slurm import Besides, RealSlurm

CONFIGLESS = Besides(
    conf="SlurmctldParameters=enable_configless\n",
    files={"cgroup.conf": "CgroupPlugin=disabled\n"},
)
START = """
chown root: /run/slurm && mkdir -p /var/spool/slurmd
(slurmd -D -N w-0 "$@" >/var/log/slurmd.log 2>&1 &)
"""


@pytest.fixture
def configless(
    as_root: None, folders: Folders, display: Display, tmp_path: Path, explaining_logs: list[Path]
) -> Iterator[RealSlurm]:
    root = images.root_of("slurm", folders.cache, display, programs={})
    server = RealSlurm(root, tmp_path / "slurm", CONFIGLESS)
    explaining_logs.append(server.logs)
    server.start()
    yield server
    server.stop()


def test_slurmd_joins_with_what_the_node_set_says_of_its_nodes(configless: RealSlurm) -> None:
    (port,) = free_ports(1)
    workers = node_set(
        extraConf=f'Weight=7 Feature=fast MemSpecLimit=64 Reason="two words" Port={port}'
    )
    outside = {"host": "127.0.0.1", "port": configless.slurmctld_port}
    words = arguments(workers, controller(external=True, externalConfig=outside))

    configless.inside("sh", "-c", START, "sh", *words)
    wait_for(lambda: "State=IDLE" in node(configless), "w-0 joins", within=30)

    said = node(configless)
    assert "AvailableFeatures=fast,w\n" in said
    assert "Weight=7 " in said
    assert "MemSpecLimit=64\n" in said
    assert "Extra=namespace=hpc,nodeSetName=w,nodeSetUID=u-w\n" in said
    for path in ("livez", "readyz"):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as answer:
            assert answer.status == 204


def node(slurm: RealSlurm) -> str:
    try:
        return slurm.scontrol("show", "node", "w-0")
    except LocalError:
        return ""
