"""The REST API's versions, and everything that differs between them, in one table.

Slurm adds a version with each release and keeps about four. They are read alike, since fields are
only added; what an old one cannot do is listed here. Nothing above the codec knows versions.
"""

from enum import Enum, IntEnum
from typing import Final


class Version(IntEnum):
    """A data parser of slurmrestd."""

    V42 = 42  # Slurm 24.11
    V43 = 43  # Slurm 25.05
    V44 = 44  # Slurm 25.11
    V45 = 45  # Slurm 26.05

    @property
    def path(self) -> str:
        return f"v0.0.{self.value}"


NEWEST_FIRST: Final = tuple(sorted(Version, reverse=True))


class Feature(Enum):
    """What not every version can do, as a person would say it."""

    CREATE_NODES = "create nodes"
    SET_TOPOLOGY = "set the topology of a node"
    WRITE_PARTITIONS = "create, change and delete partitions"
    WRITE_RESERVATIONS = "create and change reservations"
    JOB_RESOURCES = "read the resources of a job"
    REQUEUE = "requeue jobs"
    READ_CONF = "read slurm.conf"
    EXTERNAL_JOBS = "submit external jobs"


SINCE: Final = {
    Feature.SET_TOPOLOGY: Version.V43,
    Feature.WRITE_RESERVATIONS: Version.V43,
    Feature.EXTERNAL_JOBS: Version.V43,
    Feature.CREATE_NODES: Version.V44,
    Feature.JOB_RESOURCES: Version.V44,
    Feature.WRITE_PARTITIONS: Version.V45,
    Feature.REQUEUE: Version.V45,
    Feature.READ_CONF: Version.V45,
}


def has(version: Version, feature: Feature) -> bool:
    return version >= SINCE[feature]
