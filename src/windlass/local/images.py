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

from windlass.local import debian
from windlass.local.errors import LocalError
from windlass.local.layout import fingerprint, sources
from windlass.local.making import Runner, make_once, remove, run_contained
from windlass.local.progress import Display

# Of uncompressed, gzip and zstd layers, containerd imports zstd the fastest.
TRANSPORT: Final = "oci-archive"
COMPRESSION: Final = "zstd"
DEBIAN_ROOT: Final = "debian.tar"  # an image that carries this is Debian itself

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


def known(folder: Path) -> list[str]:
    """The names of the images that there are recipes of."""
    return sorted(file.parent.name for file in folder.glob("*/image.toml"))


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where images are built, from what, and by whom."""

    cache: Path
    display: Display
    programs: Mapping[str, Path]
    sources: Path
    run: Runner = run_contained
    base: str | None = None  # a reference that takes the place of our own Debian

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
        file = self.sources / name / "image.toml"
        if not file.exists():
            there_are = ", ".join(known(self.sources))
            raise LocalError(f"no image is called {name}; there are {there_are}")
        return msgspec.toml.decode(file.read_bytes(), type=Needs)

    def fingerprint(self, name: str) -> str:
        """A name for all that goes into the image."""
        needs = self.needs(name)
        parts = [TRANSPORT, COMPRESSION, self._base_fingerprint(name)]
        for file in _files(self.sources / name):
            mode = "x" if file.stat().st_mode & 0o100 else "-"
            parts += [file.relative_to(self.sources).as_posix(), mode, _digest(file)]
        for carried in needs.carries:
            made = carried == DEBIAN_ROOT
            parts += [carried, debian.IMAGE.fingerprint if made else _digest(self._find(carried))]
        return fingerprint(*parts)

    def _build(self, name: str, scratch: Path) -> Path:
        reference, archive = self.reference(name), scratch / f"{name}.tar"
        base = self._base_argument(name)
        context = self._context(name, scratch)
        with self.display.step(f"image {reference}") as step:
            bud = ("bud", "--isolation", "chroot", "--network", "host", *base)
            self.run([*_buildah(scratch), *bud, "--tag", reference, context], step.note)
            push = ("push", "--quiet", "--compression-format", COMPRESSION)
            target = f"{TRANSPORT}:{archive}:{reference}"
            self.run([*_buildah(scratch), *push, reference, target], step.note)
        return archive

    def _unpack(self, name: str, scratch: Path) -> Path:
        image, target = self.image(name), scratch / "root"
        source = f"{TRANSPORT}:{image.archive}"
        with self.display.step(f"root file system of {image.reference}") as step:
            self.run(["sh", "-ec", UNPACK, "unpack", source, target, *_buildah(scratch)], step.note)
        return target

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
            shutil.copy2(self._carried(carried), context / carried)
        return context

    def _carried(self, carried: str) -> Path:
        if carried == DEBIAN_ROOT:
            return debian.ensure(debian.IMAGE, self.cache, self.display, self.run)
        return self._find(carried)

    def _find(self, program: str) -> Path:
        if program not in self.programs:
            raise LocalError(f"an image carries the program {program}, and it was not built")
        return self.programs[program]


def _buildah(scratch: Path) -> tuple[str | Path, ...]:
    """Buildah with a storage of its own, thrown away with `scratch`."""
    return (
        *("env", f"TMPDIR={scratch}"),
        *("buildah", "--storage-driver", "overlay"),
        *("--root", scratch / "storage", "--runroot", scratch / "run"),
    )


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
