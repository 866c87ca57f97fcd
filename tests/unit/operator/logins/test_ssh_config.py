import pytest

from tests.unit.operator.conftest import Golden
from windlass.operator.logins.ssh_config import authorized_keys, sshd_config


def test_sshd_config_has_our_lines_then_the_users_then_how_root_logs_in(golden: Golden) -> None:
    golden("sshd_config", sshd_config("LoginGraceTime 600\nMatch User guest\nX11Forwarding no\n"))


@pytest.mark.parametrize(
    ("extra", "gone"),
    [
        ("UsePAM no", "UsePAM yes"),
        ("x11forwarding=no", "X11Forwarding yes"),
        ("Subsystem sftp /usr/lib/openssh/sftp-server", "Subsystem sftp internal-sftp"),
    ],
)
def test_the_users_line_counts_since_sshd_takes_the_first(extra: str, gone: str) -> None:
    config = sshd_config(extra)

    assert extra in config.splitlines()
    assert gone not in config.splitlines()


@pytest.mark.parametrize("extra", ["Match User guest\nUsePAM no", "Subsystem other /bin/other"])
def test_what_is_said_for_some_or_of_another_subsystem_leaves_ours(extra: str) -> None:
    config = sshd_config(extra)

    assert "UsePAM yes" in config.splitlines()
    assert "Subsystem sftp internal-sftp" in config.splitlines()


def test_a_changed_key_of_root_leaves_sshd_config_alone_and_ends_with_a_line() -> None:
    assert authorized_keys("ssh-ed25519 AAAA me") == "#\n### SLINKY ###\nssh-ed25519 AAAA me\n"
    assert authorized_keys("") == "#\n### SLINKY ###\n"
