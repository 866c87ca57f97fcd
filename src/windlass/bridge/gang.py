"""Pods that get their places together: what becomes one Slurm job, whatever it came from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from windlass.api.validation.findings import Finding, Problem
from windlass.bridge import annotations
from windlass.bridge.annotations import Wishes
from windlass.bridge.ports import HostPort
from windlass.bridge.resources import Needs
from windlass.values.key import Key
from windlass.values.reason import Reason


class GangKey(NamedTuple):
    """What a queue carries. A pod that is made anew under its old name has the old key."""

    kind: str
    namespace: str
    name: str
    part: str = ""
    """Which of several gangs of one object."""

    def __str__(self) -> str:
        part = f"/{self.part}" if self.part else ""
        return f"{self.kind} {self.namespace}/{self.name}{part}"


@dataclass(frozen=True, slots=True)
class Member:
    """A pod, or the place of one that is made only when others run."""

    index: int
    """Its rank: the lower, the earlier in Slurm's order of nodes."""
    needs: Needs
    pod: Key | None = None
    uid: str = ""
    host: str = ""
    """The Kubernetes node that it is bound to."""
    ports: tuple[HostPort, ...] = ()
    """Those of its node that it takes for itself."""


@dataclass(frozen=True, slots=True)
class Level:
    """What one object asks for; the pods themselves have an empty name."""

    of: str
    wishes: Wishes


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    key: GangKey
    uid: str
    """Of the object that the gang is made from."""
    attempt: str = ""
    """Differs each time that the same object makes all of its pods anew."""
    members: tuple[Member, ...]
    """In the order of their indices, of which each is there once."""
    least: int
    """With fewer places than this nobody starts."""
    most: int
    done: int = 0
    """Places whose pods have succeeded, and come back no more."""
    levels: tuple[Level, ...] = ()
    """From the farthest to the nearest of the pods."""
    name: str = ""
    time_limit: int | None = None
    """Minutes that Kubernetes gives it; an annotation goes before."""
    priority_class: str = ""
    findings: tuple[Finding, ...] = ()
    waits: Reason | None = None
    """Why it is not ready to be submitted."""

    @property
    def wishes(self) -> Wishes:
        return annotations.merge(level.wishes for level in self.levels)

    @property
    def own_wishes(self) -> Wishes:
        """Those on the pods themselves, which admission has seen."""
        return annotations.merge(level.wishes for level in self.levels if not level.of)

    @property
    def owners_wishes(self) -> Wishes:
        """Those on the objects around the pods, which nobody has judged."""
        return annotations.merge(level.wishes for level in self.levels if level.of)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Why it can never be submitted as it is."""
        return tuple(one for one in self.findings if isinstance(one, Problem))

    @property
    def pods(self) -> tuple[Key, ...]:
        return tuple(member.pod for member in self.members if member.pod is not None)


def in_order(members: Iterable[Member]) -> tuple[Member, ...]:
    """By index; of two with the same one the first stays."""
    found: dict[int, Member] = {}
    for member in members:
        found.setdefault(member.index, member)
    return tuple(found[index] for index in sorted(found))
