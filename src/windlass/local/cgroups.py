"""The cgroups of a cluster: every process of it is below one path, so none can be missed.

On cgroup v1 the path exists in every hierarchy, on v2 in the one. Nodes hold `<node>/system` for
their own daemons and `<node>/kubepods` for pods, because v2 wants processes in leaves only. Groups
of the machine itself are never changed, except that v2 delegates controllers from the root down.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from windlass.local.errors import LocalError
from windlass.local.waiting import wait_for


@dataclass(frozen=True, slots=True)
class Cgroups:
    """The mounted hierarchies of this machine."""

    v1: tuple[Path, ...]
    v2: Path | None
    unified: bool
    """True where v2 is the only one and holds the controllers."""

    def hierarchies(self) -> tuple[Path, ...]:
        return self.v1 if self.v2 is None else (*self.v1, self.v2)

    def tracking(self) -> Path:
        """The hierarchy whose membership tells which processes are ours."""
        if self.unified:
            assert self.v2 is not None
            return self.v2
        by_name = {path.name: path for path in self.v1}
        return by_name.get("pids") or self.v1[0]

    def make(self, path: str) -> None:
        for hierarchy in self.hierarchies():
            self._make_in(hierarchy, path)

    def _make_in(self, hierarchy: Path, path: str) -> None:
        folder = hierarchy
        for part in Path(path).parts:
            if self.unified:
                _delegate(folder)
            parent, folder = folder, folder / part
            folder.mkdir(exist_ok=True)
            _copy_cpuset(parent, folder)

    def entry(self, path: str) -> Path:
        """The file to write a process number to, so that it and its children are counted."""
        return self.tracking() / path / "cgroup.procs"

    def processes(self, path: str) -> list[int]:
        found: set[int] = set()
        for folder in _tree(self.tracking() / path):
            with contextlib.suppress(FileNotFoundError, OSError):
                found.update(int(word) for word in (folder / "cgroup.procs").read_text().split())
        return sorted(found - {0})

    def kill(self, path: str) -> None:
        """End every process below a path at once and wait until they are gone."""

        def empty() -> bool:
            left = self.processes(path)
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return not left

        wait_for(empty, f"processes of {path} end", within=30, every=0.05)

    def remove(self, path: str) -> None:
        """Remove the groups below a path, and empty parents of ours above it."""

        def gone() -> bool:
            for hierarchy in self.hierarchies():
                for folder in reversed(list(_tree(hierarchy / path))):
                    with contextlib.suppress(OSError):
                        folder.rmdir()
            return not self.remains(path)

        wait_for(gone, f"cgroups of {path} go away", within=10, every=0.05)
        for hierarchy in self.hierarchies():
            for parent in Path(path).parents:
                if parent != Path():
                    with contextlib.suppress(OSError):
                        (hierarchy / parent).rmdir()

    def remains(self, path: str) -> list[Path]:
        return [hierarchy / path for hierarchy in self.hierarchies() if (hierarchy / path).exists()]


def find_cgroups(mounts: str) -> Cgroups:
    """Read the hierarchies from the text of /proc/self/mounts."""
    v1: list[Path] = []
    v2: Path | None = None
    for line in mounts.splitlines():
        _, point, kind, *_ = line.split()
        if kind == "cgroup":
            v1.append(Path(point))
        elif kind == "cgroup2":
            v2 = Path(point)
    if not v1 and v2 is None:
        raise LocalError("no cgroup hierarchy is mounted; mount cgroup2 at /sys/fs/cgroup")
    return Cgroups(tuple(v1), v2, unified=not v1)


def _tree(top: Path) -> Iterator[Path]:
    """A folder and all below it, parents first; what vanishes meanwhile is passed over."""
    if not top.is_dir():
        return
    yield top
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(top):
            if entry.is_dir(follow_symlinks=False):
                yield from _tree(Path(entry.path))


def _copy_cpuset(parent: Path, folder: Path) -> None:
    """A v1 cpuset is born empty and takes no process until it has CPUs and memory nodes."""
    for name in ("cpuset.cpus", "cpuset.mems"):
        if (folder / name).exists() and not (folder / name).read_text().strip():
            (folder / name).write_text((parent / name).read_text())


def _delegate(folder: Path) -> None:
    controllers = (folder / "cgroup.controllers").read_text().split()
    for controller in controllers:
        with contextlib.suppress(OSError):
            (folder / "cgroup.subtree_control").write_text(f"+{controller}")
