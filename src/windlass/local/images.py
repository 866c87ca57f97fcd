"""Container images without an engine or a registry: built by buildah, kept as archives.

An image is a folder `images/<name>/` with a Containerfile and an `image.toml`. Its archive is
named for everything that went into it, so it is built again when, and only when, that changes.
"""

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

import windlass
from windlass.local import debian
from windlass.local.errors import LocalError
from windlass.local.layout import fingerprint, sources
from windlass.local.making import Runner, make_once, remove, run_contained
from windlass.local.progress import Display

# Of uncompressed, gzip and zstd layers, containerd imports zstd the fastest.
TRANSPORT: Final = "oci-archive"
COMPRESSION: Final = "zstd"
PACKAGE: Final = Path(windlass.__file__).parents[1]
DEBIAN_ROOT: Final = "debian.tar"  # an image that carries this is Debian itself
# An image that carries this has the libraries that its requirements.txt names.
PYTHON_LIBRARIES: Final = "site-packages"
PYTHON: Final = "3.14"  # forky's
# Containerfiles hand the time on: useradd writes days down, and Python compares times with sources.
DATED: Final = (f"--timestamp={debian.EPOCH}", f"--build-arg=SOURCE_DATE_EPOCH={debian.EPOCH}")

# One shell, because what buildah mounts is seen only by the namespace that it runs in.
UNPACK: Final = """
archive=$1 target=$2; shift 2
container=$("$@" from "$archive")
mounted=$("$@" mount "$container")
cp -a "$mounted" "$target"
chmod 755 "$target"  # / is read-only in buildah's storage, though not in the image
"""


@dataclass(frozen=True, slots=True)
class Image:
    """An image that can be imported: `ctr -n k8s.io images import <archive>`."""

    name: str
    reference: str
    archive: Path


class Needs(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `image.toml` says: all that a Containerfile cannot."""

    tag: str
    base: str | None = None  # the image that the build argument BASE stands for
    carries: tuple[str, ...] = ()  # programs put beside the Containerfile
    sources: tuple[str, ...] = ()  # files or folders of our own package, likewise


def ensure(
    names: Sequence[str],
    cache: Path,
    display: Display,
    programs: Mapping[str, Path],
    base: str | None = None,
) -> dict[str, Image]:
    """Return these images, built first where this machine has not got them yet."""
    workshop = Workshop(cache, display, programs, sources("images"), base=base)
    return {name: workshop.image(name) for name in names}


def build(name: str, cache: Path, display: Display, programs: Mapping[str, Path]) -> Image:
    """Build an image even if nothing of its sources changed: Debian's packages may have."""
    return Workshop(cache, display, programs, sources("images")).rebuild(name)


def root_of(name: str, cache: Path, display: Display, programs: Mapping[str, Path]) -> Path:
    """Return the image's root file system as a folder; it is shared: never write to it."""
    return Workshop(cache, display, programs, sources("images")).root(name)


def carried(name: str) -> tuple[str, ...]:
    """The programs that go into an image."""
    return recipe(name, sources("images")).carries


def known(folder: Path) -> list[str]:
    """The names of the images that there are recipes of."""
    return sorted(file.parent.name for file in folder.glob("*/image.toml"))


def recipe(name: str, folder: Path) -> Needs:
    """What an image is made of besides its Containerfile."""
    file = folder / name / "image.toml"
    if not file.exists():
        there_are = ", ".join(known(folder))
        raise LocalError(f"no image is called {name}; there are {there_are}")
    return msgspec.toml.decode(file.read_bytes(), type=Needs)


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where images are built, from what, and by whom."""

    cache: Path
    display: Display
    programs: Mapping[str, Path]
    sources: Path
    run: Runner = run_contained
    base: str | None = None  # a reference that takes the place of our own Debian
    package: Path = PACKAGE  # the folder that has `windlass/`

    def image(self, name: str) -> Image:
        archive = make_once(self.archive_of(name), lambda scratch: self._build(name, scratch))
        return Image(name, self.reference(name), archive)

    def rebuild(self, name: str) -> Image:
        remove(self.archive_of(name))
        remove(self.root_path_of(name))
        return self.image(name)

    def root(self, name: str) -> Path:
        return make_once(self.root_path_of(name), lambda scratch: self._unpack(name, scratch))

    def archive_of(self, name: str) -> Path:
        return self.cache / "images" / f"{name}-{self.fingerprint(name)}.tar"

    def root_path_of(self, name: str) -> Path:
        return self.cache / "roots" / f"{name}-{self.fingerprint(name)}"

    def reference(self, name: str) -> str:
        return f"localhost/windlass/{name}:{self.needs(name).tag}"

    def needs(self, name: str) -> Needs:
        return recipe(name, self.sources)

    def fingerprint(self, name: str) -> str:
        """A name for all that goes into the image."""
        needs = self.needs(name)
        parts = [TRANSPORT, COMPRESSION, *DATED, self._base_fingerprint(name)]
        for file in _files(self.sources / name):
            mode = "x" if file.stat().st_mode & 0o100 else "-"
            parts += [file.relative_to(self.sources).as_posix(), mode, _digest(file)]
        for carried in needs.carries:
            parts += [carried, self._carried_fingerprint(carried)]
        for file in self._source_files(name):
            parts += [file.relative_to(self.package).as_posix(), _digest(file)]
        return fingerprint(*parts)

    def _build(self, name: str, scratch: Path) -> Path:
        reference, archive = self.reference(name), scratch / f"{name}.tar"
        base = self._base_argument(name)
        context = self._context(name, scratch)
        with self.display.step(f"image {reference}") as step:
            bud = ("bud", "--isolation", "chroot", "--network", "host", *DATED, *base)
            self.run([*_buildah(scratch), *bud, "--tag", reference, context], step.note)
            push = ("push", "--quiet", "--compression-format", COMPRESSION)
            target = f"{TRANSPORT}:{archive}:{reference}"
            self.run([*_buildah(scratch), *push, reference, target], step.note)
        return archive

    def _unpack(self, name: str, scratch: Path) -> Path:
        image = self.image(name)
        with self.display.step(f"root file system of {image.reference}") as step:
            self.run(unpack_command(f"{TRANSPORT}:{image.archive}", scratch), step.note)
        return scratch / "root"

    def _base_fingerprint(self, name: str) -> str:
        own = self.needs(name).base
        if own is None and self.base is not None:
            raise LocalError(f"image {name} is built on nothing, so --base has no place in it")
        return self.base or (self.fingerprint(own) if own else "scratch")

    def _base_argument(self, name: str) -> list[str]:
        own = self.needs(name).base
        if self.base is not None:
            return [f"--build-arg=BASE={self.base}"]
        return [f"--build-arg=BASE={TRANSPORT}:{self.image(own).archive}"] if own else []

    def _context(self, name: str, scratch: Path) -> Path:
        """The folder that the Containerfile sees: its own, and what the image carries."""
        context = scratch / "context"
        for file in _files(self.sources / name):
            copy = context / file.relative_to(self.sources / name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)
        for carried in self.needs(name).carries:
            self._carry(carried, context)
        for file in self._source_files(name):
            copy = context / file.relative_to(self.package)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
        return context

    def _source_files(self, name: str) -> list[Path]:
        found = []
        for source in self.needs(name).sources:
            path = self.package / source
            if not path.exists():
                raise LocalError(f"image {name} carries {source}, which is missing here")
            found += _files(path) if path.is_dir() else [path]
        return [file for file in found if not _is_left_behind(file.relative_to(self.package))]

    def _carried_fingerprint(self, carried: str) -> str:
        if carried == DEBIAN_ROOT:
            return debian.IMAGE.fingerprint
        return PYTHON if carried == PYTHON_LIBRARIES else _digest(self._find(carried))

    def _carry(self, carried: str, context: Path) -> None:
        if carried == PYTHON_LIBRARIES:
            self._install_libraries(context)
            return
        made = carried == DEBIAN_ROOT
        file = debian.ensure(debian.IMAGE, self.cache, self.display, self.run) if made else None
        shutil.copy2(file or self._find(carried), context / carried)

    def _install_libraries(self, context: Path) -> None:
        """Fetched out here: a site's own index and certificates are known to this machine."""
        uv = ("sh", "-c", 'exec "${UV:-uv}" "$@"', "uv")  # `uv run` says where it is
        install = ("pip", "install", "--quiet", "--target", context / PYTHON_LIBRARIES)
        exactly = ("--no-deps", "--require-hashes", "--only-binary=:all:")
        what = ("--python-version", PYTHON, "--requirements", context / "requirements.txt")
        with self.display.step("Python libraries") as step:
            self.run([*uv, *install, *exactly, *what], step.note)

    def _find(self, program: str) -> Path:
        if program not in self.programs:
            raise LocalError(f"an image carries the program {program}, and it was not built")
        return self.programs[program]


def unpack_command(source: str, scratch: Path) -> list[str | Path]:
    """The command that leaves the files of an archive in the folder `root` below `scratch`."""
    return ["sh", "-ec", UNPACK, "unpack", source, scratch / "root", *_buildah(scratch)]


def _buildah(scratch: Path) -> tuple[str | Path, ...]:
    """Buildah with a storage of its own, thrown away with `scratch`."""
    return (
        *("env", f"TMPDIR={scratch}"),
        *("buildah", "--storage-driver", "overlay"),
        *("--root", scratch / "storage", "--runroot", scratch / "run"),
    )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _is_left_behind(file: Path) -> bool:
    """Whether a tool, not a person, put it among the sources, such as .mypy_cache."""
    return any(part == "__pycache__" or part.startswith(".") for part in file.parts)


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
