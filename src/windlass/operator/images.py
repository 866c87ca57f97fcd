"""The images of daemons whose custom resource names none."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Images:
    slurmctld: str = "localhost/windlass/slurmctld:26.05"
    slurmd: str = "localhost/windlass/slurmd:26.05"
    slurmdbd: str = "localhost/windlass/slurmdbd:26.05"
    slurmrestd: str = "localhost/windlass/slurmrestd:26.05"
    login: str = "localhost/windlass/login:26.05"
