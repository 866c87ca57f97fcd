"""What a cluster leaves on a machine: found by its name alone, with no record to go by."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from windlass.local import network
from windlass.local.cgroups import Cgroups
from windlass.local.making import remove
from windlass.local.process import run
from windlass.local.record import ClusterFolder


@dataclass(frozen=True, slots=True)
class Remains:
    """Everything of a cluster that is on the machine; empty after `down`."""

    processes: list[int]
    mounts: list[str]
    links: list[str]
    rules: list[str]
    cgroups: list[str]
    folder: list[str]

    def any(self) -> bool:
        return any(getattr(self, kind) for kind in self.__slots__)


def find(folder: ClusterFolder, cgroups: Cgroups) -> Remains:
    prefix = folder.link_prefix
    return Remains(
        processes=cgroups.processes(folder.cgroup),
        mounts=_mounts_below(folder.path),
        links=sorted(network.links(prefix)),
        rules=[" ".join(rule) for _, rule in network.rules_naming(prefix)],
        cgroups=[str(path) for path in cgroups.remains(folder.cgroup)],
        folder=[str(folder.path)] if folder.path.exists() else [],
    )


def clear(folder: ClusterFolder, cgroups: Cgroups) -> None:
    """End and remove everything of a cluster, whatever state it is in."""
    cgroups.kill(folder.cgroup)
    network.remove(folder.link_prefix)
    cgroups.remove(folder.cgroup)
    for mount in reversed(_mounts_below(folder.path)):
        run(["umount", "--lazy", mount])
    if folder.path.exists():
        _remove_tree(folder.path)


def _mounts_below(path: Path) -> list[str]:
    mounts = (line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines())
    points = (mount.encode().decode("unicode_escape") for mount in mounts)
    return [point for point in points if f"{point}/".startswith(f"{path}{os.sep}")]


def _remove_tree(path: Path) -> None:
    """Several at once, as a node has thousands of files.

    The record goes last: a removal that is cut short is still known as a cluster.
    """
    others = [part for part in path.iterdir() if part.name not in ("nodes", "cluster.json")]
    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(remove, part) for part in (*path.glob("nodes/*"), *others)]:
            done.result()
    remove(path)
