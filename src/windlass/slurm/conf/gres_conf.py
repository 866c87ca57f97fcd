"""gres.conf as devices: which node has which, with every file of a range named.

>>> from windlass.slurm.conf.keys import GRES_CONF
>>> from windlass.slurm.conf.reading import parse
>>> text = "NodeName=w-[0-1] Name=gpu Type=h100 File=/dev/nvidia[0-3] Cores=0-15"
>>> found, = devices(parse(text, GRES_CONF))
>>> found.nodes, found.count, found.files[-1]
(('w-0', 'w-1'), 4, '/dev/nvidia3')
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from windlass.slurm.conf.faults import Broken, Fault
from windlass.slurm.conf.lines import Document, Record
from windlass.values import amount, hostlist
from windlass.values.malformed import Malformed


@dataclass(frozen=True, slots=True)
class Devices:
    """One line of gres.conf; an empty `nodes` is every node that reads the file."""

    nodes: tuple[str, ...]
    name: str
    type: str
    count: int
    files: tuple[str, ...] = ()
    multiple: bool = False
    """All the files together are one device."""
    cores: str = ""
    links: str = ""
    flags: tuple[str, ...] = ()


def devices(document: Document) -> tuple[Devices, ...]:
    """Every line that names devices; one that only sets AutoDetect for nodes names none."""
    found: list[Devices] = []
    faults: list[Fault] = []
    for line in document.records():
        wrong = tuple(_faults(line))
        faults += wrong
        if not wrong and line.get("Name") is not None:
            found.append(_devices(line))
    if faults:
        raise Broken(faults)
    return tuple(found)


def autodetect(document: Document, node: str) -> str | None:
    """How this node looks for its devices: what its own line says, else the whole file."""
    for line in document.records("NodeName"):
        own = line.get("AutoDetect")
        if own is not None and node in hostlist.expand(line.name.value):
            return own
    return document.get("AutoDetect")


def _devices(line: Record) -> Devices:
    files = hostlist.expand(_files(line) or "")
    multiple = line.get("MultipleFiles") is not None
    return Devices(
        nodes=hostlist.expand(line.get("NodeName") or ""),
        name=line.get("Name") or "",
        type=line.get("Type") or "",
        count=1 if multiple else _count(line, files),
        files=files,
        multiple=multiple,
        cores=line.get("Cores") or line.get("CPUs") or "",
        links=line.get("Links") or line.get("Link") or "",
        flags=tuple(filter(None, (line.get("Flags") or "").split(","))),
    )


def _files(line: Record) -> str | None:
    return line.get("MultipleFiles") or line.get("File") or line.get("Files")


def _count(line: Record, files: tuple[str, ...]) -> int:
    given = line.get("Count")
    return len(files) or 1 if given is None else amount.count(given)


def _faults(line: Record) -> Iterator[Fault]:
    where = line.name.where
    if line.get("Name") is None and line.get("AutoDetect") is None:
        yield Fault(where, line.name.key, "the line names no resource", "add Name=gpu")
    if line.get("File") and line.get("MultipleFiles"):
        problem = "File and MultipleFiles exclude each other"
        yield Fault(where, "MultipleFiles", problem, "keep one of them")
    for key, read in (("NodeName", hostlist.expand), ("Count", amount.count)):
        yield from _unreadable(line, key, read)
    yield from _wrong_files(line)


def _unreadable(line: Record, key: str, read: Callable[[str], object]) -> Iterator[Fault]:
    value = line.get(key)
    try:
        if value is not None:
            read(value)
    except Malformed as error:
        yield Fault(line.name.where, key, error.problem, error.fix)


def _wrong_files(line: Record) -> Iterator[Fault]:
    count = line.get("Count")
    try:
        files = hostlist.expand(_files(line) or "")
    except Malformed as error:
        yield Fault(line.name.where, "File", error.problem, error.fix)
        return
    if not files or count is None or line.get("MultipleFiles") or not amount.is_count(count):
        return
    if amount.count(count) != len(files):
        problem = f"Count={count} does not match the {len(files)} files"
        yield Fault(line.name.where, "Count", problem, "leave Count out")
