"""Images held against the contract, each a folder with the files that matter."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from windlass.cli.image_contract import ROLES, Contents, Role, examine, kept, role_of

LIBRARY = "usr/lib/x86_64-linux-gnu/slurm-wlm"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Everything that any role asks for."""
    for folder in ("etc/ssh", "usr/sbin", "usr/bin", LIBRARY):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\nslurm:x:401:401:::\n")
    (tmp_path / "etc/group").write_text("slurm:x:401:\n")
    for role in ROLES.values():
        for program in (*role.programs, *role.helpful):
            (tmp_path / "usr/sbin" / program).touch()
        for plugin in role.plugins:
            (tmp_path / LIBRARY / f"{plugin}.so").touch()
    (tmp_path / "usr/bin/python3.9").touch()
    return tmp_path


def image(root: Path, role: str) -> Contents:
    return Contents(root, entrypoint=("tini", "--", role), user="65534:65534")


def complaints(contents: Contents, role: str) -> list[str]:
    return [str(finding) for finding in examine(contents, role) if not finding.well]


@pytest.mark.parametrize("role", ROLES)
def test_an_image_that_has_everything_is_accepted(role: str, root: Path) -> None:
    findings = examine(image(root, role), role)
    assert kept(findings)
    assert not complaints(image(root, role), role)


def debian_user(root: Path) -> None:
    (root / "etc/passwd").write_text("slurm:x:64030:64030:::\n")


def no_user(root: Path) -> None:
    (root / "etc/passwd").unlink()


def no_daemon(root: Path) -> None:
    (root / "usr/sbin/slurmd").unlink()


def old_python(root: Path) -> None:
    (root / "usr/bin/python3.9").rename(root / "usr/bin/python3.8")


def no_plugin(root: Path) -> None:
    (root / LIBRARY / "auth_slurm.so").unlink()


def host_key(root: Path) -> None:
    (root / "etc/ssh/ssh_host_rsa_key").touch()


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (debian_user, "missing  user slurm has number 401"),
        (no_user, "missing  user slurm has number 401"),
        (no_daemon, "missing  has the program slurmd"),
        (old_python, "missing  its Python is 3.9 or later"),
        (no_plugin, "missing  has Slurm's plugin auth_slurm"),
        (host_key, "missing  holds no key: /etc/ssh/ssh_host_rsa_key"),
    ],
)
def test_what_is_missing_is_named(
    spoil: Callable[[Path], None], complaint: str, root: Path
) -> None:
    spoil(root)
    assert complaints(image(root, "slurmd"), "slurmd") == [complaint]
    assert not kept(examine(image(root, "slurmd"), "slurmd"))


@pytest.mark.parametrize(
    "entrypoint", [(), ("/bin/sh", "-c", "slurmctld -D"), ("bash", "-c", "slurmctld")]
)
def test_an_entrypoint_must_hand_arguments_on(entrypoint: tuple[str, ...], root: Path) -> None:
    contents = replace(image(root, "slurmctld"), entrypoint=entrypoint, command=("x",))
    assert complaints(contents, "slurmctld") == [
        "missing  its entrypoint hands a container's arguments on"
    ]


def test_advice_is_no_refusal(root: Path) -> None:
    (root / "usr/sbin/sssd").unlink()
    contents = image(root, "login")
    assert complaints(contents, "login") == [
        "advice   has the program sssd, for who logs in",
    ]
    assert kept(examine(contents, "login"))


@pytest.mark.parametrize("user", ["", "0:0", "root", "401:401", "slurm"])
def test_slurmrestd_should_be_nobody(user: str, root: Path) -> None:
    contents = replace(image(root, "slurmrestd"), user=user)
    (advice,) = complaints(contents, "slurmrestd")
    assert advice.startswith("advice   runs neither as root nor as slurm")


def test_links_of_the_image_are_not_followed_out_of_it(root: Path) -> None:
    (root / "usr/sbin/slurmd").unlink()
    (root / "usr/sbin/slurmd").symlink_to("/etc/alternatives/no-such-slurmd")
    assert not complaints(image(root, "slurmd"), "slurmd")


def test_an_image_is_known_by_what_it_starts(root: Path) -> None:
    start = Contents(root, ("python3", "/usr/local/lib/windlass/start.py", "slurmd"))
    assert role_of(start) == "slurmd"
    assert role_of(Contents(root, ("/usr/sbin/slurmdbd", "-D"))) == "slurmdbd"
    assert role_of(Contents(root, ("bash",))) is None


def test_every_role_asks_for_its_own_daemon() -> None:
    daemons: dict[str, Role] = {name: role for name, role in ROLES.items() if name != "login"}
    assert all(name in role.programs for name, role in daemons.items())
