from collections.abc import Callable
from dataclasses import replace

import pytest

from windlass.local.errors import LocalError
from windlass.local.requirements import (
    Machine,
    check,
    check_root,
    install_packages,
    missing_packages,
)

FIT = Machine(
    system="Linux",
    root=True,
    filesystems="nodev\toverlay\n\text4\n",
    namespaces=frozenset({"mnt", "pid", "net", "uts", "ipc", "user"}),
    find=lambda program: f"/usr/bin/{program}",
    forwarding=True,
)


def without(*programs: str) -> Callable[[str], str | None]:
    return lambda program: None if program in programs else f"/usr/bin/{program}"


def test_a_fit_machine_passes() -> None:
    check(FIT)


@pytest.mark.parametrize(
    ("machine", "says"),
    [
        pytest.param(replace(FIT, system="Darwin"), "needs Linux and this is Darwin", id="a Mac"),
        pytest.param(replace(FIT, root=False), "needs root .* use sudo", id="not root"),
        pytest.param(
            replace(FIT, namespaces=FIT.namespaces - {"net", "pid"}),
            r"lacks the net, pid namespace\(s\)",
            id="a kernel without namespaces",
        ),
        pytest.param(replace(FIT, forwarding=False), "IPv4 forwarding", id="no forwarding"),
        pytest.param(replace(FIT, filesystems="ext4\n"), "modprobe overlay", id="no overlayfs"),
        pytest.param(
            replace(FIT, find=without("buildah", "ip")),
            "missing: buildah, iproute2; `apt-get install buildah iproute2`",
            id="missing packages",
        ),
    ],
)
def test_each_lack_is_one_line_that_says_what_to_do(machine: Machine, says: str) -> None:
    with pytest.raises(LocalError, match=says) as caught:
        check(machine)
    assert "\n" not in str(caught.value)


def test_taking_a_cluster_down_needs_root_but_no_packages() -> None:
    check_root(replace(FIT, find=without("buildah", "mmdebstrap")))


def test_a_package_that_brings_two_programs_is_named_once() -> None:
    assert missing_packages(replace(FIT, find=without("nsenter", "unshare"))) == ["util-linux"]


def test_a_machine_without_apt_is_told_to_use_its_own_package_manager() -> None:
    with pytest.raises(LocalError, match="its own package manager"):
        install_packages(replace(FIT, find=without("buildah", "apt-get")))


def test_nothing_is_installed_where_nothing_is_missing() -> None:
    assert install_packages(FIT) == []
