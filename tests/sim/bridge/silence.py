"""Slurm does not answer: to nobody, since it is one for all clusters."""

from tests.sim.bridge.stage import Site
from windlass.testing.virtual import clock


def silence(site: Site) -> str | None:
    """slurmrestd away, slurmctld away, or both there and without an answer."""
    judge, slurm, sites = site.judge, site.slurm, site.stage.sites
    if judge.silent_since is not None:
        return None
    how = site.rng.choice(("cut", "down", "hung"))
    judge.silent_since = clock()
    slurm.cut, slurm.down = how == "cut", how == "down"
    for each in sites if how == "hung" else ():
        each.processes.hang()

    def end() -> str:
        judge.silent_since = None
        slurm.cut = slurm.down = False
        for each in sites:
            each.processes.unhang()
        return "Slurm answers again"

    site.later(site.rng.choice((2.0, 10.0, 45.0)), end)
    return f"Slurm is silent: {how}"
