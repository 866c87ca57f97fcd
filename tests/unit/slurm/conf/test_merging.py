"""What a user adds, put into what was generated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.slurm.conf import SLURM_CONF, Document, check, merge, parse
from windlass.slurm.conf.merging import join


def merged(base: str, extra: str) -> str:
    return str(merge(parse(base, SLURM_CONF), parse(extra, SLURM_CONF, "extraConf"), SLURM_CONF))


@pytest.mark.parametrize(
    ("base", "extra", "want"),
    [
        pytest.param("A=1\nB=2\n", "a=3\n", "a=3\nB=2\n", id="a parameter wins in place"),
        pytest.param("A=1\n", "B=2\n#x\n", "A=1\nB=2\n#x\n", id="a new one follows"),
        pytest.param("A=1\n", "A=2\nA=3\n", "A=3\n", id="of several the last"),
        pytest.param("A=1\nA=2\nB=1\n", "A=3\n", "A=3\nB=1\n", id="doubles are made one"),
        pytest.param(
            "SlurmctldParameters=enable_configless,a=1\n",
            "slurmctldparameters=B,A=2\n",
            "slurmctldparameters=enable_configless,A=2,B\n",
            id="lists of options are joined",
        ),
        pytest.param("PrologFlags=a\n", "PrologFlags=b\n", "PrologFlags=b\n", id="others are not"),
        pytest.param(
            "Prolog=/a\n", "Prolog=/b\nProlog=/a\n", "Prolog=/a\nProlog=/b\n", id="scripts"
        ),
        pytest.param(
            "PartitionName=p Nodes=a State=UP\nB=1\n",
            "PartitionName=p nodes=b MaxTime=5\n",
            "PartitionName=p nodes=b State=UP MaxTime=5\nB=1\n",
            id="a partition is completed",
        ),
        pytest.param(
            "NodeSet=p Nodes=a\n",
            "PartitionName=p Nodes=b\n",
            "NodeSet=p Nodes=a\nPartitionName=p Nodes=b\n",
            id="records of two kinds are two",
        ),
        pytest.param(
            "SlurmctldHost=a(1)\n",
            "SlurmctldHost=b(2)\nSlurmctldHost=a(3)\n",
            "SlurmctldHost=a(3)\nSlurmctldHost=b(2)\n",
            id="controllers by their host",
        ),
        pytest.param(
            "DownNodes=n1 Reason=a\n",
            "DownNodes=n1 Reason=b\n",
            "DownNodes=n1 Reason=a\nDownNodes=n1 Reason=b\n",
            id="down nodes add up",
        ),
        pytest.param(
            "PartitionName=p Nodes=a\nB=1\n",
            "PartitionName=DEFAULT MaxTime=5\nPartitionName=p State=UP\n",
            "B=1\nPartitionName=DEFAULT MaxTime=5\nPartitionName=p Nodes=a State=UP\n",
            id="below a DEFAULT that it is meant to obey",
        ),
        pytest.param("A=1\n", "Include x\n", "A=1\nInclude x\n", id="an include is kept"),
    ],
)
def test_extra_has_the_last_word(base: str, extra: str, want: str) -> None:
    assert merged(base, extra) == want


def test_a_fault_after_the_merge_names_the_text_it_came_from() -> None:
    base = parse("ClusterName=a\n", SLURM_CONF)
    both = merge(base, parse("\nFoo=1\n", SLURM_CONF, "extraConf"), SLURM_CONF)
    assert [fault.where for fault in check(both, SLURM_CONF)] == [("extraConf", 2, 1)]


@pytest.mark.parametrize(
    ("base", "extra", "want"),
    [
        ("defer", "default_queue_depth=5000", "defer,default_queue_depth=5000"),
        ("jwt_key=/a,jwks=/b", "JWT_KEY=/C", "JWT_KEY=/C,jwks=/b"),
        ("", "a", "a"),
        (" a , ,b", "", "a,b"),
    ],
)
def test_options_are_joined_by_their_names(base: str, extra: str, want: str) -> None:
    assert join(base, extra) == want


texts = st.lists(
    st.sampled_from(
        [
            "MaxJobCount=1",
            "MaxJobCount=2",
            "Prolog=/a",
            "Prolog=/b",
            "#x",
            "SchedulerParameters=a",
            "SchedulerParameters=a=2,b",
            "PartitionName=p Nodes=x",
            "PartitionName=p State=UP",
            "PartitionName=DEFAULT MaxTime=1",
            "NodeName=n1",
            "Include x",
        ]
    ),
    max_size=6,
).map("\n".join)


@given(texts, texts)
def test_every_parameter_of_extra_is_in_force_afterwards(base: str, extra: str) -> None:
    both, added = parse(merged(base, extra), SLURM_CONF), parse(extra, SLURM_CONF)
    assert added.get("MaxJobCount") in (None, both.get("MaxJobCount"))
    assert set(added.all("Prolog")) <= set(both.all("Prolog"))
    for line in added.records("PartitionName"):
        assert any(line.name == found.name for found in both.records("PartitionName"))


@given(texts)
def test_nothing_changes_what_is_merged_with_nothing(text: str) -> None:
    document = parse(text, SLURM_CONF)
    assert merge(document, Document(), SLURM_CONF) == document


@given(texts, texts)
def test_merging_twice_is_merging_once_for_all_but_what_adds_up(base: str, extra: str) -> None:
    once = parse(merged(base, extra), SLURM_CONF)
    twice = merge(once, parse(extra, SLURM_CONF), SLURM_CONF)
    assert twice.get("MaxJobCount") == once.get("MaxJobCount")
    assert twice.get("SchedulerParameters") == once.get("SchedulerParameters")
    assert twice.all("Prolog") == once.all("Prolog")
