"""What a worker says to Slurm when its pod stops, on a real one."""

from collections.abc import Iterator

import pytest

from windlass.operator.workers.slurmd import GONE, SAY_DOWN
from windlass.testing.slurm import RealSlurm

NODE = "goodbye-0"


@pytest.fixture
def node(slurm: RealSlurm) -> Iterator[str]:
    line = (f"NodeName={NODE}", "CPUs=4", "State=EXTERNAL", "NodeAddr=127.0.0.1")
    slurm.scontrol("create", *line)
    yield NODE
    slurm.scontrol("delete", f"NodeName={NODE}")


@pytest.mark.parametrize(
    ("state", "given", "stays"),
    [
        (None, "", GONE),
        ("DRAIN", "slurm-operator: NodeSet (hpc/w) scales in", GONE),
        ("DRAIN", "bad disk [see #7] 'sda'", "bad disk [see #7] 'sda'"),
        ("DOWN", "asked by Ann", "asked by Ann"),
    ],
)
def test_its_node_is_down_and_the_reason_of_others_stays(
    slurm: RealSlurm, node: str, state: str | None, given: str, stays: str
) -> None:
    if state:
        slurm.scontrol("update", f"NodeName={node}", f"State={state}", f"Reason={given}")

    slurm.inside("sh", "-c", f"hostname() {{ echo {node}; }}\n{SAY_DOWN}")

    shown = slurm.scontrol("show", "node", node)
    assert "State=DOWN" in shown
    assert ("+DRAIN" in shown) == (state == "DRAIN")
    assert f"Reason={stays} [" in shown
