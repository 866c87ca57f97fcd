"""Builds images again, in a cache of their own, and says which came out with other bits.

    uv run python -m tools.same_images [NAME...]

All that they are built on is built again, too, so it takes minutes. With no NAME: every daemon, and
Windlass. Needs root. Ends with 1 if one differs, and names the files that do.
"""

import hashlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from windlass.cli.image_contract import ROLES
from windlass.local import images
from windlass.local.archives import Archive
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.mains import windlass

SHOWN: Final = 20


def main(names: Sequence[str], folders: Folders, display: Display) -> int:
    folders.cache.mkdir(parents=True, exist_ok=True)
    differ = []
    with tempfile.TemporaryDirectory(prefix="again-", dir=folders.cache) as again:
        for name in names:
            first, second = (
                Archive(images.ensure([name], cache, display, {})[name].archive)
                for cache in (folders.cache, Path(again))
            )
            same = first.digest() == second.digest()
            print(f"{name}: {'the same' if same else 'not the same'}: {first.digest()}", flush=True)
            if not same:
                differ.append(name)
                roots = (first.root(Path(again), display), second.root(Path(again), display))
                for path in list(differences(*roots))[:SHOWN]:
                    print(f"  {path}", flush=True)
    return 1 if differ else 0


def differences(first: Path, second: Path) -> Iterator[str]:
    """The paths that are not the same below both."""
    one, other = contents(first), contents(second)
    return (path for path in sorted(one.keys() | other.keys()) if one.get(path) != other.get(path))


def contents(root: Path) -> dict[str, tuple[object, ...]]:
    return {str(path.relative_to(root)): entry(path) for path in root.rglob("*")}


def entry(path: Path) -> tuple[object, ...]:
    found = path.lstat()
    what: object = None
    if path.is_symlink():
        what = path.readlink()
    elif path.is_file():
        what = hashlib.sha256(path.read_bytes()).hexdigest()
    return found.st_mode, found.st_uid, found.st_gid, int(found.st_mtime), what


if __name__ == "__main__":
    names = sys.argv[1:] or [*ROLES, "windlass"]
    sys.exit(main(names, windlass.folders(), Display(Console(stderr=True))))
