"""What slurmctld does by itself: it starts jobs, ends those whose time is over, and forgets."""

from dataclasses import dataclass
from typing import Final

from tests.sim.transcript import Transcript
from windlass.testing.fake_allocation import FakeJob
from windlass.testing.fake_slurm import FakeSlurm

URGENT: Final = 1000
"""Jobs of this priority preempt others."""
MIN_JOB_AGE: Final = 150


@dataclass
class Slurmctld:
    slurm: FakeSlurm
    transcript: Transcript

    def tick(self) -> None:
        if self.slurm.down:
            return
        cluster, now = self.slurm.cluster, self.slurm.cluster.now()
        for job in list(cluster.jobs.values()):
            running, over = job.job_state == ["RUNNING"], job.end_time
            if running and over.set and over.number <= now:
                self.end(job, "TIMEOUT")
            elif not running and job.job_state != ["PENDING"]:
                self._forget(job, now)
        self._start()
        for job in [job for job in self._waiting() if job.priority.number >= URGENT]:
            self._preempt(job)

    def end(self, job: FakeJob, state: str) -> None:
        self.slurm.cluster.end(job, state)
        self.transcript.say("slurmctld", f"job {job.job_id} is {state}")

    def _waiting(self) -> list[FakeJob]:
        jobs = self.slurm.cluster.jobs.values()
        return [job for job in jobs if job.job_state == ["PENDING"] and not job.hold]

    def _forget(self, job: FakeJob, now: float) -> None:
        if job.end_time.number + MIN_JOB_AGE < now:
            del self.slurm.cluster.jobs[job.job_id]
            self.slurm.cluster.touch("jobs")

    def _start(self) -> None:
        for job in self.slurm.cluster.look():
            self.transcript.say("slurmctld", f"job {job.job_id} starts on {job.nodes}")

    def _preempt(self, job: FakeJob) -> None:
        """As few as make room for it, if there are any."""
        running = [
            each
            for each in self.slurm.cluster.jobs.values()
            if each.job_state == ["RUNNING"] and each.priority.number < job.priority.number
        ]
        for count in range(1, len(running) + 1):
            if self.slurm.cluster.room(job, without=running[:count]):
                for victim in running[:count]:
                    self.end(victim, "PREEMPTED")
                self._start()
                return
