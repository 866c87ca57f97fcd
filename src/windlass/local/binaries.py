"""The programs of the local cluster: built from Go modules, kept in the cache, checked on use.

`binaries/<name>/go.mod` alone says which programs there are and of which version; what it cannot
say is in `MODULES`. A build has its final name only once its manifest is written.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import msgspec

from windlass.local import making, toolchain
from windlass.local.errors import LocalError
from windlass.local.layout import fingerprint, sources
from windlass.local.progress import Display, Step

MANIFEST: Final = "manifest.json"
STAGES: Final = "stages"

# What `go build -v` will print: the packages that Go's own cache does not have yet.
STALE: Final = '{{if and .Stale (ne .Name "main")}}{{.ImportPath}}{{end}}'


@dataclass(frozen=True, slots=True)
class Recipe:
    """What go.mod cannot say of a module."""

    origin: str = ""  # what a program of ours is made of, where that is another's module
    stamps: tuple[str, ...] = ()  # Go variables to set; the linker ignores one that is not there
    stages: tuple[str, ...] = ()  # files of the module's source to keep beside the programs
    folders: tuple[str, ...] = ()  # folders of it to keep whole, under the names that they have


MODULES: Final[Mapping[str, Recipe]] = {
    "kubernetes": Recipe(
        stamps=(
            "k8s.io/component-base/version.gitVersion={version}",
            "k8s.io/component-base/version.gitMajor={major}",
            "k8s.io/component-base/version.gitMinor={minor}",
            "k8s.io/client-go/pkg/version.gitVersion={version}",
        )
    ),
    "etcd": Recipe(),
    "helm": Recipe(
        stamps=(
            "helm.sh/helm/v3/internal/version.version={version}",
            # The Kubernetes that it assumes where it cannot ask one.
            *(
                f"helm.sh/helm/v3/pkg/{package}.k8sVersion{part}"
                for package in ("chartutil", "lint/rules")
                for part in ("Major=1", "Minor=36")
            ),
        )
    ),
    "coredns": Recipe(),
    "kwok": Recipe(
        stamps=("sigs.k8s.io/kwok/pkg/consts.Version={version}",),
        stages=(
            "kustomize/stage/node/fast/node-*.yaml",
            "kustomize/stage/node/heartbeat-with-lease/node-*.yaml",
            "kustomize/stage/pod/fast/pod-*.yaml",
        ),
    ),
    "local-path-provisioner": Recipe(stamps=("main.VERSION={version}",)),
    # Controllers whose workloads the bridge takes, and how their makers install them.
    "jobset": Recipe(folders=("charts/jobset",)),
    "lws": Recipe(folders=("charts/lws",)),
    "scheduler-plugins": Recipe(
        folders=("manifests/install/charts/as-a-second-scheduler", "config/crd/bases")
    ),
    # A driver of devices that are not there, for claims that kubelets really prepare.
    "dra-example-driver": Recipe(folders=("deployments/helm/dra-example-driver",)),
    "pause": Recipe(),
    "cert-manager": Recipe(origin="github.com/cert-manager/cert-manager", folders=("deploy/crds",)),
}


@dataclass(frozen=True, slots=True)
class Module:
    """A folder with a go.mod, and the programs that are built from it."""

    name: str
    folder: Path
    tools: tuple[str, ...]  # the packages that become programs; none: the module is our program
    origin: str  # the module that the tools come from
    version: str  # of that module; empty if it is ours
    least_go: str
    recipe: Recipe

    @property
    def programs(self) -> tuple[str, ...]:
        """Named as Go names them; a single one is named for our module (etcd's is `server`)."""
        if len(self.tools) > 1:
            return tuple(tool.rpartition("/")[2] for tool in self.tools)
        return (self.name,)

    @property
    def packages(self) -> str:
        return "tool" if self.tools else "."

    @property
    def ldflags(self) -> str:
        major, minor, _ = toolchain.version_of(self.version)
        values = {"version": self.version, "major": major, "minor": minor}
        stamps = (f"-X {stamp.format_map(values)}" for stamp in self.recipe.stamps)
        return " ".join(("-s -w", *stamps))


class Builder(Protocol):
    """What turns a module into files; whatever changes the files must change `identity`."""

    @property
    def identity(self) -> str: ...

    def build(self, module: Module, folder: Path, meter: "Meter") -> None: ...


def ensure(
    names: Sequence[str],
    cache: Path,
    display: Display,
    builder: Builder | None = None,
    *,
    thorough: bool = False,
) -> dict[str, Path]:
    """Each program of these modules with its path; what is missing or broken is built first.

    Sizes and times are compared always, contents if those differ; `thorough` compares contents.
    """
    modules = [load(name, sources("binaries") / name, _recipe(name)) for name in names]
    if builder is None:
        least = max((module.least_go for module in modules), key=toolchain.version_of)
        builder = GoBuilder(toolchain.ensure(cache, display, least=least))
    store = Store(cache / "binaries", builder, display)
    folders = [(module, store.take(module, thorough=thorough)) for module in modules]
    return {program: folder / program for module, folder in folders for program in module.programs}


def _recipe(name: str) -> Recipe:
    if name not in MODULES:
        raise LocalError(f"no module is called {name}; there are {', '.join(sorted(MODULES))}")
    return MODULES[name]


def kwok_stages(kwok: Path) -> list[Path]:
    """The Stage files that came with this kwok: nodes become ready, pods run and end."""
    return sorted((kwok.parent / STAGES).iterdir())


def load(name: str, folder: Path, recipe: Recipe) -> Module:
    """Read the go.mod of a module."""
    lines = list(_directives((folder / "go.mod").read_text()))
    tools = tuple(words[1] for words in lines if words[0] == "tool")
    required = {words[1]: words[2] for words in lines if words[0] == "require"}
    origin = _origin(tools, required) if tools else recipe.origin
    if origin is None:
        raise LocalError(f"{folder / 'go.mod'} must require the one module its tools come from")
    least_go = next(words[1] for words in lines if words[0] == "go")
    return Module(name, folder, tools, origin, required.get(origin, ""), least_go, recipe)


def _origin(tools: Sequence[str], required: Iterable[str]) -> str | None:
    """The module that all tools are in; where one is nested in another, the inner one."""
    homes = [path for path in required if all(f"{tool}/".startswith(f"{path}/") for tool in tools)]
    return max(homes, key=len, default=None)


def _directives(text: str) -> Iterator[list[str]]:
    """Every directive of a go.mod as words, those in a block with the block's word before them."""
    block: list[str] = []
    for line in text.splitlines():
        match line.partition("//")[0].split():
            case []:
                continue
            case [word, "("]:
                block = [word]
            case [")"]:
                block = []
            case words:
                yield block + words


@dataclass(slots=True)
class Meter:
    """Counts what Go prints, for a bar; `say` has a line now and then for those who see no bar."""

    step: Step
    say: Callable[[str], None]
    downloads: int = 0
    total: int = 0
    done: int = 0

    def surveyed(self, line: str) -> None:
        """Take a line of `go list`: a module that is fetched, or a package to compile."""
        if line.startswith("go: downloading "):
            self.downloads += 1
            self.step.note(line.removeprefix("go: "))
            if self.downloads % 50 == 1:
                self.say(f"{self.step.title}: downloading module {self.downloads}")
        elif line and " " not in line:
            self.total += 1

    def compiled(self, line: str) -> None:
        """Take a line of `go build -v`: a package, or something to tell."""
        if " " in line:
            self.step.note(line)
            return
        tenths = self._tenths()
        self.done = min(self.done + 1, self.total)
        self.step.far(self.done, self.total)
        self.step.note(line if self.done < self.total else "linking")
        if self._tenths() > tenths:
            self.say(f"{self.step.title}: {self._tenths()}0 % of {self.total} packages")

    def _tenths(self) -> int:
        return 10 * self.done // max(self.total, 1)


@dataclass(frozen=True, slots=True)
class GoBuilder:
    """Builds with Go; the modules come from the module proxy and are checked against go.sum."""

    go: toolchain.Go

    @property
    def identity(self) -> str:
        settings = (f"{name}={value}" for name, value in sorted(toolchain.SETTINGS.items()))
        return " ".join((self.go.release, *settings))

    def build(self, module: Module, folder: Path, meter: Meter) -> None:
        survey = ("list", "-deps", "-f", STALE, module.packages)
        self.go.lines(survey, meter.surveyed, module.folder)
        target = f"{folder}/" if len(module.programs) > 1 else f"{folder}/{module.name}"
        make = ("build", "-v", "-ldflags", module.ldflags, "-o", target, module.packages)
        self.go.lines(make, meter.compiled, module.folder)
        if module.recipe.stages or module.recipe.folders:
            self._keep(module, folder)

    def _keep(self, module: Module, target: Path) -> None:
        question = ("list", "-m", "-f", "{{.Dir}}", module.origin)
        source = Path(self.go.answer(question, module.folder))
        for pattern in module.recipe.stages:
            (target / STAGES).mkdir(exist_ok=True)
            for file in source.glob(pattern):
                shutil.copyfile(file, target / STAGES / file.name)
        for name in module.recipe.folders:
            # Go keeps its modules read-only, and a copy would be, too.
            shutil.copytree(source / name, target / name, copy_function=shutil.copyfile)
            for path in (target / name, *(target / name).rglob("*/")):
                path.chmod(0o755)


@dataclass(frozen=True, slots=True)
class Store:
    """The builds of this machine, a folder each.

    Superseded ones stay: a cluster that runs, or another checkout, may still start from them.
    """

    folder: Path
    builder: Builder
    display: Display

    def place(self, module: Module) -> Path:
        """Where a build of exactly this is kept."""
        files = (path.read_bytes() for path in _files(module.folder))
        kept = (*module.recipe.stages, *module.recipe.folders)
        recipe = (module.ldflags, *module.programs, *kept)
        exact = fingerprint(self.builder.identity, *recipe, *files)
        return self.folder / "-".join(filter(None, (module.name, module.version, exact)))

    def take(self, module: Module, *, thorough: bool = False) -> Path:
        """The whole build of a module, made now if need be."""
        folder = self.place(module)
        if why_broken(folder, thorough=thorough) is None:
            return folder
        with self.display.step(f"build {module.name} {module.version}".rstrip()) as step:
            meter = Meter(step, self._say_without_bars)
            self._discard_broken(folder, thorough=thorough)
            return making.make_once(folder, lambda scratch: self._build(module, scratch, meter))

    def _discard_broken(self, folder: Path, *, thorough: bool) -> None:
        """Make room for a build, but never by removing one that somebody else just made."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder.with_name(f".{folder.name}.checking").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            reason = why_broken(folder, thorough=thorough)
            if reason and folder.exists():
                self.display.say(f"{folder.name} is built again: {reason}")
                making.remove(folder)

    def _build(self, module: Module, scratch: Path, meter: Meter) -> Path:
        built = scratch / "built"
        built.mkdir()
        self.builder.build(module, built, meter)
        for program in module.programs:
            if not (built / program).is_file():
                raise LocalError(f"the build of {module.name} made no {program}")
        seal(built)
        return built

    def _say_without_bars(self, text: str) -> None:
        if not self.display.console.is_terminal:
            self.display.say(text)


class Entry(msgspec.Struct, frozen=True):
    """One file as it was built; the time in whole seconds, which is what archives keep."""

    size: int
    modified: int
    sha256: str


def seal(folder: Path) -> None:
    """Write the manifest, after everything it names is on the disk."""
    entries = {str(path.relative_to(folder)): _entry(path) for path in _files(folder)}
    (folder / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(entries)))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _entry(path: Path) -> Entry:
    with path.open("rb") as file:
        os.fsync(file.fileno())
    stat = path.stat()
    return Entry(stat.st_size, int(stat.st_mtime), _sha256(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def why_broken(folder: Path, *, thorough: bool = False) -> str | None:
    """What is wrong with a build, or None if it is whole."""
    try:
        manifest = (folder / MANIFEST).read_bytes()
        entries = msgspec.json.decode(manifest, type=dict[str, Entry])
    except FileNotFoundError:
        return "it has no manifest"
    except msgspec.DecodeError:
        return "its manifest cannot be read"
    faults = (_fault(folder / name, entry, thorough=thorough) for name, entry in entries.items())
    return next((fault for fault in faults if fault), None)


def _fault(path: Path, entry: Entry, *, thorough: bool) -> str | None:
    try:
        stat = path.stat()
    except FileNotFoundError:
        return f"{path.name} is missing"
    if stat.st_size != entry.size:
        return f"{path.name} has {stat.st_size} of {entry.size} bytes"
    if int(stat.st_mtime) == entry.modified and not thorough:
        return None
    return None if _sha256(path) == entry.sha256 else f"{path.name} has other content"
