"""slurmctld's dealings with slurmd: nodes register and vanish, jobs start, end and are lost."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tests.sim.transcript import Transcript
from windlass.slurm.wire import WireNode
from windlass.testing.fake_allocation import FakeJob
from windlass.testing.fake_calls import change_job
from windlass.testing.fake_cluster import number
from windlass.testing.fake_slurm import FakeSlurm
from windlass.values.hostlist import expand

OURS: Final = "slurm-operator: "
CPUS: Final = 4
SLURMD_TIMEOUT: Final = 20.0
NOT_RESPONDING: Final = "Not responding"
NO_JOBS: Final = frozenset({"DRAIN", "DOWN", "MAINTENANCE", "NOT_RESPONDING"})


@dataclass
class Slurmds:
    slurm: FakeSlurm
    transcript: Transcript
    rng: Random
    _pods: dict[str, str] = field(default_factory=dict)
    """By the name of a node, the uid of the pod whose slurmd answers for it."""
    _silent: dict[str, float] = field(default_factory=dict)
    """Nodes whose slurmd has gone without a word, and when slurmctld will notice."""
    _ends: dict[int, float] = field(default_factory=dict)
    _inside: dict[int, frozenset[str]] = field(default_factory=dict)
    """The pods that a job runs in."""
    _started: dict[int, float] = field(default_factory=dict)
    _completing: dict[int, float] = field(default_factory=dict)

    @property
    def answers(self) -> bool:
        return not self.slurm.down

    # --- what is true ------------------------------------------------------------------------

    def jobs_in(self, uid: str) -> list[int]:
        """The jobs that would be hurt if this pod went: running ones, and those that clean up."""
        running = [job.job_id for job in self._running() if uid in self._inside[job.job_id]]
        return [*running, *(job for job in self._completing if uid in self._inside[job])]

    def started(self, job: int) -> float:
        return self._started[job]

    def _running(self) -> Iterator[FakeJob]:
        return (job for job in self.slurm.cluster.jobs.values() if job.job_state == ["RUNNING"])

    @property
    def busy(self) -> bool:
        return bool(self._completing) or any(self._running())

    # --- slurmd ------------------------------------------------------------------------------

    def register(self, name: str, uid: str, **fields: Any) -> None:
        """ReturnToService=2: a node that was down is up again; a drain stays, with its reason.

        What else slurmd says of its node, slurmctld hears only when that joins for the first time.
        """
        cluster = self.slurm.cluster
        if name in cluster.nodes:
            fields = {}
        node = cluster.nodes.get(name) or WireNode(name=name, state=["IDLE", "DYNAMIC_NORM"])
        words = [word for word in node.state or () if word not in ("DOWN", "NOT_RESPONDING")]
        node.state = words if "IDLE" in words else ["IDLE", *words]
        if "DRAIN" not in words:
            node.reason = ""
        node.hostname = node.address = name
        node.cpus, node.partitions = CPUS, ["all"]
        node.slurmd_start_time = number(int(cluster.now()))
        for field_, value in fields.items():
            setattr(node, field_, value)
        cluster.nodes[name] = node
        self._pods[name] = uid
        self._silent.pop(name, None)
        cluster.settle(name)
        self.transcript.say("slurmd", f"{name} registers")

    def say_down(self, name: str, reason: str) -> None:
        """What preStop does: scontrol update state=down; the reason of somebody else stays."""
        cluster = self.slurm.cluster
        if name not in cluster.nodes or not self.answers:
            return
        node = cluster.nodes[name]
        node.state = ["DOWN", *(word for word in node.state or () if not _base(word))]
        if not node.reason or node.reason.startswith(OURS):
            node.reason = reason
        self.lose_jobs(name)
        cluster.touch("nodes")
        self.transcript.say("preStop", f"{name} is down: {node.reason}")

    def vanish(self, name: str, uid: str, now: float) -> None:
        """Its slurmd is gone, and nobody has told slurmctld unless it is down already."""
        if self._pods.get(name) == uid:
            del self._pods[name]
            self._silent[name] = now + SLURMD_TIMEOUT

    def forget(self, name: str) -> None:
        """slurmctld loses a record, as after a delete by hand."""
        del self.slurm.cluster.nodes[name]
        self._pods.pop(name, None)
        self.slurm.cluster.touch("nodes", "partitions")

    # --- jobs --------------------------------------------------------------------------------

    def submit(self, nodes: int, lasts: float, now: float) -> int:
        job = self.slurm.cluster.new_job()
        wanted = {"nodes": nodes, "cpus_per_task": self.rng.choice((1, CPUS))}
        change_job(job, {**wanted, "time_limit": {"set": True, "number": lasts // 60 + 1}})
        self._ends[job.job_id] = lasts
        self._schedule(job, now)
        return job.job_id

    def finish_all(self, now: float) -> None:
        for job in self._running():
            self._ends[job.job_id] = min(self._ends[job.job_id], now + 5)
        for job in self.slurm.cluster.jobs.values():
            if job.job_state == ["PENDING"]:
                self.slurm.cluster.end(job, "CANCELLED")

    def lose_jobs(self, name: str) -> None:
        for job in self.slurm.cluster.users_of(name):
            self.slurm.cluster.end(job, "NODE_FAIL")
            self.transcript.say("slurmctld", f"job {job.job_id} is lost with {name}")

    def tick(self, now: float) -> None:
        if not self.answers:
            return
        self._look(now)
        for job in [job for job in self._running() if self._ends[job.job_id] <= now]:
            self._end(job, now)
        for ended in [job for job, until in self._completing.items() if until <= now]:
            self._completed(ended)
        for job in self.slurm.cluster.jobs.values():
            if job.job_state == ["PENDING"]:
                self._schedule(job, now)

    def _look(self, now: float) -> None:
        """For nodes whose slurmd does not answer: also such as were resumed without one."""
        for name, node in self.slurm.cluster.nodes.items():
            if name not in self._pods and "DOWN" not in (node.state or ()):
                self._silent.setdefault(name, now + SLURMD_TIMEOUT)
        for name in [name for name, when in self._silent.items() if when <= now]:
            self._notice(name)

    def _notice(self, name: str) -> None:
        del self._silent[name]
        node = self.slurm.cluster.nodes.get(name)
        if node is None:
            return
        self.lose_jobs(name)
        words = [word for word in node.state or () if not _base(word) and word != "NOT_RESPONDING"]
        if not node.reason:
            node.reason = NOT_RESPONDING
        node.state = ["DOWN", *words, "NOT_RESPONDING"]
        self.slurm.cluster.touch("nodes")
        self.transcript.say("slurmctld", f"{name} does not respond")

    def _schedule(self, job: FakeJob, now: float) -> None:
        usable = [
            name
            for name, node in self.slurm.cluster.nodes.items()
            if name in self._pods and NO_JOBS.isdisjoint(node.state or ())
        ]
        if len(usable) < job.node_count.number:
            return
        self.slurm.cluster.place(job, usable)
        if job.job_state != ["RUNNING"]:
            return
        names = expand(job.nodes)
        self._inside[job.job_id] = frozenset(self._pods[name] for name in names)
        self._started[job.job_id] = now
        self._ends[job.job_id] += now
        self.slurm.cluster.touch("jobs")
        self.transcript.say("slurmctld", f"job {job.job_id} starts on {','.join(names)}")

    def _end(self, job: FakeJob, now: float) -> None:
        """A job that ended is cleaned up for a while: its nodes complete."""
        self.slurm.cluster.finish(job.job_id)
        self._completing[job.job_id] = now + self.rng.choice((0.0, 0.5, 3.0))
        for name in expand(job.nodes):
            self._flag(name, completing=True)
        self.transcript.say("slurmctld", f"job {job.job_id} ends")

    def _completed(self, job: int) -> None:
        del self._completing[job]
        for name in expand(self.slurm.cluster.jobs[job].nodes):
            others = (expand(self.slurm.cluster.jobs[each].nodes) for each in self._completing)
            if not any(name in names for names in others):
                self._flag(name, completing=False)

    def _flag(self, name: str, *, completing: bool) -> None:
        node = self.slurm.cluster.nodes.get(name)
        if node is not None:
            words = [word for word in node.state or () if word != "COMPLETING"]
            down = "DOWN" in words
            node.state = [*words, "COMPLETING"] if completing and not down else words
            self.slurm.cluster.touch("nodes")


def _base(word: str) -> bool:
    return word in ("IDLE", "MIXED", "ALLOCATED", "DOWN", "UNKNOWN", "COMPLETING")
