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
    def __init__(self, base: Document, form: Format) -> None:
        self._form = form
        self._lines: list[Line | None] = list(base.lines)
        self._defaulted: set[str] = set()

    @property
    def lines(self) -> tuple[Line, ...]:
        return tuple(line for line in self._lines if line is not None)

    def add(self, line: Line) -> None:
        if isinstance(line, Parameter):
            self._add_parameter(line)
        elif isinstance(line, Record):
            self._add_record(line)
        else:
            self._lines.append(line)

    def _add_parameter(self, line: Parameter) -> None:
        key = line.pair.key.lower()
        alike = [at for at, old in enumerate(self._lines) if _is_parameter(old, key)]
        if key in self._form.repeated:
            if line not in self._lines:
                self._lines.append(line)
            return
        if not alike:
            self._lines.append(line)
            return
        if key in self._form.joined:
            line = self._joined(line, alike[-1])
        self._put(alike[0], line)
        self._drop(alike[1:])  # Slurm would take the last; one is clearer

    def _joined(self, line: Parameter, at: int) -> Parameter:
        old = self._lines[at]
        assert isinstance(old, Parameter)
        value = join(old.pair.value, line.pair.value)
        return replace(line, pair=replace(line.pair, value=value))

    def _add_record(self, line: Record) -> None:
        key = line.name.key.lower()
        if line.name.value.upper() == DEFAULT:
            self._defaulted.add(key)
        at = self._same_record(line)
        if at is None:
            self._lines.append(line)
            return
        old = self._lines[at]
        assert isinstance(old, Record)
        whole = _completed(old, line)
        if key in self._defaulted:  # what extra's DEFAULT says holds only for lines below it
            self._drop([at])
            self._lines.append(whole)
        else:
            self._put(at, whole)

    def _same_record(self, line: Record) -> int | None:
        key = line.name.key.lower()
        if key not in self._form.unique or line.name.value.upper() == DEFAULT:
            return None
        for at, old in enumerate(self._lines):
            if isinstance(old, Record) and _identity(old.name) == _identity(line.name):
                return at
        return None

    def _put(self, at: int, line: Parameter | Record) -> None:
        self._lines[at] = line

    def _drop(self, places: list[int]) -> None:
        for at in places:
            self._lines[at] = None


def join(base: str, extra: str) -> str:
    """Two comma lists of options as one; an option of `extra` replaces the one of its name."""
    items = {_option(item): item for item in _items(base)}
    items |= {_option(item): item for item in _items(extra)}
    return ",".join(items.values())


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _option(item: str) -> str:
    return item.partition("=")[0].lower()


def _is_parameter(line: Line | None, key: str) -> bool:
    return isinstance(line, Parameter) and line.pair.is_for(key)


def _identity(name: Pair) -> tuple[str, str]:
    host = name.value.partition("(")[0] if name.is_for("SlurmctldHost") else name.value
    return name.key.lower(), host


def _completed(old: Record, new: Record) -> Record:
    """The pairs of `old` in their order, those of `new` in their place or at the end."""
    pairs = {pair.key.lower(): pair for pair in old.pairs}
    pairs |= {pair.key.lower(): pair for pair in new.pairs}
    return Record(new.name, tuple(pairs.values()), new.comment or old.comment)
