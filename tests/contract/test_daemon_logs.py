"""What real daemons say in the foreground, through the program that makes JSON of it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.box import BASE, HOST, Box
from windlass.inpod import logs
from windlass.local import images
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.testing.ports import free_ports

DBD = f"DbdHost={HOST}\nSlurmUser=root\nStorageType=accounting_storage/mysql\nNoSuchKey=1\n"
SHOW = "cp /etc/slurm/logs.py /tmp; python3 /tmp/logs.py -- {}; echo status $?"


@pytest.fixture(scope="module")
def box(
    as_root: None, folders: Folders, display: Display, tmp_path_factory: pytest.TempPathFactory
) -> Box:
    root = images.root_of("slurm", folders.cache, display, programs={})
    return Box(root, tmp_path_factory.mktemp("logs"))


@pytest.mark.parametrize(
    ("command", "daemon", "words"),
    [
        ("slurmdbd -D", "slurmdbd", "NoSuchKey"),
        ("slurmrestd 127.0.0.1:1", "slurmrestd", "should not be run as SlurmUser"),
    ],
)
def test_every_line_of_a_daemon_is_an_object(
    box: Box, command: str, daemon: str, words: str
) -> None:
    program = Path(logs.__file__).read_text()
    said = box.run(SHOW.format(command), {"slurmdbd.conf": DBD, "logs.py": program})
    *lines, status = said.splitlines()
    assert status == "status 1", said
    objects: list[dict[str, Any]] = [json.loads(line) for line in lines]
    assert {each["daemon"] for each in objects} == {daemon}
    assert any(words in each["message"] and each["level"] in ("fatal", "error") for each in objects)
    assert not [each for each in objects if each["message"].startswith(f"{daemon}: ")]


# --- several daemons in one container --------------------------------------------------------

LOGIN = "chown -R slurm:slurm /etc/slurm; exec python3 /usr/local/lib/windlass/start.py login"
WORKER = f"SSHD=yes exec python3 /usr/local/lib/windlass/start.py slurmd -N {HOST}"
FOR_A_WHILE = """
export SSHD_OPTIONS='-p {port}' LOG_FORMAT={format}
timeout 4 bash -c '{start}'; true
"""
FILES = {
    "slurm.conf": f"{BASE}NodeName={HOST} NodeAddr=127.0.0.1\n",
    "cgroup.conf": "CgroupPlugin=disabled\n",
}


@dataclass(frozen=True)
class Node:
    box: Box
    start: str

    def said(self, format_: str) -> list[str]:
        (port,) = free_ports(1)
        script = FOR_A_WHILE.format(port=port, format=format_, start=self.start)
        return self.box.run(script, FILES).splitlines()


@pytest.fixture(scope="module", params=["login", "slurmd"])
def node(
    request: pytest.FixtureRequest,
    as_root: None,
    folders: Folders,
    display: Display,
    tmp_path_factory: pytest.TempPathFactory,
) -> Node:
    image = request.param
    root = images.root_of(image, folders.cache, display, programs={})
    return Node(Box(root, tmp_path_factory.mktemp(image)), LOGIN if image == "login" else WORKER)


def test_the_daemons_of_a_node_each_speak_under_their_name(node: Node) -> None:
    objects: list[dict[str, Any]] = [json.loads(line) for line in node.said("json")]
    slurms = "sackd" if node.start == LOGIN else "slurmd"
    assert {each["daemon"] for each in objects} == {"keeper", slurms, "sshd"}
    listens = [each for each in objects if each["message"].startswith("Server listening")]
    assert {each["daemon"] for each in listens} == {"sshd"}
    assert not [each for each in objects if each["message"].endswith("\r")]


def test_a_node_can_speak_plain_text(node: Node) -> None:
    assert any(line.startswith("Server listening") for line in node.said("text"))
