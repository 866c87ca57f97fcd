"""How slurmctld goes through its queue, as the configuration says that it runs with. Pure."""

from typing import Final

from windlass.slurm.model import Conf

EVERY_SECOND: Final = "sched_interval=1"


def looks_every_second(conf: Conf) -> bool:
    """Whether it looks at all that waits once a second, whatever else happens."""
    words = conf.values.get("SchedulerParameters")
    return isinstance(words, list) and EVERY_SECOND in map(str.lower, words)
