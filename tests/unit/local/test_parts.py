from pathlib import Path

from windlass.local.images import Image
from windlass.local.parts import Parts


def image(name: str) -> Image:
    return Image(name, f"localhost/windlass/{name}:1", Path(f"/cache/images/{name}.tar"))


def test_the_pause_image_is_the_nodes_own_matter_so_that_nobody_else_imports_it_meanwhile() -> None:
    images = {name: image(name) for name in ("pause", "coredns", "slurm")}
    made = Parts({"kubelet": Path("/cache/kubelet")}, images, Path("/cache/root"))

    assert [sent.name for sent in made.sent_to_nodes] == ["coredns", "slurm"]
    assert made.node.pause_archive == images["pause"].archive
