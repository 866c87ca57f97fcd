"""Images onto nodes: sent through the node's own containerd, and not sent twice."""

import subprocess
from collections.abc import Iterable
from pathlib import Path

from windlass.local.errors import CommandFailed
from windlass.local.images import Image
from windlass.local.node import Node
from windlass.local.waiting import wait_for

_CTR = ("ctr", "--namespace=k8s.io")


def load_images(node: Node, images: Iterable[Image]) -> None:
    """Load what the node has not got yet."""
    done = _loaded(node)
    missing = [image for image in images if _mark(image.archive) not in done]
    if missing:
        wait_for(lambda: _answers(node), f"containerd of {node.name} answers", within=60)
    for image in missing:
        _import(node, image.archive)
        done.add(_mark(image.archive))
        _loaded_file(node).write_text("\n".join(sorted(done)))


def _import(node: Node, archive: Path) -> None:
    argv = node.enter(*_CTR, "images", "import", "--local", "-")
    with archive.open("rb") as content:
        done = subprocess.run(argv, stdin=content, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CommandFailed(argv, done.returncode, done.stderr)


def _answers(node: Node) -> bool:
    if node.init() is None:
        return False
    argv = node.enter(*_CTR, "version")
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _mark(archive: Path) -> str:
    """A name for an archive's content that costs no reading of it."""
    seen = archive.stat()
    return f"{archive.name} {seen.st_size} {seen.st_mtime_ns}"


def _loaded_file(node: Node) -> Path:
    return node.path / "loaded"


def _loaded(node: Node) -> set[str]:
    file = _loaded_file(node)
    return set(file.read_text().split("\n")) if file.exists() else set()
