"""Image archives of both kinds: how a container of one starts."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from windlass.local.archives import DOCKER, OCI, Archive, Start
from windlass.local.errors import LocalError

CONFIG = {"config": {"Entrypoint": ["tini"], "Cmd": None, "User": "401", "Labels": {"a": "b"}}}


def pack(path: Path, files: dict[str, Any]) -> Archive:
    with tarfile.open(path, "w") as tar:
        for name, content in files.items():
            data = json.dumps(content).encode()
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return Archive(path)


def oci(path: Path) -> Archive:
    return pack(
        path,
        {
            "index.json": {"manifests": [{"digest": "sha256:m"}]},
            "blobs/sha256/m": {"config": {"digest": "sha256:c"}},
            "blobs/sha256/c": CONFIG,
        },
    )


def docker(path: Path) -> Archive:
    return pack(path, {"manifest.json": [{"Config": "c.json"}], "c.json": CONFIG})


@pytest.mark.parametrize(("make", "transport"), [(oci, OCI), (docker, DOCKER)])
def test_both_kinds_of_archive_are_read(make: Any, transport: str, tmp_path: Path) -> None:
    archive = make(tmp_path / "image.tar")
    assert archive.transport == transport
    assert archive.start() == Start(entrypoint=("tini",), user="401", labels={"a": "b"})


def test_what_is_no_archive_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_text("no")
    with pytest.raises(LocalError, match=r"x\.tar is no image archive"):
        Archive(tmp_path / "x.tar").start()


def test_an_archive_of_something_else_is_said(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match="it has no manifest"):
        pack(tmp_path / "x.tar", {"readme": "hello"}).start()
