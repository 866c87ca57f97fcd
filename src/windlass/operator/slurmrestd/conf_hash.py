"""What of slurm.conf slurmrestd reads for itself; of nodes and partitions slurmctld tells it."""

from typing import Final

from windlass.operator.hashes import digest
from windlass.slurm.conf import SLURM_CONF, Broken, Document, Include, Parameter, Record, parse

# Changes with every NodeSet: no reason to start slurmrestd again.
TOLD: Final = frozenset({"nodename", "nodeset", "partitionname", "downnodes"})


def conf_hash(text: str) -> str:
    """Changes when slurmrestd must be started again to know it."""
    try:
        document = parse(text, SLURM_CONF)
    except Broken:
        return digest(text)
    return digest(str(Document(tuple(line for line in document.lines if _is_read(line)))))


def includes(text: str) -> bool:
    """Whether slurm.conf cannot be read without other files."""
    try:
        return any(isinstance(line, Include) for line in parse(text, SLURM_CONF).lines)
    except Broken:
        return False


def _is_read(line: object) -> bool:
    if isinstance(line, Record):
        return line.name.key.lower() not in TOLD
    return isinstance(line, Parameter | Include)
