"""What users of Slurm do, and its administrator."""

from tests.sim.judge import Mark
from tests.sim.stage import Stage
from windlass.testing.fake_calls import change_node
from windlass.testing.virtual import clock

REASONS = ("bad disk", "asked by Ann", "slow GPU")


def submit(stage: Stage) -> str | None:
    if stage.slurm.down:
        return None
    lasts = stage.rng.choice((2.0, 10.0, 40.0))
    nodes = stage.rng.choice((1, 1, 2))
    job = stage.slurmds.submit(nodes, lasts, clock())
    return f"user submits job {job} for {nodes} nodes, {lasts:g} s"


def drain(stage: Stage) -> str | None:
    return _mark(stage, "DRAIN")


def down(stage: Stage) -> str | None:
    return _mark(stage, "DOWN")


def _mark(stage: Stage, flag: str) -> str | None:
    name = stage.any(stage.slurm.cluster.nodes)
    if name is None or stage.slurm.down:
        return None
    return mark(stage, name, flag, stage.rng.choice(REASONS))


def mark(stage: Stage, name: str, flag: str, reason: str) -> str:
    node = stage.slurm.cluster.nodes[name]
    if flag == "DOWN":
        stage.slurmds.lose_jobs(name)
    change_node(stage.slurm.cluster, node, {"state": [flag], "reason": reason})
    stage.judge.marks[name] = Mark(flag, reason, clock())
    return f"administrator sets {name} to {flag}: {reason}"


def resume(stage: Stage) -> str | None:
    name = stage.any(stage.judge.marks)
    if name is None or stage.slurm.down:
        return None
    return resume_node(stage, name)


def resume_node(stage: Stage, name: str) -> str:
    del stage.judge.marks[name]
    node = stage.slurm.cluster.nodes.get(name)
    if node is None:
        return f"administrator finds {name} gone"
    if {"DRAIN", "DOWN"} & set(node.state or ()):
        change_node(stage.slurm.cluster, node, {"state": ["RESUME"]})
    return f"administrator resumes {name}"


def forget(stage: Stage) -> str | None:
    """A Slurm that lost a node's record, as after a restart without its state."""
    cluster = stage.slurm.cluster
    idle = (name for name, node in cluster.nodes.items() if "IDLE" in (node.state or ()))
    name = stage.any(name for name in idle if "COMPLETING" not in (cluster.nodes[name].state or ()))
    if name is None or stage.slurm.down:
        return None
    stage.slurmds.forget(name)
    stage.judge.marks.pop(name, None)
    return f"administrator deletes the record of {name}"
