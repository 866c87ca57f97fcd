"""What other users of Slurm do, and its administrator."""

from typing import Final

from tests.sim.bridge.stage import Site
from windlass.bridge import marker
from windlass.bridge.gang import GangKey
from windlass.bridge.marker import Marker
from windlass.testing.fake_allocation import FakeJob
from windlass.testing.fake_calls import change_job, change_node
from windlass.testing.fake_cluster import number
from windlass.testing.virtual import clock

REASONS: Final = ("bad disk", "asked by Ann")


def _bridged(site: Site, *states: str) -> list[FakeJob]:
    """Jobs of this cluster's bridge."""
    jobs = site.slurm.cluster.jobs.values()
    marks = ((job, marker.read(job.admin_comment)) for job in jobs)
    return [
        job
        for job, mark in marks
        if mark and mark.cluster == site.name and (job.job_state or [""])[0] in states
    ]


def submit(site: Site) -> str | None:
    """Somebody else's job, which may look as if it were ours."""
    if site.slurm.down:
        return None
    pod = site.any(site.pods) or "p1"
    theirs = Marker("red", GangKey("Pod", "team", pod), "red-uid").write()
    comment = site.rng.choice(("", f'{{"pods": ["team/{pod}"]}}', theirs))
    job = site.slurm.cluster.new_job()
    job.partition = "all"
    cpus, lasts = site.rng.choice((1, 2, 4)), site.rng.choice((3.0, 15.0))
    change_job(job, {"name": "other", "admin_comment": comment, "cpus_per_task": cpus})
    job.priority = number(site.rng.choice((1, 10, 2000)))

    def end() -> str:
        if job.job_state in (["PENDING"], ["RUNNING"]):
            site.slurm.cluster.end(job, "COMPLETED")
        return f"job {job.job_id} of somebody else is over"

    site.later(lasts, end)
    return f"submits job {job.job_id} of {cpus} CPUs with priority {job.priority.number:g}"


def cancel(site: Site) -> str | None:
    jobs = _bridged(site, "RUNNING", "RUNNING", "PENDING")
    if not jobs or site.slurm.down:
        return None
    job, state = site.rng.choice(jobs), site.rng.choice(("CANCELLED", "CANCELLED", "NODE_FAIL"))
    if job.job_state == ["PENDING"]:
        state = "CANCELLED"
    site.slurm.cluster.end(job, state)
    return f"has job {job.job_id} {state}"


def hold(site: Site) -> str | None:
    jobs = _bridged(site, "PENDING")
    if not jobs or site.slurm.down:
        return None
    job = site.rng.choice(jobs)
    job.hold = True
    site.slurm.cluster.touch("jobs")

    def end() -> str:
        job.hold = False
        site.slurm.cluster.touch("jobs")
        return f"job {job.job_id} is released"

    site.later(site.rng.choice((3.0, 20.0)), end)
    return f"holds job {job.job_id}"


def drain(site: Site) -> str | None:
    cluster = site.slurm.cluster
    free = (name for name, node in cluster.nodes.items() if "DRAIN" not in (node.state or ()))
    name = site.any(free)
    if name is None or site.slurm.down:
        return None
    reason = site.rng.choice(REASONS)
    change_node(cluster, cluster.nodes[name], {"state": ["DRAIN"], "reason": reason})
    site.judge.marks[name] = (reason, clock())
    return f"drains {name}: {reason}"


def resume(site: Site) -> str | None:
    name = site.any(site.judge.marks)
    if name is None or site.slurm.down:
        return None
    return resume_node(site, name)


def resume_node(site: Site, name: str) -> str:
    reason, _ = site.judge.marks.pop(name)
    node = site.slurm.cluster.nodes.get(name)
    if node is not None and node.reason == reason and "DRAIN" in (node.state or ()):
        change_node(site.slurm.cluster, node, {"state": ["UNDRAIN"]})
    return f"resumes {name}"


def forget(site: Site) -> str | None:
    """A record of a node is deleted by hand."""
    cluster = site.slurm.cluster
    idle = (name for name, node in cluster.nodes.items() if not cluster.users_of(name))
    name = site.any(idle)
    if name is None or site.slurm.down:
        return None
    del cluster.nodes[name]
    cluster.touch("nodes", "partitions")
    site.judge.marks.pop(name, None)
    return f"deletes the record of {name}"
