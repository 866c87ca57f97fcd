"""Debian's root file systems: from which mirror, and when they are made again."""

import dataclasses
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console

from windlass.local import debian
from windlass.local.debian import Root, find_mirror
from windlass.local.progress import Display

DEB822 = """\
Types: deb
# http://snapshot.example/archive
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
"""


@pytest.mark.parametrize(
    ("files", "mirror"),
    [
        pytest.param(
            {"sources.list.d/debian.sources": DEB822}, "http://mirror.example/debian", id="deb822"
        ),
        pytest.param(
            {"sources.list": "deb http://mirror.example/debian trixie main contrib\n"},
            "http://mirror.example/debian",
            id="one-line",
        ),
        pytest.param(
            {"sources.list": "deb [arch=amd64 signed-by=/k.gpg] http://m.example/d/ stable main"},
            "http://m.example/d/",
            id="one-line with options",
        ),
        pytest.param(
            {
                "sources.list.d/a-node.sources": "Types: deb\nURIs: http://n.example\nSuites: any",
                "sources.list.d/debian.sources": DEB822,
            },
            "http://mirror.example/debian",
            id="somebody else's packages come first",
        ),
        pytest.param(
            {
                "sources.list": "# deb http://off.example bookworm main\n"
                "deb-src http://source.example bookworm main\n",
                "sources.list.d/off.sources": "Enabled: no\n" + DEB822.partition("\n\n")[0],
            },
            None,
            id="only comments, sources and what is switched off",
        ),
        pytest.param(
            {"sources.list": "deb http://archive.example/ubuntu noble main"},
            None,
            id="another distribution",
        ),
        pytest.param({}, None, id="no apt at all"),
    ],
)
def test_the_mirror_is_the_one_that_this_machine_uses(
    files: dict[str, str], mirror: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)

    assert find_mirror(tmp_path) == mirror


def test_a_mirror_list_is_followed_to_its_first_mirror(tmp_path: Path) -> None:
    mirrors = tmp_path / "mirrors.list"
    mirrors.write_text("\nhttps://cdn.example/debian\tpriority:1\nhttps://other.example/debian\n")
    (tmp_path / "sources.list").write_text(f"deb mirror+file://{mirrors} bookworm main\n")

    assert find_mirror(tmp_path) == "https://cdn.example/debian"


@pytest.mark.parametrize(
    "change",
    [
        lambda root: dataclasses.replace(root, packages=("bash", "curl")),
        lambda root: dataclasses.replace(root, suffix=".tar"),
    ],
    ids=["packages", "form"],
)
def test_another_recipe_has_another_name(change: Callable[[Root], Root]) -> None:
    root = Root("node", packages=("bash",))

    assert change(root).file_name != root.file_name


@pytest.mark.parametrize("constant", ["SERIAL", "SUITE"])
def test_a_newer_serial_or_suite_makes_every_root_anew(
    constant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = debian.NODE.fingerprint

    monkeypatch.setattr(debian, constant, "newer")

    assert debian.NODE.fingerprint != before


def test_a_root_is_made_by_one_call_of_mmdebstrap_and_then_kept(tmp_path: Path) -> None:
    calls: list[list[str]] = []

    def run(argv: Sequence[str | Path], line: Callable[[str], None]) -> None:
        calls.append([str(word) for word in argv])
        Path(argv[-2]).mkdir()

    display = Display(Console(file=io.StringIO()))
    made = debian.ensure(debian.NODE, tmp_path, display, run)
    again = debian.ensure(debian.NODE, tmp_path, display, run)

    assert made == again == tmp_path / "roots" / debian.NODE.file_name
    assert made.is_dir()
    (call,) = calls
    assert "mmdebstrap" in call
    assert any(word.startswith("--include=containerd,runc,") for word in call)
    assert f"SOURCE_DATE_EPOCH={debian.EPOCH}" in call


@pytest.mark.parametrize(
    ("mirror", "end"), [("http://m.example/", ["http://m.example/"]), (None, [])]
)
def test_mmdebstrap_is_left_to_its_own_mirror_where_we_know_none(
    mirror: str | None, end: list[str]
) -> None:
    command = debian.command(Root("x"), Path("/t/x"), mirror)
    assert command[command.index(debian.SUITE) :] == [debian.SUITE, Path("/t/x"), *end]
