"""Our durations beside Slurm's own, as time limits of a partition."""

import pytest

from windlass.local.errors import CommandFailed
from windlass.testing.slurm import RealSlurm
from windlass.values.duration import Duration
from windlass.values.malformed import Malformed

PARTITION = "PartitionName=durations"


def kept(slurm: RealSlurm, limit: str) -> str:
    slurm.scontrol("update", PARTITION, f"MaxTime={limit}")
    shown = slurm.scontrol("show", "partition", "durations", "--oneliner")
    return next(word for word in shown.split() if word.startswith("MaxTime=")).partition("=")[2]


@pytest.fixture(scope="module", autouse=True)
def partition(slurm: RealSlurm) -> None:
    slurm.scontrol("create", PARTITION)


@pytest.mark.parametrize(
    "text",
    [
        "90",
        "90:00",
        "90:30",
        "02:03",
        "1-02:03:04",
        "1-02",
        "1-02:03",
        "1:2:3",
        "26:03:04",
        "0",
        "00:00:01",
        "1-30",
        "100:61:61",
        "366-0",
        "UNLIMITED",
        "infinite",
        "-1",
    ],
)
def test_slurm_reads_and_prints_durations_as_we_do(slurm: RealSlurm, text: str) -> None:
    minutes = Duration.parse(text).minutes
    ours = "UNLIMITED" if minutes is None else str(Duration.of_minutes(minutes))
    assert kept(slurm, text) == ours


@pytest.mark.parametrize("text", ["abc", "5m", "1.5", "1:", ":1", "1-1-1", "1:2:3:4", "+5", "NONE"])
def test_what_slurm_refuses_we_refuse(slurm: RealSlurm, text: str) -> None:
    with pytest.raises(CommandFailed):
        kept(slurm, text)
    with pytest.raises(Malformed):
        Duration.parse(text)
