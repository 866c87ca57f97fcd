"""What slurm.conf and slurmdbd.conf have in common: sections, and lists that both sides give."""

from collections.abc import Iterable, Iterator

from windlass.slurm.conf import Document, Line, Parameter, parameter
from windlass.slurm.conf.merging import join


def section(name: str, lines: Iterable[Line]) -> str:
    return f"#\n### {name} ###\n{Document(tuple(lines))}"


def joined(keys: Iterable[str], ours: Document, given: Document) -> Iterator[Parameter]:
    """Lists that need our options too: at the end, where Slurm takes them from."""
    for key in keys:
        theirs, mine = given.get(key), ours.get(key)
        if theirs is not None and mine is not None:
            # Where both give an option, ours names a file that we mount.
            yield parameter(key, join(join(mine, theirs), mine))
