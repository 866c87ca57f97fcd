"""What the containers with several daemons start."""

import subprocess

import pytest

from tests.unit.inpod.programs import program
from windlass.inpod.start import adopting, beside, limits, measure, with_conf

SLURMD_C = """\
NodeName=vm CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=24105
UpTime=0-03:33:52
"""
MACHINE = {"CPUs": 8, "RealMemory": 24105}


def test_the_machine_is_what_slurmd_says_it_is() -> None:
    assert MACHINE.items() <= measure(SLURMD_C).items()
    assert measure("") == {}


@pytest.mark.parametrize(
    ("env", "conf"),
    [
        ({}, {}),
        ({"POD_CPUS": "0", "POD_MEMORY": "0"}, {}),
        ({"POD_CPUS": "2", "POD_MEMORY": "1024"}, {"CPUs": "2", "RealMemory": "960"}),
        ({"POD_CPUS": "8", "POD_MEMORY": "999999"}, {}),
        ({"POD_MEMORY": "100"}, {"RealMemory": "68"}),
        ({"POD_MEMORY": "20000"}, {"RealMemory": "19744"}),
        ({"SLINKY_TOPOLOGY": "", "POD_TOPOLOGY": "tree:s1"}, {"Topology": "tree:s1"}),
        ({"SLINKY_TOPOLOGY": "b:b1", "POD_TOPOLOGY": "x"}, {"Topology": "b:b1"}),
    ],
)
def test_a_worker_offers_what_its_pod_may_use(env: dict[str, str], conf: dict[str, str]) -> None:
    assert limits(env, MACHINE) == conf


@pytest.mark.parametrize(
    ("words", "own", "result"),
    [
        (["-Z"], {}, ["-Z"]),
        (["-Z"], {"CPUs": "2"}, ["-Z", "--conf", "CPUs=2"]),
        (
            ["--conf", "Features=a b=c", "-Z"],
            {"CPUs": "2"},
            ["-Z", "--conf", "Features=a b=c CPUs=2"],
        ),
        (["--conf=cpus=1"], {"CPUs": "2"}, ["--conf", "cpus=1"]),
    ],
)
def test_what_the_user_says_of_a_node_counts_more(
    words: list[str], own: dict[str, str], result: list[str]
) -> None:
    assert with_conf(words, own) == result


def test_jobs_are_asked_for_before_an_account_is_judged() -> None:
    debian = "auth x\n@include common-account\nsession y\n"
    adopted = adopting(debian, "a=b")
    assert adopted.splitlines()[1:3] == [
        "account required pam_slurm_adopt.so a=b",
        "@include common-account",
    ]
    assert adopting(adopted, "a=b") == adopted


def test_options_keep_their_quotes() -> None:
    env = {"SSHD_OPTIONS": "-o 'Port 2222'", "SSSD_OPTIONS": "-d 3"}
    assert beside(env, sshd=True, sssd=True) == [
        *("--also", "/usr/sbin/sshd", "-D", "-e", "-o", "Port 2222"),
        *("--also", "sssd", "-i", "-d", "3"),
    ]
    assert beside(env, sshd=False, sssd=False) == []


def test_an_unknown_container_is_answered_with_the_known_ones() -> None:
    done = subprocess.run([*program("start"), "x"], capture_output=True, check=False)
    assert done.returncode == 1
    assert b"start.py login" in done.stderr
