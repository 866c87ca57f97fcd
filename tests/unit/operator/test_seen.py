"""Which jobs hold which nodes and name which partitions, as jobs come, change and go."""

from windlass.operator.slurms.seen import Occupancy
from windlass.slurm.model import Job
from windlass.slurm.table import Change
from windlass.values.states import JobState


def job(state: str, partition: str, nodes: str = "") -> Job:
    return Job(id=7, state=JobState.parse(state), partition=partition, nodes=nodes)


def names(of: dict[str, dict[str, Job]]) -> dict[str, list[str]]:
    return {name: sorted(jobs) for name, jobs in of.items()}


def test_a_job_names_its_partitions_until_it_has_ended() -> None:
    known = Occupancy()
    waiting, running = job("PENDING", "w,all"), job("RUNNING", "w", "w-[0-1]")
    assert known.take(Change("7", None, waiting)) == frozenset()
    assert names(known.by_partition) == {"w": ["7"], "all": ["7"]}

    assert known.take(Change("7", waiting, running)) == {"w-0", "w-1"}
    assert names(known.by_partition) == {"w": ["7"]}
    assert names(known.by_node) == {"w-0": ["7"], "w-1": ["7"]}

    ended = job("COMPLETED", "w", "w-[0-1]")
    assert known.take(Change("7", running, ended)) == {"w-0", "w-1"}
    assert (known.by_node, known.by_partition) == ({}, {})
