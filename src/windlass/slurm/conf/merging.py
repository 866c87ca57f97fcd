"""Puts what a user adds into what was generated: one file, as if the user had edited it.

A parameter of `extra` takes the place of the one in `base`; lists of options are joined item by
item; a record with a known name is completed in its place, because Slurm refuses a second one.
Everything else of `extra`, comments included, follows at the end in its own order.

>>> from windlass.slurm.conf.keys import SLURM_CONF
>>> from windlass.slurm.conf.reading import parse
>>> base = parse("SchedulerParameters=defer,sched_interval=2\\nMaxJobCount=9", SLURM_CONF)
>>> extra = parse("SchedulerParameters=sched_interval=1,bf_continue", SLURM_CONF)
>>> print(merge(base, extra, SLURM_CONF), end="")
SchedulerParameters=defer,sched_interval=1,bf_continue
MaxJobCount=9
"""

from dataclasses import replace

from windlass.slurm.conf.checking import DEFAULT
from windlass.slurm.conf.formats import Format
from windlass.slurm.conf.lines import Document, Line, Pair, Parameter, Record


def merge(base: Document, extra: Document, form: Format) -> Document:
    """One document in which `extra` has the last word."""
    merging = _Merging(base, form)
    for line in extra.lines:
        merging.add(line)
    return Document(merging.lines)


class _Merging:
    """The lines so far, and where each parameter and record stands among them."""

    def __init__(self, base: Document, form: Format) -> None:
        self._form = form
        self._lines: list[Line | None] = []
        self._parameters: dict[str, list[int]] = {}
        self._records: dict[tuple[str, str], int] = {}
        self._defaulted: set[str] = set()
        for line in base.lines:
            self._append(line)

    @property
    def lines(self) -> tuple[Line, ...]:
        return tuple(line for line in self._lines if line is not None)

    def add(self, line: Line) -> None:
        if isinstance(line, Parameter):
            self._add_parameter(line)
        elif isinstance(line, Record):
            self._add_record(line)
        else:
            self._append(line)

    def _append(self, line: Line) -> None:
        if isinstance(line, Parameter):
            self._parameters.setdefault(line.pair.key.lower(), []).append(len(self._lines))
        elif isinstance(line, Record) and self._is_unique(line):
            self._records.setdefault(_identity(line.name), len(self._lines))
        self._lines.append(line)

    def _is_unique(self, line: Record) -> bool:
        return line.name.key.lower() in self._form.unique and not _is_default(line)

    def _add_parameter(self, line: Parameter) -> None:
        key = line.pair.key.lower()
        places = self._parameters.get(key, [])
        if key in self._form.repeated:
            if all(self._value(at) != line.pair.value for at in places):
                self._append(line)
        elif places:
            self._replace(places, line)
        else:
            self._append(line)

    def _replace(self, places: list[int], line: Parameter) -> None:
        """Slurm takes the last of several; we leave one, where the first was."""
        if line.pair.key.lower() in self._form.joined:
            value = join(self._value(places[-1]), line.pair.value)
            line = replace(line, pair=replace(line.pair, value=value))
        self._lines[places[0]] = line
        for at in places[1:]:
            self._lines[at] = None
        del places[1:]

    def _value(self, at: int) -> str:
        line = self._lines[at]
        assert isinstance(line, Parameter)
        return line.pair.value

    def _add_record(self, line: Record) -> None:
        key = line.name.key.lower()
        if _is_default(line):
            self._defaulted.add(key)
        at = self._records.get(_identity(line.name)) if self._is_unique(line) else None
        if at is None:
            self._append(line)
            return
        old = self._lines[at]
        assert isinstance(old, Record)
        if key in self._defaulted:  # what extra's DEFAULT says holds only for lines below it
            self._lines[at] = None
            del self._records[_identity(line.name)]
            self._append(_completed(old, line))
        else:
            self._lines[at] = _completed(old, line)


def join(base: str, extra: str) -> str:
    """Two comma lists of options as one; an option of `extra` replaces the one of its name."""
    items = {_option(item): item for item in _items(base)}
    items |= {_option(item): item for item in _items(extra)}
    return ",".join(items.values())


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _option(item: str) -> str:
    return item.partition("=")[0].lower()


def _is_default(line: Record) -> bool:
    return line.name.value.upper() == DEFAULT


def _identity(name: Pair) -> tuple[str, str]:
    host = name.value.partition("(")[0] if name.is_for("SlurmctldHost") else name.value
    return name.key.lower(), host


def _completed(old: Record, new: Record) -> Record:
    """The pairs of `old` in their order, those of `new` in their place or at the end."""
    pairs = {pair.key.lower(): pair for pair in old.pairs}
    pairs |= {pair.key.lower(): pair for pair in new.pairs}
    return Record(new.name, tuple(pairs.values()), new.comment or old.comment)
