"""What runs beside slurmctld, and whether both sides mean the same."""

import shutil
import subprocess
from pathlib import Path

import pytest

from windlass.inpod import reload
from windlass.operator.slurmctld import containers
from windlass.operator.slurmctld.configuration import Configuration
from windlass.operator.slurmctld.programs import programs


def test_the_programs_that_the_pod_runs_are_mounted() -> None:
    assert {"keeper.py", "logs.py", "reload.py"} <= programs().keys()
    assert programs()["reload.py"] == Path(reload.__file__).read_text()


@pytest.mark.parametrize(
    "files",
    [
        {"slurm.conf": "ClusterName=a\n"},
        {"slurm.conf": "é", "b": b"\xff\0", "a.sh": "#!"},
        {"slurm.conf": "x", "munge.key": "k", "jwks.json": "{}", "slurm.jwks": "j"},
    ],
)
def test_both_sides_call_the_same_files_by_the_same_name(files: dict[str, str | bytes]) -> None:
    raw = {
        name: content.encode() if isinstance(content, str) else content
        for name, content in files.items()
    }
    assert Configuration(files).fingerprint == reload.fingerprint(reload.conf_of(raw))


def test_an_image_without_python_prints_the_log_as_it_is(tmp_path: Path) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for tool in ("cat", "mkfifo", "rm", "sleep"):
        (tools / tool).symlink_to(str(shutil.which(tool)))
    fifo = tmp_path / "slurmctld.log"
    printing = subprocess.Popen(
        [str(shutil.which("sh")), "-c", containers.PRINT],
        env={"PATH": str(tools), "SOCKET": str(fifo)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert printing.stdout is not None
    with printing.stdout:
        while not fifo.is_fifo():
            assert printing.poll() is None
        fifo.write_text("one\n")
        assert printing.stdout.readline() == "one\n"
        fifo.write_text("two\n")
        assert printing.stdout.readline() == "two\n"
        printing.terminate()
        assert printing.wait(timeout=10) == 0
