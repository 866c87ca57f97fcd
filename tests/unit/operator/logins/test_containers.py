import getpass
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.unit.operator.logins.observed import controller, login_set, observed
from windlass.operator.logins.containers import COPY, initconf, login


def env(login_env: list[dict[str, Any]], **spec: Any) -> list[dict[str, Any]]:
    seen = observed(login_set(login={"env": login_env}))
    made: list[dict[str, Any]] = login(seen, controller(**spec))["env"]
    return made


def test_sackd_asks_slurmctld_whatever_options_the_user_adds() -> None:
    assert env([]) == [
        {"name": "SACKD_OPTIONS", "value": "--conf-server slurm-controller.hpc:6817"}
    ]
    assert env([{"name": "SACKD_OPTIONS", "value": "-vvv"}, {"name": "TZ", "value": "UTC"}]) == [
        {"name": "SACKD_OPTIONS", "value": "--conf-server slurm-controller.hpc:6817 -vvv"},
        {"name": "TZ", "value": "UTC"},
    ]


def test_options_from_elsewhere_are_joined_in_the_pod() -> None:
    source = {"configMapKeyRef": {"name": "options", "key": "sackd"}}

    assert env([{"name": "SACKD_OPTIONS", "valueFrom": source}]) == [
        {"name": "SACKD_OPTIONS_GIVEN", "valueFrom": source},
        {
            "name": "SACKD_OPTIONS",
            "value": "--conf-server slurm-controller.hpc:6817 $(SACKD_OPTIONS_GIVEN)",
        },
    ]


@pytest.mark.parametrize(
    ("spec", "server"),
    [
        ({"service": {"port": 7817}}, "slurm-controller.hpc:7817"),
        (
            {"external": True, "externalConfig": {"host": "head.example.org", "port": 6820}},
            "head.example.org:6820",
        ),
    ],
)
def test_sackd_asks_where_slurmctld_really_answers(spec: dict[str, Any], server: str) -> None:
    assert env([], **spec)[0]["value"] == f"--conf-server {server}"


def test_a_login_port_of_the_user_takes_the_place_of_ours() -> None:
    ports = [{"name": "login", "containerPort": 2222}]

    assert login(observed(login_set(login={"ports": ports})), controller())["ports"] == ports


def test_initconf_runs_in_the_login_image_unless_it_has_its_own() -> None:
    assert initconf(login_set(), "ours")["image"] == "ours"
    assert initconf(login_set(login={"image": "theirs"}), "ours")["image"] == "theirs"
    both = login_set(login={"image": "theirs"}, initconf={"image": "alpine"})
    assert initconf(both, "ours")["image"] == "alpine"


def test_initconf_copies_keys_and_configuration_with_their_modes(tmp_path: Path) -> None:
    given = tmp_path / "slurm"
    given.mkdir()
    (tmp_path / "run/slurm").mkdir(parents=True)
    for name in ("slurm.key", "slurm.conf", "slurmdbd.conf", "notes.txt"):
        (given / name).write_text(name)
    script = COPY.replace("/mnt/", f"{tmp_path}/")

    subprocess.run(["sh", "-c", script], check=True, env={"SLURM_USER": getpass.getuser()})

    copied = {
        file.name: oct(file.stat().st_mode & 0o777) for file in (tmp_path / "etc/slurm").iterdir()
    }
    assert copied == {"slurm.key": "0o600", "slurm.conf": "0o644", "slurmdbd.conf": "0o600"}
    assert (tmp_path / "etc/slurm/slurm.key").read_text() == "slurm.key"
    assert oct((tmp_path / "run/slurm").stat().st_mode & 0o7777) == "0o1777"
