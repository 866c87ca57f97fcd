"""Image archives as other tools save them: what a container of one starts with, and its files."""

import hashlib
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from windlass.local import images
from windlass.local.errors import LocalError
from windlass.local.making import make_once, run_contained
from windlass.local.progress import Display

OCI: Final = "oci-archive"
DOCKER: Final = "docker-archive"


class Start(msgspec.Struct, frozen=True, rename="pascal"):
    """How containers of an image start."""

    entrypoint: tuple[str, ...] | None = None
    cmd: tuple[str, ...] | None = None
    user: str = ""
    labels: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Archive:
    path: Path

    @property
    def transport(self) -> str:
        with self._opened() as tar:
            return OCI if "index.json" in tar.getnames() else DOCKER

    def start(self) -> Start:
        with self._opened() as tar:
            config = _config(tar)
        return msgspec.convert(config.get("config", {}), Start)

    def digest(self) -> str:
        """What a registry would know the image by: all its layers and settings go into it."""
        with self._opened() as tar:
            return str(_json(tar, "index.json")["manifests"][0]["digest"])

    def root(self, cache: Path, display: Display) -> Path:
        """Its files as a folder, kept in the cache; never write to it."""
        with self.path.open("rb") as opened:
            name = hashlib.file_digest(opened, "sha256").hexdigest()[:16]

        def unpack(scratch: Path) -> Path:
            source = f"{self.transport}:{self.path.resolve()}"
            with display.step(f"root file system of {self.path.name}") as step:
                run_contained(images.unpack_command(source, scratch), step.note)
            return scratch / "root"

        return make_once(cache / "roots" / f"archive-{name}", unpack)

    def _opened(self) -> tarfile.TarFile:
        try:
            return tarfile.open(self.path)
        except (OSError, tarfile.TarError) as error:
            raise LocalError(f"{self.path} is no image archive: {error}") from error


def _config(tar: tarfile.TarFile) -> Any:
    if "index.json" not in tar.getnames():
        return _json(tar, _json(tar, "manifest.json")[0]["Config"])
    manifest = _json(tar, _blob(_json(tar, "index.json")["manifests"][0]["digest"]))
    return _json(tar, _blob(manifest["config"]["digest"]))


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _json(tar: tarfile.TarFile, name: str) -> Any:
    try:
        member = tar.extractfile(name)
    except KeyError as error:
        raise LocalError(f"{tar.name!s} is no image archive: it has no {name}") from error
    assert member is not None
    return msgspec.json.decode(member.read())
