"""Every image of ours, opened: who is in it, what runs, and that it holds no secrets."""

import re
from collections.abc import Callable

import pytest

from tests.contract.box import Box
from windlass.cli.image_contract import ROLES, Contents, examine, kept
from windlass.local import debian, images, parts
from windlass.local.archives import Archive, Start
from windlass.local.layout import Folders
from windlass.local.progress import Display

Opened = Callable[[str], tuple[Box, Start]]


@pytest.fixture(scope="module")
def opened(
    as_root: None, folders: Folders, display: Display, tmp_path_factory: pytest.TempPathFactory
) -> Opened:
    def open_image(name: str) -> tuple[Box, Start]:
        archive = Archive(parts.image(name, folders.cache, display).archive)
        root = archive.root(folders.cache, display)
        return Box(root, tmp_path_factory.mktemp(name)), archive.start()

    return open_image


@pytest.mark.parametrize("name", ROLES)
def test_an_image_keeps_the_contract(name: str, opened: Opened) -> None:
    box, start = opened(name)
    contents = Contents(box.root, start.entrypoint or (), start.cmd or (), start.user)
    findings = examine(contents, name)
    assert kept(findings), "\n".join(map(str, findings))
    assert all(finding.well for finding in findings)


@pytest.mark.parametrize("name", [*ROLES, "windlass"])
def test_an_image_says_what_it_is(name: str, opened: Opened) -> None:
    _, start = opened(name)
    assert start.labels is not None
    assert start.labels["org.opencontainers.image.title"] == name
    assert start.labels["org.opencontainers.image.description"]
    assert start.labels["org.opencontainers.image.licenses"]


@pytest.mark.parametrize(
    ("name", "command", "says"),
    [
        ("slurmctld", "slurmctld -V", "slurm-wlm 26.05"),
        ("slurmctld", "scontrol -V", "slurm-wlm 26.05"),
        ("slurmd", "slurmd -V", "slurm-wlm 26.05"),
        ("slurmd", "srun --mpi=list", "pmi2"),
        ("slurmd", "sssd --version", "2."),
        ("slurmd", "find / -xdev -name pam_slurm_adopt.so", "security/pam_slurm_adopt.so"),
        ("slurmdbd", "slurmdbd -D", "StorageType must be specified"),
        ("slurmrestd", "slurmrestd -V", "slurm-wlm 26.05"),
        ("login", "sackd -V; sinfo -V", "slurm-wlm 26.05"),
        ("login", "sssd --version", "2."),
    ],
)
def test_its_programs_run(name: str, command: str, says: str, opened: Opened) -> None:
    box, _ = opened(name)
    assert says in box.run(command, {})


@pytest.mark.parametrize("name", ROLES)
def test_the_keeper_runs_in_it(name: str, opened: Opened) -> None:
    box, _ = opened(name)
    said = box.run("python3 /usr/local/lib/windlass/keeper.py -- sh -c 'exit 3'; echo ended $?", {})
    assert "ended 3" in said


@pytest.mark.parametrize("name", ["slurmd", "login"])
def test_people_can_log_in_to_it(name: str, opened: Opened) -> None:
    box, _ = opened(name)
    said = box.run(
        "mkdir -p /run/sshd; ssh-keygen -A > /dev/null; /usr/sbin/sshd -t && echo sshd is fine;"
        "grep ^passwd: /etc/nsswitch.conf; cat /etc/pam.d/common-session /etc/pam.d/common-auth",
        {},
    )
    for word in ("sshd is fine", "sss", "pam_mkhomedir.so", "pam_sss.so"):
        assert word in said


@pytest.mark.parametrize("name", [*ROLES, "windlass"])
def test_it_is_not_made_larger_by_what_nobody_needs(name: str, opened: Opened) -> None:
    box, _ = opened(name)
    left = [*box.root.glob("var/lib/apt/lists/*"), *box.root.glob("var/cache/apt/archives/*.deb")]
    assert not left
    assert not (box.root / "usr/sbin/munged").exists()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("slurmctld", "python3 -B -v -c 'import asyncio, json, subprocess'"),
        ("windlass", "windlass --help"),
    ],
)
def test_python_need_not_compile_what_was_compiled(name: str, command: str, opened: Opened) -> None:
    box, _ = opened(name)
    said = box.run(f"PYTHONVERBOSE=1 PYTHONDONTWRITEBYTECODE=1 {command} 2>&1", {})
    read = re.findall(r"^# code object from '?([^'\n]+)'?$", said, re.MULTILINE)
    assert any(file.endswith(".pyc") for file in read), said[-2000:]
    assert [file for file in read if file.endswith(".py")] in ([], ["/usr/local/bin/windlass"])


@pytest.mark.parametrize("name", [*ROLES, "windlass"])
def test_nothing_in_it_is_of_the_machine_that_built_it(name: str, opened: Opened) -> None:
    box, _ = opened(name)
    for file in ("etc/machine-id", "var/cache/ldconfig/aux-cache"):
        path = box.root / file
        assert not path.exists() or not path.read_bytes(), file
    shadow = (box.root / "etc/shadow").read_text().splitlines()
    assert {line.split(":")[2] for line in shadow} == {str(debian.EPOCH // 86400)}
    records = box.root.glob("opt/windlass/*.dist-info/RECORD")
    assert not [record for record in records if "\nbin/" in f"\n{record.read_text()}"]


@pytest.mark.timeout(600)
def test_who_builds_an_image_again_gets_the_same_bits(
    as_root: None, folders: Folders, display: Display
) -> None:
    def digest() -> str:
        return Archive(images.build("slurmrestd", folders.cache, display, {}).archive).digest()

    assert digest() == digest()


def test_windlass_runs_as_nobody_in_particular_on_a_root_that_cannot_be_written(
    opened: Opened,
) -> None:
    box, start = opened("windlass")
    assert (start.entrypoint, start.user) == (("windlass",), "65532:65532")
    said = box.run(
        "mount -o remount,bind,ro / && ! touch /x &&"
        "HOME=/tmp exec setpriv --reuid=65532 --regid=65532 --clear-groups windlass --help",
        {},
    )
    assert "Slurm on Kubernetes" in said
