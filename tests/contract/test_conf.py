"""Slurm itself reads the configuration files that we read, refuse, print and merge."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.contract.box import (
    BASE,
    HOST,
    READ_CGROUP_CONF,
    READ_GRES_CONF,
    READ_SLURM_CONF,
    READ_SLURMDBD_CONF,
    Box,
)
from windlass.local import images
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.slurm.conf import (
    CGROUP_CONF,
    GRES_CONF,
    SLURM_CONF,
    SLURMDBD_CONF,
    Broken,
    Document,
    check,
    merge,
    parameter,
    parse,
)
from windlass.slurm.conf.formats import MOST, Keys, Kind
from windlass.slurm.conf.gres_conf import devices
from windlass.slurm.conf.topology import Block, Blocks, Switch, Topology, Tree, render
from windlass.slurm.conf.topology import parse as parse_topology

NODES = "NodeName=n[1-8] CPUs=1 State=CLOUD\n"


@pytest.fixture(scope="module")
def box(
    as_root: None, folders: Folders, display: Display, tmp_path_factory: pytest.TempPathFactory
) -> Box:
    root = images.root_of("slurm", folders.cache, display, programs={})
    return Box(root, tmp_path_factory.mktemp("conf"))


def we_accept(text: str) -> bool:
    try:
        return not check(parse(text, SLURM_CONF), SLURM_CONF)
    except Broken:
        return False


# --- which texts are read ---------------------------------------------------------------------

ACCEPTED = [
    "",
    "MaxJobCount=77",
    "\tMaxJobCount \t= 77 \r\nMinJobAge=5\r\n",
    "maxjobcount=77",
    "MaxJobCount=77 # x",
    "MaxJobCount=77#x",
    "MaxJobCount=1\nMaxJobCount=2",
    'Licenses="a b"',
    r"Licenses=a\#b",
    'Licenses=a"b"c',
    "Licenses='ab'",
    "Licenses=a,\\\nb",
    "Licenses=a,\\ \nb",
    "Licenses=a\\\r\nb\r\n",
    "Licenses=a\\",
    "Licenses=a\\\\\nMaxJobCount=77",
    "Licenses=é",
    "# comment \\\n",
    "UsePAM=UP\nTrackWCKey=0",
    "MaxJobCount=10k\nMinJobAge=0x10\nSlurmdTimeout=+5\nDefMemPerCPU=INFINITE",
    'NodeName=n1 Reason="a b" CPUs=4',
    "NodeName=n1 CPUs=4 CPUs=5",
    "PartitionName=DEFAULT MaxTime=3\nPartitionName=DEFAULT MaxTime=4",
    "SlurmctldHost=other",
    "Prolog=/a\nProlog=/b",
    'DownNodes=x State=DOWN Reason="x y"',
    "PowerAction=x Program=/a Location=slurmctld",
    "Include /dev/null",
    "include /dev/\\\nnull",
    "Licenses=" + ",".join(f"a{number}" for number in range(100_000)),
    "Licenses=" + "a,\\\n" * 10_000 + "b",
]
REFUSED = [
    "Foo=1",
    "Max.JobCount=1",
    "9Foo=1",
    "MaxJobCount",
    "MaxJobCount:77",
    "MaxJobCount=",
    "Licenses =  # none",
    "Max-JobCount=4",
    '"MaxJobCount"=4',
    "MaxJobCount=77 MinJobAge=5",
    "Licenses=a b",
    "Licenses='a b'",
    'Licenses="a b',
    r'Licenses="a \" b"',
    'Licenses="a b"c',
    r"Licenses=a\ b",
    "Licenses=a,\\\n  b",
    "Licenses=a,\\\n# comment\nb",
    "MaxJobCount=many",
    "MaxJobCount=-3",
    "MaxJobCount=1.5",
    "MaxJobCount=09",
    "MaxJobCount=10m",
    "MaxJobCount=4294967296",
    "SlurmctldTimeout=65536",
    "SlurmctldTimeout=1k",
    "DefMemPerCPU=18446744073709551616",
    "UsePAM=on",
    'UsePAM=""',
    "CPUs=4",
    "CPUs=4 NodeName=n1",
    "NodeName=n1 Foo=1",
    "NodeName=n1 NodeName=n2",
    'NodeName=n1 Reason=a"b c"',
    "PartitionName=p Default",
    "PartitionName=p Default=maybe",
    "PartitionName=p MaxNodes=abc",
    "NodeSet=s Nodes=n1 Foo=1",
    "SlurmctldHost=a b",
    f"SlurmctldHost={HOST}\nSlurmctldHost={HOST}",
    "Prolog=/a b",
    "Include=/dev/null",
    "Include /dev/null x",
    "\ufeffMaxJobCount=1",
    "\u00a0MaxJobCount=1",
    "MaxJobCount=1\u00a0",
    "SallocDefaultCommand=x",
    "AccountingStoreJobComment=no",
]
SLIPS = [
    pytest.param("Licenses+=a", id="+= replaces"),
    pytest.param('Licenses="a#b"', id="a comment within quotes"),
    pytest.param('Licenses="a', id="a quote that is not closed"),
    pytest.param("NodeName=n1 Reason= CPUs=4", id="the next pair is the value"),
    pytest.param("NodeName=n1\u00a0CPUs=4", id="a no-break space in a name"),
    pytest.param("Include\n", id="no path"),
    pytest.param("MaxJobCount=1\0x", id="NUL ends the line"),
    pytest.param("NodeName=n[1- CPUs=4", id="a hostlist, which only slurmctld looks at"),
    pytest.param("PartitionName=p\nPartitionName=p", id="a partition twice, likewise"),
]


def test_what_we_accept_slurm_accepts(box: Box) -> None:
    verdicts = box.accepted(ACCEPTED)
    assert [text for text, taken in zip(ACCEPTED, verdicts, strict=True) if not taken] == []
    assert [text for text in ACCEPTED if not we_accept(text)] == []


def test_what_slurm_refuses_we_refuse(box: Box) -> None:
    verdicts = box.accepted(REFUSED)
    assert [text for text, taken in zip(REFUSED, verdicts, strict=True) if taken] == []
    assert [text for text in REFUSED if we_accept(text)] == []


@pytest.mark.parametrize("text", SLIPS)
def test_slips_that_slurm_commands_pass_over_are_refused_by_us(box: Box, text: str) -> None:
    assert box.accepted([text]) == [True]
    assert not we_accept(text)


# --- which keys are known ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reader:
    """A program that reads one kind of file, and the words in it that could be keys."""

    file: str
    script: str
    library: str
    files: Mapping[str, str] = field(default_factory=dict)

    def complaints(self, box: Box, pairs: str) -> str:
        # With an unknown key the program always stops after reading.
        return box.run(self.script, {**self.files, self.file: f"{pairs}Planted=1\n"})


LIBRARY = "usr/lib/x86_64-linux-gnu/slurm-wlm/libslurmfull.so"
SLURM = Reader("slurm.conf", READ_SLURM_CONF, LIBRARY)
CGROUP = Reader(
    "cgroup.conf",
    READ_CGROUP_CONF,
    LIBRARY,
    {"slurm.conf": BASE.replace("linuxproc", "cgroup") + f"NodeName={HOST}\n"},
)
SLURMDBD = Reader("slurmdbd.conf", READ_SLURMDBD_CONF, "usr/sbin/slurmdbd")
TABLES = [
    pytest.param(SLURM, SLURM_CONF.parameters, id="slurm.conf"),
    pytest.param(CGROUP, CGROUP_CONF.parameters, id="cgroup.conf"),
    pytest.param(SLURMDBD, SLURMDBD_CONF.parameters, id="slurmdbd.conf"),
]
UNKNOWN = re.compile(r"unrecognized key: (\w+)")


@pytest.mark.parametrize(("reader", "keys"), TABLES)
def test_slurm_knows_every_key_of_ours_and_its_kind(box: Box, reader: Reader, keys: Keys) -> None:
    said = reader.complaints(box, "".join(f"{key.name}=zz\n" for key in keys.values()))

    assert UNKNOWN.findall(said) == ["Planted"]
    numbers = set(re.findall(r"(\w+) value \S+ is not a valid number", said))
    booleans = set(re.findall(r'"zz" is not a valid option for "(\w+)"', said))
    assert booleans == {key.name for key in keys.values() if key.kind is Kind.BOOLEAN}
    assert numbers == {
        key.name for key in keys.values() if key.kind not in (Kind.BOOLEAN, Kind.TEXT)
    }


@pytest.mark.parametrize(("reader", "keys"), TABLES)
@pytest.mark.parametrize("kind", list(MOST))
def test_slurm_holds_numbers_as_wide_as_we_say(
    box: Box, reader: Reader, keys: Keys, kind: Kind
) -> None:
    ours = {key.name for key in keys.values() if key.kind is kind}
    too_large = MOST[kind] + 1

    said = reader.complaints(box, "".join(f"{name}={too_large}\n" for name in sorted(ours)))
    assert set(re.findall(r"(\w+) value \(\d+\) is (?:greater|out)", said)) == ours
    said = reader.complaints(box, "".join(f"{name}={MOST[kind]}\n" for name in sorted(ours)))
    assert re.findall(r"(\w+) value \(\d+\) is (?:greater|out)", said) == []


def words(program: Path) -> list[str]:
    """All that could be a key in a program: the linker shares the ends of texts."""
    found = set(re.findall(rb"[A-Z][A-Za-z0-9]{2,40}(?=\0)", program.read_bytes()))
    return sorted({word[at:].decode() for word in found for at in ends(word)})


def ends(word: bytes) -> list[int]:
    return [at for at in range(len(word) - 2) if word[at : at + 1].isupper()]


@pytest.mark.parametrize(
    ("reader", "known"),
    [
        pytest.param(
            SLURM,
            {*SLURM_CONF.parameters, *map(str.lower, SLURM_CONF.records), *SLURM_CONF.removed},
            id="slurm.conf",
        ),
        pytest.param(CGROUP, {*CGROUP_CONF.parameters}, id="cgroup.conf"),
        pytest.param(SLURMDBD, {*SLURMDBD_CONF.parameters}, id="slurmdbd.conf"),
    ],
)
def test_slurm_knows_no_key_that_we_do_not(box: Box, reader: Reader, known: set[str]) -> None:
    candidates = words(box.root / reader.library)
    said = reader.complaints(box, "".join(f"{word}=zz\n" for word in candidates))

    taken = {word.lower() for word in candidates} - {word.lower() for word in UNKNOWN.findall(said)}
    assert taken - known == set()
    assert len(taken) > len(known) * 0.9


def test_slurm_knows_every_key_of_our_records_and_its_kind(box: Box) -> None:
    pairs = [(name, key) for name, keys in SLURM_CONF.records.items() for key in keys.values()]
    said = SLURM.complaints(box, "".join(f"{name}=x {key.name}=zz\n" for name, key in pairs))

    assert UNKNOWN.findall(said) == ["Planted"]
    refused = re.findall(r'Parse error in file \S+ line (\d+): " ', said)
    typed = [at for at, (_, key) in enumerate(pairs, start=1) if key.kind is not Kind.TEXT]
    assert [int(line) for line in refused] == typed


# --- what values mean -------------------------------------------------------------------------

FREE = ["SrunProlog", "SrunEpilog", "TaskProlog", "TaskEpilog", "MailDomain", "LicenseParameters"]
AWKWARD = ["p#ss", 'a"b\\c', "two  words", "back\\", "# \\# \\\\", "a=b,c='d'"]


def shown(said: str) -> dict[str, str]:
    """What scontrol shows of the configuration."""
    return dict(re.findall(r"^(\w+) += ?(.*)$", said, re.MULTILINE))


def test_awkward_values_reach_slurm_as_they_are(box: Box) -> None:
    pairs = dict(zip(FREE, AWKWARD, strict=True))
    document = Document(tuple(parameter(*pair) for pair in pairs.items()))

    found = shown(box.slurmctld(f"{NODES}{document}"))
    assert {key: found[key] for key in FREE} == pairs


def test_slurm_understands_the_odd_forms_as_we_do(box: Box) -> None:
    text = (
        "SrunProlog=/a\\b#c\nSrunEpilog=a\\#b\nTaskProlog=a,\\\nb\nTaskEpilog=a,\\  # why\nb\n"
        'MailDomain=a"b"c\nMailDomain = x=y\nLicenseParameters="a \\\n\tb"\n'
    )
    found = shown(box.slurmctld(f"{NODES}{text}"))
    assert {key: found[key] for key in FREE} == {
        key: parse(text, SLURM_CONF).get(key) for key in FREE
    }


def test_of_a_parameter_the_last_counts_and_scripts_add_up(box: Box) -> None:
    text = "MaxJobCount=77\nMaxJobCount=78\nProlog=/a\nProlog=/b\n"
    said = box.slurmctld(f"{NODES}{text}")
    assert shown(said)["MaxJobCount"] == "78"
    assert re.findall(r"^Prolog\[\d\] += (.*)$", said, re.MULTILINE) == ["/a", "/b"]


def test_a_merge_is_in_force_where_two_texts_would_be_fatal(box: Box) -> None:
    base = f"{NODES}SchedulerParameters=defer\nPartitionName=p Nodes=n1 MaxTime=5\n"
    extra = (
        "SchedulerParameters=sched_interval=1\nPartitionName=DEFAULT MaxNodes=2\n"
        "PartitionName=p Nodes=n2\nMaxJobCount=50\n"
    )
    one = merge(parse(base, SLURM_CONF), parse(extra, SLURM_CONF), SLURM_CONF)

    assert "duplicate entry for partition p" in box.slurmctld(base + extra)
    said = box.slurmctld(str(one))
    assert shown(said)["SchedulerParameters"] == "defer,sched_interval=1"
    assert shown(said)["MaxJobCount"] == "50"
    (partition,) = re.findall(r"^PartitionName=p .*$", said, re.MULTILINE)
    assert {"Nodes=n2", "MaxTime=00:05:00", "MaxNodes=2"} <= set(partition.split())


def test_slurmctld_refuses_a_node_given_twice_as_we_do(box: Box) -> None:
    text = f"{NODES}NodeName=n3 CPUs=1\n"
    assert "Duplicated NodeName n3" in box.slurmctld(text)
    assert not we_accept(text)


# --- gres.conf ----------------------------------------------------------------------------------

WITH_GPUS = f"{BASE}GresTypes=gpu\nNodeName={HOST} CPUs=1 Gres=gpu:4\n"


def slurmd_reads(box: Box, text: str) -> str:
    files = {"slurm.conf": WITH_GPUS, "cgroup.conf": "CgroupPlugin=disabled\n", "gres.conf": text}
    return box.run(READ_GRES_CONF, files)


@pytest.mark.parametrize(
    "text",
    [
        "Name=gpu File=/dev/tty[0-3]\n",
        f"AutoDetect=off\nNodeName={HOST} Name=gpu File=/dev/tty[0-2],/dev/tty7\n",
        "name=gpu MultipleFiles=/dev/tty[0-3]\n",
        "Name=gpu Count=4 File=/dev/tty[0-3] Links=-1,0,1,2\n",
    ],
)
def test_slurmd_counts_the_devices_that_we_count(box: Box, text: str) -> None:
    (ours,) = devices(parse(text, GRES_CONF))
    said = slurmd_reads(box, text)
    assert f"Gres Name={ours.name} Type=(null) Count={ours.count} " in said


@pytest.mark.parametrize(
    "text",
    [
        "Name=gpu File=/dev/tty[0-1] Count=3\n",
        "Name=gpu File=/dev/tty[3-0]\n",
        "Name=gpu File=/dev/tty1 MultipleFiles=/dev/tty[0-3]\n",
        "Name=gpu Count=4x\n",
        "Name=gpu Foo=1\n",
        "Foo=1\n",
        f"AutoDetect=off NodeName={HOST} Name=gpu\n",
    ],
)
def test_devices_that_slurmd_refuses_we_refuse(box: Box, text: str) -> None:
    assert "fatal: " in slurmd_reads(box, text)
    with pytest.raises(Broken):
        read_devices(text)


def read_devices(text: str) -> None:
    document = parse(text, GRES_CONF)
    if unknown := check(document, GRES_CONF):
        raise Broken(unknown)
    devices(document)


# --- topology.yaml ------------------------------------------------------------------------------


def test_slurmctld_takes_the_topologies_that_we_write(box: Box) -> None:
    some = (
        Topology(
            "racks",
            cluster_default=True,
            tree=Tree(
                (Switch("root", children="s[1-2]"), Switch("s1", "n[1-4]"), Switch("s2", "n[5-8]"))
            ),
        ),
        Topology("nvl", block=Blocks((Block("b1", "n[1-4]"), Block("b2", "n[5-8]")), (4, 8))),
        Topology("all", flat=True),
    )
    said = box.slurmctld(NODES, **{"topology.yaml": render(some)})
    assert "SwitchName=root Level=1 LinkSpeed=0 Nodes=n[1-8] Switches=s[1-2]" in said


@pytest.mark.parametrize(
    "text",
    [
        "- topology: t\n",
        "- topology: [t\n",
        "- {topology: t, flat: true, tree: {switches: [{switch: s, nodes: n1}]}}\n",
        "- {topology: t, tree: {switches: []}}\n",
        "- {topology: t, tree: {switches: [{nodes: n1}]}}\n",
        "- {topology: t, tree: {switches: [{switch: s, nodes: [n1]}]}}\n",
        "- {topology: t, tree: {switches: [{switch: s, nodes: 'n[1-'}]}}\n",
        "- {topology: t, tree: {switches: [{switch: s, children: x}]}}\n",
        "- {topology: t, tree: {switches: [{switch: s, nodes: n1}, {switch: s, nodes: n2}]}}\n",
        "- {topology: t, block: {block_sizes: [2, 3], blocks: [{block: b, nodes: n1}]}}\n",
        "- {topology: t, block: {block_sizes: [2, 6], blocks: [{block: b, nodes: n1}]}}\n",
    ],
)
def test_topologies_that_slurmctld_refuses_we_refuse(box: Box, text: str) -> None:
    assert "fatal: " in box.slurmctld(NODES, **{"topology.yaml": text})
    with pytest.raises(Broken):
        parse_topology(text)
