"""slurm.conf: sections in a fixed order, the user's own lines, and no key that is set twice.

What the user sets is left out of our part, since a second line would for some keys add to the
first and for others be fatal. Three lists of options are the exception: without ours nothing
would work, so they are joined at the end, and the user's own lines become comments.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from windlass.api import names
from windlass.api.accounting import Accounting
from windlass.api.controller import Controller
from windlass.api.node_set import NodeSet
from windlass.operator.conf_text import joined, section
from windlass.operator.pods.service import port_of
from windlass.operator.slurmctld import files, identity
from windlass.operator.slurmctld.defaults import MAX_NODE_COUNT, defaults
from windlass.operator.slurmctld.files import Files
from windlass.operator.slurmctld.node_lines import node_lines
from windlass.operator.slurmctld.past_partitions import SECTION, Past
from windlass.slurm.conf import (
    SLURM_CONF,
    Broken,
    Document,
    Fault,
    Include,
    Line,
    Parameter,
    Record,
    Where,
    check,
    parameter,
    parse,
    record,
)
from windlass.values.reason import Reason

EXTRA_CONF: Final = "extraConf"
EXTRA_HEADER: Final = "### EXTRA CONFIG ###"
ETC: Final = "/etc/slurm"
LOGS: Final = "/var/log/slurm"
JOINED: Final = ("SlurmctldParameters", "AuthInfo", "AuthAltParameters")
MAPPED: Final = ("topology/tree", "topology/block")
MAPS: Final = ("topology.yaml", "topology.conf")

Section: TypeAlias = tuple[str, Iterable[Line]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """All that decides what is in slurm.conf."""

    controller: Controller
    address: str = ""
    """The Service's; without one it is found by its name."""
    accounting: Accounting | None = None
    node_sets: Sequence[NodeSet] = ()
    files: Files = field(default_factory=Files)
    jwks: bool = False
    past: Past = field(default_factory=Past)
    """What was in force before, and has jobs."""


@dataclass(frozen=True, slots=True)
class SlurmConf:
    """The file, what Slurm would refuse in it, and what the user should know of it."""

    text: str
    faults: tuple[Fault, ...] = ()
    notes: tuple[Reason, ...] = ()


def slurm_conf(cluster: Cluster) -> SlurmConf:
    """The file of a slurmctld that we run. One with faults must not reach a daemon."""
    try:
        given = _given(cluster)
    except Broken as broken:
        return SlurmConf("", broken.faults)
    nodes = node_lines(cluster.node_sets, given, cluster.past)
    sections: tuple[Section, ...] = (
        ("GENERAL", _general(cluster)),
        ("LOGGING", _logging()),
        ("PLUGINS & PARAMETERS", _plugins(cluster)),
        ("ACCOUNTING", _accounting(cluster)),
        ("SLURMCTLD PROLOG & EPILOG", _slurmctld_scripts(cluster.files)),
        ("PROLOG & EPILOG", _scripts(cluster.files)),
        (SECTION, nodes.lines),
        ("DEFAULTS", defaults(given, cluster.node_sets, cluster.files)),
    )
    text = _text(sections, cluster.controller.spec.extra_conf, given)
    faults = (*nodes.faults, *_repeated(given), *_deadly(given, cluster))
    notes = (*cluster.files.notes, *nodes.notes, *_misplaced(given, cluster.controller))
    return SlurmConf(text, faults, notes)


def external_slurm_conf(cluster: Cluster) -> SlurmConf:
    """The file of those who join a slurmctld that runs elsewhere and has its own."""
    try:
        given = _given(cluster)
    except Broken as broken:
        return SlurmConf("", broken.faults)
    controller = cluster.controller
    general = (
        parameter("ClusterName", identity.cluster_name(controller)),
        parameter("SlurmUser", "slurm"),
        record("SlurmctldHost", identity.host(controller)),
        parameter("SlurmctldPort", identity.port(controller)),
    )
    sections: tuple[Section, ...] = (
        ("GENERAL", general),
        ("PLUGINS & PARAMETERS", _authentication()),
        ("ACCOUNTING", _accounting(cluster)),
    )
    text = _text(sections, controller.spec.extra_conf, given)
    return SlurmConf(text, _repeated(given))


def extra_line(text: str, line: int) -> int | None:
    """The line of extraConf that is this line of slurm.conf."""
    lines = text.split("\n")
    if EXTRA_HEADER not in lines:
        return None
    found = line - lines.index(EXTRA_HEADER) - 1
    return found if found > 0 else None


# --- what the user gives ------------------------------------------------------------------------


def _given(cluster: Cluster) -> Document:
    """extraConf, with the files of ours that it includes in their places."""
    extra = parse(cluster.controller.spec.extra_conf, SLURM_CONF, EXTRA_CONF)
    return Document(tuple(line for each in extra.lines for line in _included(each, cluster.files)))


def _included(line: Line, found: Files) -> Iterable[Line]:
    if not isinstance(line, Include):
        return (line,)
    name = line.path.rpartition("/")[2]
    text = found.text(name)
    return (line,) if text is None else parse(text, SLURM_CONF, name).lines


def _repeated(given: Document) -> tuple[Fault, ...]:
    """Names given twice. Keys and values are left to the parser of the Slurm that will run."""
    return check(Document(tuple(Record(line.name) for line in given.records())), SLURM_CONF)


def _deadly(given: Document, cluster: Cluster) -> Iterator[Fault]:
    """What Slurm's parser takes and slurmctld does not survive."""
    tracked = given.get("AccountingStorageTRES") or ""
    kind = given.get("AccountingStorageType") or ""
    accounted = cluster.controller.spec.accounting_ref or "slurmdbd" in kind
    if "gres/" in tracked.lower() and not accounted:
        problem = "without slurmdbd slurmctld does not survive a gres/ in it"
        fix = "set accountingRef, or take the line out"
        yield Fault(_where(given, "AccountingStorageTRES"), "AccountingStorageTRES", problem, fix)
    topology = (given.get("TopologyPlugin") or "").lower()
    if topology in MAPPED and not any(name in cluster.files.content for name in MAPS):
        problem = f"{topology} needs a file that describes it"
        fix = f"give one of {' and '.join(MAPS)} by configFileRefs"
        yield Fault(_where(given, "TopologyPlugin"), "TopologyPlugin", problem, fix)


def _misplaced(given: Document, controller: Controller) -> Iterator[Reason]:
    """What works, but not as the rest of the cluster needs it."""
    folder, state = identity.state_folder(controller), given.get("StateSaveLocation")
    if state is not None and not f"{state}/".startswith(f"{folder}/"):
        sentence = f"StateSaveLocation={state} of extraConf is lost with the pod; leave it out, or"
        yield Reason("StateNotKept", f"{sentence} name a folder in {folder}, where the volume is")
    port = given.get("SlurmctldPort")
    if port is not None and port != str(identity.port(controller)):
        sentence = f"SlurmctldPort={port} of extraConf is not where the Service leads"
        yield Reason("PortNotServed", f"{sentence}; set service.port: {port} instead")


def _where(given: Document, key: str) -> Where:
    return next(pair.where for pair in given.pairs() if pair.is_for(key))


# --- sections -----------------------------------------------------------------------------------


def _general(cluster: Cluster) -> Iterator[Line]:
    controller = cluster.controller
    # By its address nothing waits for DNS: each task of a job would ask for the name a few times.
    service = cluster.address or identity.host(controller)
    yield parameter("ClusterName", identity.cluster_name(controller))
    yield parameter("SlurmUser", "slurm")
    for host in identity.slurm_hosts(controller, service):
        yield record("SlurmctldHost", host)
    yield parameter("SlurmctldPort", identity.port(controller))
    if identity.replicas(controller) > 1:
        # Clients find the active one through the Service, which has it alone as ready.
        yield parameter("SlurmctldAddr", service)
    yield parameter("StateSaveLocation", identity.state_folder(controller))
    yield parameter("SlurmdUser", "root")
    yield parameter("SlurmdPort", names.SLURMD_PORT)
    yield parameter("SlurmdSpoolDir", "/var/spool/slurmd")
    yield parameter("MaxNodeCount", MAX_NODE_COUNT)


def _logging() -> Iterator[Line]:
    yield parameter("SlurmctldLogFile", f"{LOGS}/slurmctld.log")
    yield parameter("SlurmSchedLogFile", f"{LOGS}/slurmctld.log")
    yield parameter("SlurmdLogFile", f"{LOGS}/slurmd.log")


def _authentication() -> Iterator[Line]:
    yield parameter("AuthType", "auth/slurm")
    yield parameter("CredType", "cred/slurm")
    yield parameter("AuthAltTypes", "auth/jwt")


def _plugins(cluster: Cluster) -> Iterator[Line]:
    yield from _authentication()
    jwks = f",jwks={ETC}/{files.JWKS}" if cluster.jwks else ""
    yield parameter("AuthAltParameters", f"jwt_key={ETC}/{files.JWT_KEY}{jwks}")
    yield parameter("AuthInfo", "use_client_ids")
    yield parameter("SlurmctldParameters", "enable_configless,reconfig_on_restart")
    if cluster.controller.spec.metrics.enabled:
        yield parameter("MetricsType", "metrics/openmetrics")


def _accounting(cluster: Cluster) -> Iterator[Line]:
    """slurmdbd as soon as one is named: a cluster that fell back to none would lose its history."""
    reference = cluster.controller.spec.accounting_ref
    if not reference or not reference.name:
        yield parameter("AccountingStorageType", "accounting_storage/none")
        return
    spec = cluster.accounting.spec if cluster.accounting else None
    host = f"{names.slurmdbd(reference.name)}.{cluster.controller.metadata.namespace}"
    port = port_of(spec.service, names.SLURMDBD_PORT) if spec else names.SLURMDBD_PORT
    if spec and spec.external and spec.external_config:
        host, port = spec.external_config.host, spec.external_config.port
    yield parameter("AccountingStorageType", "accounting_storage/slurmdbd")
    yield parameter("AccountingStorageHost", host)
    yield parameter("AccountingStoragePort", port)


def _slurmctld_scripts(found: Files) -> Iterator[Line]:
    yield from (parameter("PrologSlurmctld", f"{ETC}/{file}") for file in found.prolog_slurmctld)
    yield from (parameter("EpilogSlurmctld", f"{ETC}/{file}") for file in found.epilog_slurmctld)


def _scripts(found: Files) -> Iterator[Line]:
    """Bare names: slurmctld hands the scripts to each slurmd."""
    yield from (parameter("Prolog", file) for file in found.prolog)
    yield from (parameter("Epilog", file) for file in found.epilog)


# --- text ---------------------------------------------------------------------------------------


def _text(sections: Iterable[Section], extra: str, given: Document) -> str:
    made = [(name, tuple(lines)) for name, lines in sections]
    ours = Document(tuple(line for _, lines in made for line in lines))
    left = [(name, [line for line in lines if _is_ours(line, given)]) for name, lines in made]
    texts = [section(name, lines) for name, lines in left if lines]
    if extra.strip():
        texts.append(f"#\n{EXTRA_HEADER}\n{_without_joined(extra)}\n")
    if shared := list(joined(JOINED, ours, given)):
        texts.append(section("MERGED CONFIG", shared))
    return "".join(texts)


def _is_ours(line: Line, given: Document) -> bool:
    """Whether the user leaves it to us."""
    if isinstance(line, Record):
        return not line.name.is_for("SlurmctldHost") or not given.records("SlurmctldHost")
    if not isinstance(line, Parameter):
        return True
    key = line.pair.key
    return key.lower() in SLURM_CONF.repeated or given.get(key) is None


def _without_joined(extra: str) -> str:
    """extraConf, with the lines that are joined elsewhere turned into comments.

    Of a key that stands twice every Slurm command complains. No line is taken out, so that the
    place of a fault can be told.
    """
    lines = extra.rstrip().split("\n")
    for pair in parse(extra, SLURM_CONF).pairs():
        if any(pair.is_for(key) for key in JOINED):
            _comment_out(lines, pair.where.line - 1)
    return "\n".join(lines)


def _comment_out(lines: list[str], at: int) -> None:
    continued = True
    while continued and at < len(lines):
        continued = lines[at].rstrip().endswith("\\")
        lines[at] = f"#{lines[at]}"
        at += 1
