"""What a cluster is made from: programs, images and the nodes' root, from the cache or made now."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from windlass.local import addons, binaries, debian, images
from windlass.local.errors import LocalError
from windlass.local.images import Image
from windlass.local.node import NodeParts
from windlass.local.progress import Display

MODULES = ("kubernetes", "etcd", "coredns", "local-path-provisioner", "pause")
IMAGES = ("pause", *addons.IMAGES)


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that `up` needs, on disk and verified."""

    programs: dict[str, Path]
    images: dict[str, Image]
    node_root: Path

    @property
    def node(self) -> NodeParts:
        pause = self.images["pause"]
        return NodeParts(
            lower=self.node_root,
            programs=self.programs["kubelet"].parent,
            images=pause.archive.parent,
            pause_reference=pause.reference,
            pause_archive=pause.archive,
        )

    @property
    def sent_to_nodes(self) -> list[Image]:
        """All but the pause image, which a node imports itself before kubelet needs it."""
        return [image for name, image in self.images.items() if name != "pause"]


def ensure(cache: Path, display: Display, extra_images: Sequence[str] = ()) -> Parts:
    """Have everything; Debian's part is fetched while Go compiles."""
    with ThreadPoolExecutor(2) as pool:
        root = pool.submit(debian.ensure, debian.NODE, cache, display)
        programs = pool.submit(binaries.ensure, MODULES, cache, display).result()
        made = images.ensure(IMAGES, cache, display, programs)
        for name in extra_images:
            try:
                made[name] = image(name, cache, display)
            except LocalError as lost:  # an archive of the user's that is no longer there
                display.say(f"left out: {lost}")
        return Parts(programs, made, root.result())


def image(name: str, cache: Path, display: Display, base: str | None = None) -> Image:
    """One image: a recipe of ours by its name, or an archive that the user has by its path."""
    if "/" in name:
        return archive(Path(name))
    return images.ensure([name], cache, display, _carried(name, cache, display), base)[name]


def rebuilt_image(name: str, cache: Path, display: Display) -> Image:
    return images.build(name, cache, display, _carried(name, cache, display))


def _carried(name: str, cache: Path, display: Display) -> dict[str, Path]:
    """The programs of a cluster, and those that only this image carries."""
    besides = {carried for carried in images.carried(name) if carried in binaries.MODULES}
    return binaries.ensure([*MODULES, *sorted(besides - {*MODULES})], cache, display)


def archive(path: Path) -> Image:
    if not path.is_file():
        raise LocalError(f"there is no image archive {path}")
    return Image(str(path), str(path), path.resolve())
