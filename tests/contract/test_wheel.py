"""The wheel, as somebody without a checkout installs it."""

import os
import subprocess
import zipfile
from pathlib import Path

TOP = Path(__file__).parents[2]


def test_it_carries_what_a_local_cluster_is_made_from(tmp_path: Path) -> None:
    uv = os.environ.get("UV", "uv")  # set by `uv run`
    subprocess.run([uv, "build", "--wheel", "--quiet", "-o", tmp_path, TOP], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for kind, file in (
        ("binaries", "go.mod"),
        ("images", "Containerfile"),
        ("charts", "Chart.yaml"),
    ):
        for folder in (TOP / kind).iterdir():
            assert f"windlass/local/sources/{kind}/{folder.name}/{file}" in names
    assert "windlass/local/boot.sh" in names
    assert "windlass/local/manifests/dns.yaml" in names
