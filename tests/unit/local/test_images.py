"""Images: what they are called, and when they are built again."""

import io
import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from rich.console import Console

from windlass.local import debian, images
from windlass.local.errors import LocalError
from windlass.local.images import Workshop
from windlass.local.layout import sources
from windlass.local.progress import Display


@dataclass
class FakeTools:
    """Buildah and mmdebstrap that write a word where the real ones write an image."""

    calls: list[list[str]] = field(default_factory=list)
    contexts: list[dict[str, str]] = field(default_factory=list)

    def __call__(self, argv: Sequence[str | Path], line: Callable[[str], None]) -> None:
        words = [str(word) for word in argv]
        self.calls.append(words)
        line("at it")
        if "mmdebstrap" in words:
            Path(words[words.index(debian.SUITE) + 1]).write_text("debian")
        elif "bud" in words:
            context = Path(words[-1])
            files = [file for file in context.rglob("*") if file.is_file()]
            self.contexts.append(
                {str(file.relative_to(context)): file.read_text() for file in files}
            )
        elif "--target" in words:
            Path(words[words.index("--target") + 1]).mkdir()
        elif "push" in words:
            Path(words[-1].split(":")[1]).write_text("image")
        else:
            Path(words[words.index("unpack") + 2]).mkdir()

    def count(self, word: str) -> int:
        return sum(word in call for call in self.calls)


@pytest.fixture
def tools() -> FakeTools:
    return FakeTools()


@pytest.fixture
def workshop(tmp_path: Path, tools: FakeTools) -> Workshop:
    recipes = {
        "debian": ('tag = "forky"\ncarries = ["debian.tar"]', "FROM scratch\nADD debian.tar /\n"),
        "slurm": ('tag = "26.05"\nbase = "debian"', "ARG BASE=x\nFROM ${BASE}\n"),
        "daemon": (
            'tag = "1"\nsources = ["windlass/inpod", "windlass/py.typed"]',
            "FROM scratch\n",
        ),
        "coredns": ('tag = "1.14.7"\ncarries = ["coredns"]', "FROM scratch\nCOPY coredns /\n"),
    }
    for name, (needs, containerfile) in recipes.items():
        folder = tmp_path / "images" / name
        folder.mkdir(parents=True)
        (folder / "image.toml").write_text(needs)
        (folder / "Containerfile").write_text(containerfile)
    (tmp_path / "coredns").write_text("a program")
    for left in ("__pycache__", ".mypy_cache/3.14"):
        (tmp_path / "src/windlass/inpod" / left).mkdir(parents=True)
        (tmp_path / "src/windlass/inpod" / left / "keeper").write_text("of a tool")
    (tmp_path / "src/windlass/inpod/keeper.py").write_text("keep")
    (tmp_path / "src/windlass/py.typed").touch()
    return Workshop(
        cache=tmp_path / "cache",
        display=Display(Console(file=io.StringIO())),
        programs={"coredns": tmp_path / "coredns"},
        sources=tmp_path / "images",
        run=tools,
        package=tmp_path / "src",
    )


def test_an_image_is_named_for_its_folder_and_its_tag(workshop: Workshop) -> None:
    image = workshop.image("coredns")

    assert (image.name, image.reference) == ("coredns", "localhost/windlass/coredns:1.14.7")
    assert re.fullmatch(r"coredns-[0-9a-f]{16}\.tar", image.archive.name)
    assert image.archive.read_text() == "image"


def test_an_image_that_is_there_is_not_built_again(workshop: Workshop, tools: FakeTools) -> None:
    first = workshop.image("slurm")
    calls = len(tools.calls)

    assert workshop.image("slurm") == first
    assert len(tools.calls) == calls


def test_the_base_is_built_first_and_handed_over_as_its_archive(
    workshop: Workshop, tools: FakeTools
) -> None:
    workshop.image("slurm")

    last_build = [call for call in tools.calls if "bud" in call][-1]
    base = workshop.archive_of("debian")
    assert f"--build-arg=BASE=oci-archive:{base}" in last_build
    assert base.exists()


def test_a_build_is_of_a_time_that_does_not_pass(workshop: Workshop, tools: FakeTools) -> None:
    workshop.image("coredns")

    (build,) = (call for call in tools.calls if "bud" in call)
    assert f"--timestamp={debian.EPOCH}" in build
    assert f"--build-arg=SOURCE_DATE_EPOCH={debian.EPOCH}" in build


@pytest.mark.parametrize(
    "recipe", sorted(sources("images").glob("*/Containerfile")), ids=lambda path: path.parent.name
)
def test_a_recipe_that_runs_anything_hands_that_time_on(recipe: Path) -> None:
    text = recipe.read_text()
    assert "\nRUN " not in text or "\nARG SOURCE_DATE_EPOCH\n" in text


def test_a_build_sees_its_own_folder_and_what_the_image_carries(
    workshop: Workshop, tools: FakeTools
) -> None:
    workshop.image("coredns")

    (context,) = tools.contexts
    assert set(context) == {"Containerfile", "image.toml", "coredns"}
    assert context["coredns"] == "a program"


def test_a_build_sees_the_sources_that_the_image_asks_for(
    workshop: Workshop, tools: FakeTools
) -> None:
    workshop.image("daemon")

    (context,) = tools.contexts
    own = {"windlass/inpod/keeper.py", "windlass/py.typed"}
    assert set(context) == {"Containerfile", "image.toml", *own}


def test_libraries_of_python_are_installed_beside_the_containerfile(
    workshop: Workshop, tools: FakeTools
) -> None:
    folder = workshop.sources / "daemon"
    (folder / "image.toml").write_text('tag = "1"\ncarries = ["site-packages"]')
    (folder / "requirements.txt").write_text("rich==15")

    workshop.image("daemon")

    install = tools.calls[0]
    assert "--require-hashes" in install
    assert Path(install[-1]).name == "requirements.txt"
    assert Path(install[install.index("--target") + 1]).name == "site-packages"


def test_a_source_that_is_missing_is_named(workshop: Workshop) -> None:
    (workshop.package / "windlass/py.typed").unlink()

    with pytest.raises(LocalError, match=r"image daemon carries windlass/py\.typed"):
        workshop.image("daemon")


def change_containerfile(workshop: Workshop) -> None:
    (workshop.sources / "slurm" / "Containerfile").write_text("ARG BASE=x\nFROM ${BASE}\nUSER 1\n")


def change_tag(workshop: Workshop) -> None:
    (workshop.sources / "slurm" / "image.toml").write_text('tag = "26.11"\nbase = "debian"')


def add_file(workshop: Workshop) -> None:
    (workshop.sources / "slurm" / "entrypoint.sh").write_text("exec slurmctld -D")


def change_base(workshop: Workshop) -> None:
    (workshop.sources / "debian" / "Containerfile").write_text("FROM scratch\n")


def change_source(workshop: Workshop) -> None:
    (workshop.package / "windlass/inpod/keeper.py").write_text("keep better")


def change_program(workshop: Workshop) -> None:
    workshop.programs["coredns"].write_text("another program")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        pytest.param("slurm", change_containerfile, id="its Containerfile"),
        pytest.param("slurm", change_tag, id="its tag"),
        pytest.param("slurm", add_file, id="a new file beside it"),
        pytest.param("slurm", change_base, id="its base"),
        pytest.param("daemon", change_source, id="a source of ours that it has"),
        pytest.param("coredns", change_program, id="a program that it carries"),
    ],
)
def test_an_image_is_built_again_when_something_in_it_changes(
    name: str, change: Callable[[Workshop], None], workshop: Workshop, tools: FakeTools
) -> None:
    before = workshop.image(name)
    builds = tools.count("bud")

    change(workshop)

    assert workshop.image(name).archive != before.archive
    assert tools.count("bud") > builds


def test_newer_debian_packages_make_every_image_on_it_anew(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = workshop.fingerprint("slurm")

    monkeypatch.setattr(debian, "SERIAL", "newer")

    assert workshop.fingerprint("slurm") != before


def test_what_does_not_concern_an_image_leaves_it_alone(workshop: Workshop) -> None:
    before = workshop.fingerprint("coredns")

    change_base(workshop)
    change_containerfile(workshop)

    assert workshop.fingerprint("coredns") == before


def test_a_half_written_archive_is_not_taken(workshop: Workshop) -> None:
    archive = workshop.archive_of("coredns")
    remains = archive.with_name(f".{archive.name}.making")
    remains.mkdir(parents=True)
    (remains / "coredns.tar").write_text("half of an image")

    assert workshop.image("coredns").archive.read_text() == "image"
    assert not remains.exists()


def test_an_image_is_unpacked_once(workshop: Workshop, tools: FakeTools) -> None:
    root = workshop.root("slurm")

    assert root.is_dir()
    assert workshop.root("slurm") == root
    assert tools.count("unpack") == 1


def test_an_image_built_on_request_replaces_what_is_kept_of_it(
    workshop: Workshop, tools: FakeTools
) -> None:
    before = workshop.image("coredns")
    old_root = workshop.root("coredns")

    assert workshop.rebuild("coredns") == before
    assert tools.count("bud") == 2
    assert not old_root.exists()


def test_an_unknown_image_is_answered_with_the_known_ones(workshop: Workshop) -> None:
    with pytest.raises(
        LocalError, match="no image is called slurn; there are coredns, daemon, debian"
    ):
        workshop.image("slurn")


def test_a_missing_program_is_named(workshop: Workshop) -> None:
    workshop.programs["coredns"].unlink()
    without = Workshop(workshop.cache, workshop.display, {}, workshop.sources, workshop.run)

    with pytest.raises(LocalError, match="the program coredns"):
        without.image("coredns")


@pytest.mark.parametrize("name", ["coredns", "local-path-provisioner"])
def test_a_tag_is_the_version_of_the_program_in_the_image(name: str) -> None:
    needs = tomllib.loads((sources("images") / name / "image.toml").read_text())
    module = (sources("binaries") / name / "go.mod").read_text()

    assert re.findall(rf"/{name} v(\S+)", module) == [needs["tag"]]


def test_every_image_has_a_containerfile() -> None:
    folder = sources("images")

    assert all((folder / name / "Containerfile").exists() for name in images.known(folder))


def test_another_base_takes_the_place_of_our_debian(workshop: Workshop, tools: FakeTools) -> None:
    elsewhere = replace(workshop, base="registry.example/debian:13")

    archive = elsewhere.image("slurm").archive

    assert "--build-arg=BASE=registry.example/debian:13" in tools.calls[0]
    assert tools.count("mmdebstrap") == 0
    assert archive != workshop.archive_of("slurm")


def test_an_image_that_is_built_on_nothing_takes_no_base(workshop: Workshop) -> None:
    with pytest.raises(LocalError, match="image coredns is built on nothing"):
        replace(workshop, base="registry.example/debian:13").image("coredns")
