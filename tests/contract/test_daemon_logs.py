"""What real daemons say in the foreground, through the program that makes JSON of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.box import HOST, Box
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


# --- a login node ----------------------------------------------------------------------------

LOGIN = """
chown -R slurm:slurm /etc/slurm
export SSHD_OPTIONS='-p {port}' LOG_FORMAT={format}
timeout 4 python3 /usr/local/lib/windlass/start.py login; true
"""


@pytest.fixture(scope="module")
def login(
    as_root: None, folders: Folders, display: Display, tmp_path_factory: pytest.TempPathFactory
) -> Box:
    root = images.root_of("login", folders.cache, display, programs={})
    return Box(root, tmp_path_factory.mktemp("login"))


def said(login: Box, format_: str) -> list[str]:
    (port,) = free_ports(1)
    return login.run(LOGIN.format(port=port, format=format_), {}).splitlines()


def test_the_daemons_of_a_login_node_each_speak_under_their_name(login: Box) -> None:
    objects: list[dict[str, Any]] = [json.loads(line) for line in said(login, "json")]
    assert {each["daemon"] for each in objects} == {"keeper", "sackd", "sshd"}
    listens = [each for each in objects if each["message"].startswith("Server listening")]
    assert {each["daemon"] for each in listens} == {"sshd"}
    assert not [each for each in objects if each["message"].endswith("\r")]


def test_a_login_node_can_speak_plain_text(login: Box) -> None:
    assert any(line.startswith("Server listening") for line in said(login, "text"))
