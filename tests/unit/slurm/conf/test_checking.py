"""What Slurm would refuse in a file that reads well."""

import pytest

from windlass.slurm.conf import CGROUP_CONF, SLURM_CONF, Format, check, parse, unknown_keys


def sentences(text: str, form: Format = SLURM_CONF) -> list[str]:
    return [str(fault) for fault in check(parse(text, form), form)]


def test_an_unknown_key_is_told_with_the_one_that_was_meant() -> None:
    document = parse("ClusterName=a\nShedulerParameters=defer\n", SLURM_CONF)
    (fault,) = unknown_keys(document, SLURM_CONF)
    assert fault.where == ("slurm.conf", 2, 1)
    assert str(fault) == (
        "slurm.conf, line 2: ShedulerParameters: Slurm knows no such key here; "
        "did you mean SchedulerParameters?"
    )


@pytest.mark.parametrize(
    ("text", "key", "fix"),
    [
        pytest.param("Xyzzy=1", "Xyzzy", "take it out", id="like no key"),
        pytest.param("CPUs=4", "CPUs", "put it on a NodeName line", id="a key of records"),
        pytest.param("NodeName=n1 CPU=4", "CPU", "did you mean CPUs?", id="within a record"),
        pytest.param("NodeName=n1 NodeName=n2", "NodeName", "line of its own", id="two records"),
        pytest.param("NodeName=n1 MaxJobCount=4", "MaxJobCount", "line of its own", id="no record"),
        pytest.param(
            "SallocDefaultCommand=x", "SallocDefaultCommand", "LaunchParameters=", id="gone"
        ),
    ],
)
def test_the_fix_says_where_the_key_belongs(text: str, key: str, fix: str) -> None:
    (sentence,) = sentences(text)
    assert f" {key}: " in sentence
    assert fix in sentence


def test_a_key_of_another_file_is_unknown() -> None:
    assert len(sentences("MaxJobCount=1\nConstrainCores=yes\n", CGROUP_CONF)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "MaxJobCount=10k",
        "MaxJobCount=0x10",
        "MaxJobCount=Unlimited",
        "maxjobcount=+5",
        "SlurmctldTimeout=65535",
        "PartitionName=p MaxNodes=UNLIMITED",
        "UsePAM=1",
        "UsePAM=Down",
    ],
)
def test_good_values_pass(text: str) -> None:
    assert sentences(text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("MaxJobCount=many", "'many' is not a number up to 4294967295"),
        ("MaxJobCount=-1", "'-1' is not a number"),
        ("MaxJobCount=09", "'09' is not a number"),
        ("SlurmctldTimeout=65536", "'65536' is not a number up to 65535"),
        ("SlurmctldTimeout=1k", "'1k' is not a number up to 65535"),
        ("UsePAM=on", "'on' is not YES or NO"),
        ("PartitionName=p Default=maybe", "'maybe' is not YES or NO"),
    ],
)
def test_bad_values_are_told_with_line_and_key(text: str, problem: str) -> None:
    (sentence,) = sentences(f"\n{text}")
    assert sentence.startswith("slurm.conf, line 2: ")
    assert problem in sentence


def test_decimals_are_for_cgroups() -> None:
    assert sentences("AllowedRAMSpace=99.5", CGROUP_CONF) == []
    assert len(sentences("AllowedRAMSpace=10k", CGROUP_CONF)) == 1


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("PartitionName=p Nodes=a\nPartitionName=p Nodes=b", "p"),
        ("NodeName=n[1-4]\nNodeName=n3", "n3"),
        ("SlurmctldHost=h(1.2.3.4)\nSlurmctldHost=h(1.2.3.5)", "h"),
        ("NodeSet=s Nodes=a\nNodeSet=s Nodes=b", "s"),
    ],
)
def test_a_name_given_twice_is_told_with_both_lines(text: str, again: str) -> None:
    (sentence,) = sentences(text)
    assert "line 2: " in sentence
    assert f"{again} is defined already (slurm.conf, line 1)" in sentence


@pytest.mark.parametrize(
    "text",
    [
        "PartitionName=DEFAULT MaxTime=1\nPartitionName=default MaxTime=2",
        "DownNodes=n1\nDownNodes=n1",
        "NodeName=p\nPartitionName=p",
        "Prolog=/a\nProlog=/b",
        "MaxJobCount=1\nMaxJobCount=2",
    ],
)
def test_what_may_be_repeated_passes(text: str) -> None:
    assert sentences(text) == []


def test_a_bad_hostlist_is_told_on_its_line() -> None:
    (sentence,) = sentences("ClusterName=a\nNodeName=n[3-1] CPUs=1")
    assert sentence.startswith("slurm.conf, line 2: NodeName: the range 3-1 runs downward")
