"""Slurm's configuration files as data: parse, check, merge, print. No I/O.

parse(text, SLURM_CONF)           -> Document, or Broken with every fault
check(document, SLURM_CONF)       -> what Slurm would refuse all the same
merge(base, extra, SLURM_CONF)    -> Document
str(document)                     -> text
"""

from windlass.slurm.conf.checking import check, unknown_keys
from windlass.slurm.conf.faults import Broken, Fault, Unwritable, Where
from windlass.slurm.conf.formats import Format
from windlass.slurm.conf.keys import CGROUP_CONF, GRES_CONF, SLURM_CONF, SLURMDBD_CONF
from windlass.slurm.conf.lines import (
    Blank,
    Comment,
    Document,
    Include,
    Line,
    Pair,
    Parameter,
    Record,
    parameter,
    record,
)
from windlass.slurm.conf.merging import merge
from windlass.slurm.conf.reading import parse

__all__ = [
    "CGROUP_CONF",
    "GRES_CONF",
    "SLURMDBD_CONF",
    "SLURM_CONF",
    "Blank",
    "Broken",
    "Comment",
    "Document",
    "Fault",
    "Format",
    "Include",
    "Line",
    "Pair",
    "Parameter",
    "Record",
    "Unwritable",
    "Where",
    "check",
    "merge",
    "parameter",
    "parse",
    "record",
    "unknown_keys",
]
