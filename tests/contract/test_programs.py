"""The programs that were built: each runs, and is of the version that its go.mod pins."""

import subprocess
from pathlib import Path

import pytest

from windlass.local import binaries
from windlass.local.layout import Folders, sources
from windlass.local.progress import Display

ASK = {
    "coredns": ("coredns", "-version"),
    "etcd": ("etcd", "--version"),
    "helm": ("helm", "version"),
    "kubernetes": ("kubelet", "--version"),
    "kwok": ("kwok", "--version"),
}


@pytest.mark.parametrize("module", sorted(ASK))
def test_a_program_says_the_version_that_is_pinned(
    module: str, folders: Folders, display: Display
) -> None:
    program, *words = ASK[module]
    path: Path = binaries.ensure([module], folders.cache, display)[program]
    said = subprocess.run([path, *words], capture_output=True, text=True, check=True)
    recipe = binaries.MODULES[module]
    pinned = binaries.load(module, sources("binaries") / module, recipe).version
    assert pinned.removeprefix("v") in said.stdout + said.stderr
