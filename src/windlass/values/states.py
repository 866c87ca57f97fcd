"""What Slurm says of a node or a job: one base state and any number of flags.

REST gives a list of words, scontrol joins them with +, sinfo shortens them to one word and a
sign; all are read here. A word that is not known is kept as a flag: the next Slurm may say it.

>>> state = NodeState.parse(["IDLE", "DRAIN", "NOT_RESPONDING"])
>>> state.base, state.drained, state.not_responding
('IDLE', True, True)
>>> print(NodeState.parse("mixed-drain"), JobState.parse("RUNNING").ended)
MIXED+DRAIN False
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

NODE_BASES: Final = ("ALLOCATED", "DOWN", "ERROR", "FUTURE", "IDLE", "MIXED", "UNKNOWN")
JOB_BASES: Final = (
    "PENDING",
    "RUNNING",
    "SUSPENDED",
    "COMPLETED",
    "CANCELLED",
    "FAILED",
    "TIMEOUT",
    "NODE_FAIL",
    "PREEMPTED",
    "BOOT_FAIL",
    "DEADLINE",
    "OUT_OF_MEMORY",
)
_ALIVE: Final = frozenset({"PENDING", "RUNNING", "SUSPENDED", "UNKNOWN"})
_BUSY: Final = frozenset({"ALLOCATED", "MIXED"})
_COMES_BACK: Final = frozenset({"REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"})

# What sinfo puts behind a state.
_SIGNS: Final = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
    "+": "COMPLETING",
}
# The words of sinfo and squeue that are no word of REST. Where sinfo hides the base (a node that
# is both down and drained is "drained") the base is not guessed; "draining" says that jobs run.
_NODE_WORDS: Final = {
    "ALLOC": ("ALLOCATED",),
    "BOOT": ("REBOOT_ISSUED",),
    "COMP": ("COMPLETING",),
    "DRAINED": ("DRAIN", "DRAINED"),
    "DRAINING": ("MIXED", "DRAIN"),
    "DRNG": ("MIXED", "DRAIN"),
    "FAILG": ("MIXED", "FAIL"),
    "FAILING": ("MIXED", "FAIL"),
    "FUTR": ("FUTURE",),
    "INVAL": ("INVALID_REG",),
    "MAINT": ("MAINTENANCE",),
    "MIX": ("MIXED",),
    "PLANNED": ("IDLE", "PLANNED"),
    "PLND": ("IDLE", "PLANNED"),
    "POW_DN": ("POWERING_DOWN",),
    "POW_UP": ("POWERING_UP",),
    "REBOOT": ("REBOOT_ISSUED",),
    "RESERVED": ("IDLE", "RESERVED"),
    "RESV": ("IDLE", "RESERVED"),
    "UNK": ("UNKNOWN",),
}
_JOB_WORDS: Final = {
    "BF": ("BOOT_FAIL",),
    "CA": ("CANCELLED",),
    "CD": ("COMPLETED",),
    "CF": ("CONFIGURING",),
    "CG": ("COMPLETING",),
    "DL": ("DEADLINE",),
    "F": ("FAILED",),
    "NF": ("NODE_FAIL",),
    "OOM": ("OUT_OF_MEMORY",),
    "PD": ("PENDING",),
    "PR": ("PREEMPTED",),
    "R": ("RUNNING",),
    "RQ": ("REQUEUED",),
    "S": ("SUSPENDED",),
    "SE": ("SPECIAL_EXIT",),
    "TO": ("TIMEOUT",),
}
_WORD: Final = re.compile(r"[A-Z0-9_]+")
_SIGN: Final = re.compile(r"[^A-Za-z0-9_+, -]|[+-]$")  # + and - also stand between words


@dataclass(frozen=True, slots=True)
class _State:
    base: str
    flags: frozenset[str]

    def __str__(self) -> str:
        return "+".join((self.base, *sorted(self.flags)))

    def has(self, *flags: str) -> bool:
        """Whether any of these flags is set."""
        return not self.flags.isdisjoint(flags)


@dataclass(frozen=True, slots=True)
class NodeState(_State):
    """The state of a node; the base is UNKNOWN where Slurm did not say it."""

    @classmethod
    def parse(cls, said: str | Iterable[str]) -> "NodeState":
        """Read REST's list, scontrol's `IDLE+DRAIN` or sinfo's `drained*`."""
        return _node_state(_short_node_words(said) if isinstance(said, str) else tuple(said))

    @property
    def busy(self) -> bool:
        """A job runs on it or is being cleaned up."""
        return self.base in _BUSY or self.completing

    @property
    def idle(self) -> bool:
        """No job is on it; it may still be drained."""
        return self.base == "IDLE" and not self.completing

    @property
    def drain(self) -> bool:
        """No new job starts on it."""
        return self.has("DRAIN") and not self.has("UNDRAIN")

    @property
    def drained(self) -> bool:
        """No new job starts on it and the last one has gone: it may be taken away.

        A node whose base Slurm does not know, as after a restart, may still run jobs.
        """
        known = self.base != "UNKNOWN" or self.has("DRAINED")
        return self.drain and known and not self.busy

    @property
    def draining(self) -> bool:
        return self.drain and self.busy

    @property
    def completing(self) -> bool:
        return self.has("COMPLETING")

    @property
    def down(self) -> bool:
        return self.base == "DOWN"

    @property
    def fail(self) -> bool:
        """Slurm or an administrator expects it to fail."""
        return self.has("FAIL")

    @property
    def not_responding(self) -> bool:
        return self.has("NOT_RESPONDING")

    @property
    def powered_off(self) -> bool:
        return self.has("POWERED_DOWN")

    @property
    def planned(self) -> bool:
        """Backfill keeps it for a job that waits."""
        return self.has("PLANNED")

    @property
    def reserved(self) -> bool:
        """A reservation holds it, for maintenance or for its users."""
        return self.has("RESERVED", "MAINTENANCE")

    @property
    def external(self) -> bool:
        """No slurmd runs there; somebody else starts the work."""
        return self.has("EXTERNAL")


@dataclass(frozen=True, slots=True)
class JobState(_State):
    """The state of a job; the base is UNKNOWN where Slurm did not say it."""

    @classmethod
    def parse(cls, said: str | Iterable[str]) -> "JobState":
        """Read REST's list, squeue's `CG`, or sacct's `CANCELLED by 1000`."""
        return _job_state(_short_job_words(said) if isinstance(said, str) else tuple(said))

    @property
    def pending(self) -> bool:
        return self.base == "PENDING"

    @property
    def running(self) -> bool:
        return self.base == "RUNNING"

    @property
    def suspended(self) -> bool:
        return self.base == "SUSPENDED"

    @property
    def completing(self) -> bool:
        """Its processes are being ended; its nodes are not free yet."""
        return self.has("COMPLETING")

    @property
    def comes_back(self) -> bool:
        """It is on its way back to the queue, whatever its base says of the run before."""
        return self.has(*_COMES_BACK)

    @property
    def ended(self) -> bool:
        """Its outcome is known and final; its nodes are free once it is not completing either."""
        return self.base not in _ALIVE and not self.comes_back

    @property
    def ended_well(self) -> bool:
        return self.ended and self.base == "COMPLETED"

    @property
    def ended_badly(self) -> bool:
        return self.ended and self.base != "COMPLETED"


# A cluster of 15,000 nodes has some twenty different states: each is made once and shared.
@lru_cache(maxsize=1024)
def _node_state(words: tuple[str, ...]) -> NodeState:
    return NodeState(*_split(words, NODE_BASES))


@lru_cache(maxsize=1024)
def _job_state(words: tuple[str, ...]) -> JobState:
    return JobState(*_split(words, JOB_BASES))


def _split(words: tuple[str, ...], bases: tuple[str, ...]) -> tuple[str, frozenset[str]]:
    upper = [word.upper() for word in words]
    base = next((word for word in upper if word in bases), "UNKNOWN")
    return base, frozenset(upper).difference(bases)


def _short_node_words(text: str) -> tuple[str, ...]:
    signs = tuple(_SIGNS.get(sign, sign) for sign in _SIGN.findall(text))
    return _long(text, _NODE_WORDS) + signs


def _short_job_words(text: str) -> tuple[str, ...]:
    return _long(text.partition(" ")[0], _JOB_WORDS)


def _long(text: str, table: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    words = _WORD.findall(text.upper())
    return tuple(long for word in words for long in table.get(word, (word,)))
