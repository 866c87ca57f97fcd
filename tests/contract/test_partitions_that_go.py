"""What a real slurmctld does to jobs whose partition leaves slurm.conf: why NodeSets wait."""

from collections.abc import Callable

from windlass.local.waiting import wait_for
from windlass.testing.slurm import RealSlurm

LINES = "NodeSet=gone Feature=gone\nPartitionName=gone Nodes=gone State={}\n"
NODE = ("NodeName=g-0", "CPUs=4", "RealMemory=1000", "Features=gone")


def sbatch(slurm: RealSlurm, *words: str) -> str:
    """The number of a job."""
    command = " ".join(("sbatch", "--parsable", *words))
    return slurm.inside("sh", "-c", f"cd /tmp; {command}").split()[-1]


def states(slurm: RealSlurm) -> dict[str, str]:
    """By the number of a job: its state, and its partitions."""
    said = slurm.inside("squeue", "--all", "--states=all", "--noheader", "--format=%i %T %P")
    return {job: f"{state} {where}" for job, state, where in map(str.split, said.splitlines())}


def reconfigure(slurm: RealSlurm, before: str, after: str) -> None:
    conf = slurm.folder / "etc" / "slurm.conf"
    conf.write_text(conf.read_text().replace(before, after))
    slurm.scontrol("reconfigure")
    wait_for(lambda: bool(states(slurm)), "slurmctld is back", within=20)


def test_jobs_live_on_in_an_inactive_partition_and_die_with_a_removed_one(
    slurm_with: Callable[[str], RealSlurm],
) -> None:
    slurm = slurm_with(LINES.format("UP"))
    slurm.scontrol("create", *NODE, "State=EXTERNAL", "NodeAddr=127.0.0.1")
    running = sbatch(slurm, "--external", "--partition=gone", "--ntasks=1")
    wait_for(lambda: states(slurm)[running] == "RUNNING gone", "the job runs", within=20)
    waiting = sbatch(slurm, "--partition=gone", "--hold", "--wrap=true")
    either = sbatch(slurm, "--partition=all,gone", "--hold", "--wrap=true")

    reconfigure(slurm, LINES.format("UP"), LINES.format("INACTIVE"))
    assert states(slurm) == {
        running: "RUNNING gone",
        waiting: "PENDING gone",
        either: "PENDING all,gone",
    }

    reconfigure(slurm, LINES.format("INACTIVE"), "")
    assert states(slurm) == {
        running: "NODE_FAIL gone",
        waiting: "NODE_FAIL gone",
        either: "PENDING all",
    }
