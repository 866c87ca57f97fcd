import io
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

import pytest
from rich.console import Console

from windlass.local import binaries
from windlass.local.binaries import MODULES, GoBuilder, Meter, Module, Recipe, Store, load
from windlass.local.errors import LocalError
from windlass.local.layout import sources
from windlass.local.progress import Display, Step
from windlass.local.toolchain import Go, version_of

GO_MOD = """\
module windlass.local/anchor

go 1.26.0

tool (
	example.org/anchor/v3/cmd/drop
	example.org/anchor/v3/cmd/weigh
)

require (
	example.org/anchor v1.0.0 // indirect
	example.org/anchor/v3 v3.7.2 // indirect
	example.org/chain v0.4.0 // indirect
)
"""


def nothing_more(folder: Path) -> None:
    """What happens at the end of an ordinary build."""


@dataclass
class FakeBuilder:
    """Writes a small file for each program, and counts how often it was asked to."""

    identity: str = "go1.26.8 linux/amd64"
    builds: int = 0
    forgets: tuple[str, ...] = ()
    meanwhile: Callable[[Path], None] = nothing_more

    def build(self, module: Module, folder: Path, meter: Meter) -> None:
        self.builds += 1
        meter.surveyed("example.org/anchor")
        for program in module.programs:
            if program not in self.forgets:
                (folder / program).write_text(f"the program {program}")
        self.meanwhile(folder)


@pytest.fixture
def module(tmp_path: Path) -> Module:
    folder = tmp_path / "sources" / "anchor"
    folder.mkdir(parents=True)
    (folder / "go.mod").write_text(GO_MOD)
    (folder / "go.sum").write_text("example.org/anchor/v3 v3.7.2 h1:abc=\n")
    return load("anchor", folder, Recipe(stamps=("main.version={version}",)))


@pytest.fixture
def builder() -> FakeBuilder:
    return FakeBuilder()


@pytest.fixture
def told() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def store(tmp_path: Path, builder: FakeBuilder, told: io.StringIO) -> Store:
    return Store(tmp_path / "cache" / "binaries", builder, Display(Console(file=told)))


def test_version_and_programs_are_those_of_go_mod(module: Module) -> None:
    assert module.origin == "example.org/anchor/v3"
    assert module.version == "v3.7.2"
    assert module.least_go == "1.26.0"
    assert module.programs == ("drop", "weigh")


def test_a_single_program_is_named_for_our_module(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text(
        "go 1.26.0\ntool example.org/rope/server/v2\nrequire example.org/rope/server/v2 v2.1.0\n"
    )

    assert load("rope", tmp_path, Recipe()).programs == ("rope",)


def test_a_module_without_tools_is_a_program_of_our_own(tmp_path: Path, store: Store) -> None:
    (tmp_path / "go.mod").write_text("module windlass.local/rope\n\ngo 1.26.0\n")
    (tmp_path / "main.go").write_text("package main")
    module = load("rope", tmp_path, Recipe())

    assert (module.programs, module.packages, module.version) == (("rope",), ".", "")
    before = store.place(module)
    (tmp_path / "main.go").write_text("package main // changed")
    assert store.place(module) != before


def test_a_program_of_ours_may_be_made_of_anothers_module(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("go 1.26.0\nrequire example.org/rope v1.2.3\n")

    module = load("knot", tmp_path, Recipe(origin="example.org/rope"))

    assert (module.programs, module.packages) == (("knot",), ".")
    assert (module.origin, module.version) == ("example.org/rope", "v1.2.3")


def test_tools_of_no_required_module_are_refused(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text(
        "go 1.26.0\ntool example.org/rope\nrequire example.org/rop v1.0.0\n"
    )

    with pytest.raises(LocalError, match=r"go\.mod must require the one module"):
        load("rope", tmp_path, Recipe())


def test_the_linker_is_told_the_version(module: Module) -> None:
    stamps = ("a.version={version}", "a.major={major}", "a.minor={minor}")

    stamped = replace(module, recipe=Recipe(stamps=stamps))

    assert stamped.ldflags == "-s -w -X a.version=v3.7.2 -X a.major=3 -X a.minor=7"


def test_helm_assumes_the_kubernetes_that_is_built_here() -> None:
    kubernetes, helm = (
        load(name, sources("binaries") / name, MODULES[name]) for name in ("kubernetes", "helm")
    )
    major, minor, _ = version_of(kubernetes.version)
    for package in ("chartutil", "lint/rules"):
        assert f"/pkg/{package}.k8sVersionMajor={major} " in f"{helm.ldflags} "
        assert f"/pkg/{package}.k8sVersionMinor={minor} " in f"{helm.ldflags} "


@pytest.mark.parametrize("name", [name for name in MODULES if name != "pause"])
def test_every_committed_module_is_pinned(name: str) -> None:
    module = load(name, sources("binaries") / name, MODULES[name])

    assert module.version.startswith("v")
    assert (module.folder / "go.sum").stat().st_size > 0


def test_kubernetes_brings_the_six_programs_of_a_cluster() -> None:
    module = load("kubernetes", sources("binaries") / "kubernetes", MODULES["kubernetes"])

    assert sorted(module.programs) == [
        *("kube-apiserver", "kube-controller-manager", "kube-proxy"),
        *("kube-scheduler", "kubectl", "kubelet"),
    ]


def test_a_module_is_built_once(module: Module, store: Store, builder: FakeBuilder) -> None:
    first = store.take(module)

    assert store.take(module) == first
    assert (first / "weigh").read_text() == "the program weigh"
    assert builder.builds == 1


def test_a_build_is_kept_under_module_version_and_fingerprint(module: Module, store: Store) -> None:
    name, _, fingerprint = store.place(module).name.rpartition("-")

    assert name == "anchor-v3.7.2"
    assert len(fingerprint) == 16


def other_sum(module: Module, store: Store) -> Path:
    (module.folder / "go.sum").write_text("example.org/anchor/v3 v3.7.2 h1:xyz=\n")
    return store.place(module)


def other_mod(module: Module, store: Store) -> Path:
    (module.folder / "go.mod").write_text(GO_MOD.replace("chain v0.4.0", "chain v0.4.1"))
    return store.place(module)


def other_stamp(module: Module, store: Store) -> Path:
    return store.place(replace(module, recipe=Recipe(stamps=("main.release={version}",))))


def other_stages(module: Module, store: Store) -> Path:
    return store.place(replace(module, recipe=replace(module.recipe, stages=("*.yaml",))))


def other_folders(module: Module, store: Store) -> Path:
    return store.place(replace(module, recipe=replace(module.recipe, folders=("charts/anchor",))))


def other_go(module: Module, store: Store) -> Path:
    return replace(store, builder=FakeBuilder("go1.27.0 linux/amd64")).place(module)


@pytest.mark.parametrize(
    "change",
    [other_sum, other_mod, other_stamp, other_stages, other_folders, other_go],
    ids=lambda change: change.__name__,
)
def test_whatever_changes_a_build_changes_its_place(
    module: Module, store: Store, change: Callable[[Module, Store], Path]
) -> None:
    before = store.place(module)

    assert change(module, store) != before


def test_gos_settings_are_part_of_its_identity() -> None:
    identity = GoBuilder(Go(Path("go"), "go1.26.8 linux/amd64")).identity

    assert identity.startswith("go1.26.8 linux/amd64 ")
    assert "CGO_ENABLED=0" in identity


def truncate(folder: Path) -> None:
    os.truncate(folder / "weigh", 3)


def take_away(folder: Path) -> None:
    (folder / "weigh").unlink()


def scribble(folder: Path) -> None:
    (folder / "weigh").write_text("the program WEIGH")
    os.utime(folder / "weigh", (0, 0))


def lose_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def empty_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text("")


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (truncate, "weigh has 3 of 17 bytes"),
        (take_away, "weigh is missing"),
        (scribble, "weigh has other content"),
        (lose_manifest, "it has no manifest"),
        (empty_manifest, "its manifest cannot be read"),
    ],
    ids=lambda it: getattr(it, "__name__", it),
)
def test_a_broken_build_is_seen_and_made_again(
    module: Module, store: Store, told: io.StringIO, harm: Callable[[Path], None], reason: str
) -> None:
    folder = store.take(module)
    harm(folder)

    assert store.take(module) == folder
    assert (folder / "weigh").read_text() == "the program weigh"
    assert f"{folder.name} is built again: {reason}" in told.getvalue()


def test_a_program_that_was_only_touched_is_kept(
    module: Module, store: Store, builder: FakeBuilder
) -> None:
    os.utime(store.take(module) / "weigh", (0, 0))

    store.take(module)

    assert builder.builds == 1


def test_a_thorough_look_finds_what_size_and_time_hide(
    module: Module, store: Store, builder: FakeBuilder
) -> None:
    program = store.take(module) / "weigh"
    times = (program.stat().st_atime, program.stat().st_mtime)
    program.write_text("the program WEIGH")
    os.utime(program, times)

    store.take(module)
    assert builder.builds == 1
    store.take(module, thorough=True)
    assert builder.builds == 2


def test_a_half_written_build_is_not_taken_and_is_cleared(module: Module, store: Store) -> None:
    folder = store.place(module)
    half = folder.with_name(f".{folder.name}.making") / "built"
    half.mkdir(parents=True)
    (half / "weigh").write_text("the pro")

    assert (store.take(module) / "weigh").read_text() == "the program weigh"
    assert not half.parent.exists()


def test_a_build_that_fails_leaves_nothing_under_the_final_name(
    module: Module, store: Store, builder: FakeBuilder
) -> None:
    def fail(folder: Path) -> None:
        raise LocalError("no space left")

    builder.meanwhile = fail

    with pytest.raises(LocalError, match="no space left"):
        store.take(module)
    assert [path for path in store.folder.iterdir() if path.is_dir()] == []


def test_a_build_without_one_of_its_programs_is_refused(
    module: Module, store: Store, builder: FakeBuilder
) -> None:
    builder.forgets = ("drop",)

    with pytest.raises(LocalError, match="the build of anchor made no drop"):
        store.take(module)
    assert not store.place(module).exists()


def test_superseded_builds_stay(module: Module, store: Store) -> None:
    before = store.take(module)
    (module.folder / "go.sum").write_text("")

    after = store.take(module)

    assert before != after
    assert binaries.why_broken(before) is None


def test_one_who_comes_while_another_builds_waits_and_finds_it_done(
    module: Module, store: Store, builder: FakeBuilder
) -> None:
    truncate(store.take(module))
    second = Thread(target=store.take, args=[module])

    def come_in(folder: Path) -> None:
        builder.meanwhile = nothing_more
        second.start()

    builder.meanwhile = come_in
    folder = store.take(module)
    second.join()

    assert builder.builds == 2
    assert binaries.why_broken(folder) is None


def test_stages_come_with_kwok_and_are_checked_like_programs(
    module: Module, store: Store, builder: FakeBuilder
) -> None:
    def add_stages(folder: Path) -> None:
        (folder / "stages").mkdir()
        for name in ("pod-ready.yaml", "node-initialize.yaml"):
            (folder / "stages" / name).write_text("kind: Stage")

    builder.meanwhile = add_stages
    stages = binaries.kwok_stages(store.take(module) / "weigh")
    assert [path.name for path in stages] == ["node-initialize.yaml", "pod-ready.yaml"]

    stages[0].write_text("")
    assert binaries.why_broken(stages[0].parents[1]) == "node-initialize.yaml has 0 of 11 bytes"


def test_ensure_gives_the_path_of_every_program(tmp_path: Path, told: io.StringIO) -> None:
    display = Display(Console(file=told))

    programs = binaries.ensure(["helm", "kubernetes"], tmp_path, display, FakeBuilder())

    assert {"helm", "kubectl", "kubelet"} <= programs.keys()
    assert all(path.name == name and path.is_file() for name, path in programs.items())


def meter_to(said: list[str]) -> Meter:
    return Meter(Step("build anchor", Display(Console(file=io.StringIO()))), said.append)


def test_packages_are_counted_for_those_who_see_no_bar() -> None:
    said: list[str] = []
    meter = meter_to(said)

    for number in range(30):
        meter.surveyed(f"example.org/anchor/{number}")
    for number in range(7):
        meter.compiled(f"example.org/anchor/{number}")

    assert (meter.done, meter.total) == (7, 30)
    assert said == ["build anchor: 10 % of 30 packages", "build anchor: 20 % of 30 packages"]


def test_downloads_are_told_now_and_then_and_not_counted_as_packages() -> None:
    said: list[str] = []
    meter = meter_to(said)

    for number in range(60):
        meter.surveyed(f"go: downloading example.org/chain/{number} v0.4.0")

    assert meter.total == 0
    assert said == ["build anchor: downloading module 1", "build anchor: downloading module 51"]


def test_main_packages_that_come_last_do_not_exceed_the_total() -> None:
    meter = meter_to([])

    meter.surveyed("example.org/anchor")
    for line in ("example.org/anchor", "example.org/anchor/cmd/drop", "# warning: of the linker"):
        meter.compiled(line)

    assert (meter.done, meter.total) == (1, 1)


def test_a_module_that_is_not_there_is_refused_with_the_names_of_those_that_are(
    tmp_path: Path,
) -> None:
    display = Display(Console(file=io.StringIO()))
    with pytest.raises(
        LocalError, match="no module is called nonsense; there are cert-manager, coredns"
    ):
        binaries.ensure(["nonsense"], tmp_path, display)
