"""What people ask of the Slurm job of their pods, by annotations.

An annotation with the job prefix is ours alone, so one that is not known is a mistake and refused
by name. The prefix of before 1.0 is shared with others: there only known names are read, with a
word of caution.

>>> found = read({"slurmjob.slinky.slurm.net/timelimit": "1:30:00"})
>>> found.wishes.time_limit
90
>>> print(read({"slurmjob.slinky.slurm.net/time-limit": "5"}).findings[0].advice)
there is no such job annotation; write slurmjob.slinky.slurm.net/timelimit
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from typing import Any, Final

from windlass.api.validation.findings import Caution, Finding, Problem
from windlass.bridge import owner, words
from windlass.slurm.model import UNLIMITED
from windlass.values import gres
from windlass.values.duration import Duration
from windlass.values.gres import Gres
from windlass.values.malformed import Malformed
from windlass.values.quantity import Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What was asked for; None where nothing was said. Memory in MiB, times in minutes."""

    account: str | None = None
    comment: str | None = None
    constraints: str | None = None
    cpus: int | None = None
    exclusive: bool | None = None
    gang: bool | None = None
    """Whether the pods of a Job or JobSet start together; where it is None the kind decides."""
    gres: tuple[Gres, ...] | None = None
    """The devices of each pod."""
    group: str | None = None
    job_name: str | None = None
    licenses: str | None = None
    max_nodes: int | None = None
    memory: int | None = None
    """Of each node; a gang that says this has one pod on a node."""
    min_nodes: int | None = None
    partition: str | None = None
    priority: int | None = None
    qos: str | None = None
    reservation: str | None = None
    time_limit: float | None = None
    user: str | None = None
    wckey: str | None = None

    def over(self, farther: "Wishes") -> "Wishes":
        """These, and of the farther ones what is not said here."""
        if farther == NOTHING:
            return self
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(farther, **{name: v for name, v in said.items() if v is not None})


NOTHING: Final = Wishes()


@dataclass(frozen=True, slots=True)
class Reading:
    wishes: Wishes
    findings: tuple[Finding, ...] = ()


# --- types of values -------------------------------------------------------------------------

_LINE: Final = re.compile(r"[^\x00-\x1f\x7f]+")
_WORD: Final = re.compile(r"[^\s\x00-\x1f\x7f]+")
_WHOLE: Final = re.compile(r"[0-9]{1,10}")
_MOST: Final = 2**31 - 1


def _matching(shape: re.Pattern[str], problem: str, fix: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if not shape.fullmatch(text):
            raise Malformed("text", text, 0, problem, fix)
        return text

    return parse


_line = _matching(_LINE, "it is more than one line of text", "write it in one line")
_word = _matching(_WORD, "there is a blank in it", "write one word")


def _whole(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not _WHOLE.fullmatch(text) or not least <= int(text) <= _MOST:
            problem = f"{text!r} is no whole number from {least} to {_MOST}"
            raise Malformed("number", text, 0, problem, "write digits only")
        return int(text)

    return parse


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise Malformed("boolean", text, 0, f"{text!r} is no answer", 'write "true" or "false"')
    return text.lower() == "true"


def _some(text: str) -> Quantity:
    amount = Quantity.parse(text)
    if amount.nano <= 0:
        raise Malformed("quantity", text, 0, "it must be more than 0", "leave it out for none")
    return amount


def _cpus(text: str) -> int:
    return _some(text).cores


def _mebibytes(text: str) -> int:
    """Rounded up: rounded down, a little would be 0, which is all of a node to Slurm."""
    return _some(text).mebibytes


def _minutes(text: str) -> float:
    minutes = Duration.parse(text).minutes
    if minutes == 0:
        raise Malformed("duration", text, 0, "no job ends at once", "write minutes, at least 1")
    return UNLIMITED if minutes is None else minutes


Parse = Callable[[str], Any]

_KNOWN: Final[Mapping[str, tuple[str, Parse]]] = {
    "account": ("account", _word),
    "comment": ("comment", _line),
    "constraints": ("constraints", _line),
    "cpu-per-task": ("cpus", _cpus),
    "cpus-per-task": ("cpus", _cpus),
    "exclusive": ("exclusive", _boolean),
    "gang": ("gang", _boolean),
    "gres": ("gres", gres.parse),
    "group-id": ("group", owner.parse),
    "job-name": ("job_name", _line),
    "licenses": ("licenses", _word),
    "max-nodes": ("max_nodes", _whole(1)),
    "mem-per-node": ("memory", _mebibytes),
    "min-nodes": ("min_nodes", _whole(1)),
    "partition": ("partition", _word),
    "priority": ("priority", _whole(0)),
    "qos": ("qos", _word),
    "reservation": ("reservation", _word),
    "timelimit": ("time_limit", _minutes),
    "user-id": ("user", owner.parse),
    "wckey": ("wckey", _word),
}
"""The field and the type of each, by its name without the prefix."""

NAMES: Final = tuple(_KNOWN)


def parse(name: str, text: str) -> Any:
    """The value of an annotation with the job prefix; raises Malformed, which names it."""
    kind = f"annotation {name}"
    known = _KNOWN.get(name.removeprefix(words.JOB_PREFIX).removeprefix(words.OLD_JOB_PREFIX))
    if known is None:
        raise Malformed(kind, text, 0, "there is no such job annotation", _nearest(name))
    if not text.strip():
        raise Malformed(kind, text, 0, "it is empty", "give it a value or take it away")
    try:
        return known[1](text.strip())
    except Malformed as error:
        raise Malformed(kind, text, error.position, error.problem, error.fix) from None


def _nearest(name: str) -> str:
    near = get_close_matches(name.removeprefix(words.JOB_PREFIX), NAMES, n=1, cutoff=0.5)
    if near:
        return f"write {words.JOB_PREFIX}{near[0]}"
    return f"there are {', '.join(NAMES)}"


# --- reading -------------------------------------------------------------------------------


def read(annotations: Mapping[str, str] | None, of: str = "") -> Reading:
    """The wishes in an object's annotations, with all that is wrong about them.

    `of` names the object where it is not the one that the findings are shown on.
    """
    values: dict[str, tuple[str, Any]] = {}
    findings: list[Finding] = []
    for name in sorted(job_annotations(annotations), key=_old):
        findings += _read_one(name, (annotations or {})[name], of, values)
    wishes = Wishes(**{each: value for each, (_, value) in values.items()})
    return Reading(wishes, (*findings, *contradictions(wishes, of)))


def job_annotations(annotations: Mapping[str, str] | None) -> dict[str, str]:
    """Those that say something about the Slurm job."""
    return {name: text for name, text in (annotations or {}).items() if _concerns_job(name)}


def contradictions(wishes: Wishes, of: str = "") -> Iterator[Finding]:
    """What cannot be had together."""
    least, most = wishes.min_nodes, wishes.max_nodes
    if least is not None and most is not None and least > most:
        yield Problem(
            field(words.JOB_PREFIX + "min-nodes", of),
            f"at least {least} and at most {most} nodes are asked for",
            "lower min-nodes or raise max-nodes",
        )


def merge(levels: Iterable[Wishes]) -> Wishes:
    """All levels as one; they come from the farthest to the nearest of the pod, which wins."""
    merged = NOTHING
    for wishes in levels:
        merged = wishes.over(merged)
    return merged


def field(name: str, of: str = "") -> str:
    """Where an annotation stands, for a finding about it."""
    return f"{of} metadata.annotations[{name}]".lstrip()


def _concerns_job(name: str) -> bool:
    if name.startswith(words.JOB_PREFIX):
        return True
    return name.startswith(words.OLD_JOB_PREFIX) and _short(name) in _KNOWN


def _short(name: str) -> str:
    return name.partition("/")[2]


def _old(name: str) -> tuple[bool, str]:
    """Those with the old prefix come last."""
    return not name.startswith(words.JOB_PREFIX), name


def _read_one(
    name: str, text: str, of: str, values: dict[str, tuple[str, Any]]
) -> Iterator[Finding]:
    try:
        value = parse(name, text)
    except Malformed as error:
        yield Problem(field(name, of), error.problem, error.fix)
        return
    if _old(name)[0]:
        new = words.JOB_PREFIX + _short(name)
        yield Caution(field(name, of), "this prefix is of before 1.0", f"write {new}")
    first, before = values.setdefault(_KNOWN[_short(name)][0], (name, value))
    if before != value:
        yield Problem(field(name, of), f"{first} says otherwise", "take one of the two away")
