import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.workers.observed import node_set
from windlass.operator.workers.belonging import Belonging, belonging, owner, read
from windlass.slurm.model import Node

OURS = Belonging("hpc", "w", "u-w")
SLINKY = '{"namespace":"hpc","podName":"w-0","node":"n1","nodeSetName":"w","nodeSetUID":"u-w"}'
names = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True)


def test_the_nodes_of_a_set_say_whose_they_are() -> None:
    assert str(belonging(node_set().metadata)) == "namespace=hpc,nodeSetName=w,nodeSetUID=u-w"


@pytest.mark.parametrize(
    ("extra", "comment", "whose"),
    [
        (str(OURS), "", OURS),
        ("", SLINKY, OURS),
        (SLINKY, "", OURS),
        (str(OURS), "rack 7", OURS),
        ("rack 7", SLINKY, OURS),
        (str(OURS), SLINKY.replace("u-w", "u-old"), OURS),
        ("", "", None),
        ("rack 7", "a comment", None),
        ("{", '{"namespace":"hpc"}', None),
        ("namespace=hpc,nodeSetName=w,nodeSetUID=", "[]", None),
        ("namespace=hpc", '{"namespace":1,"nodeSetName":"w","nodeSetUID":"u"}', None),
    ],
)
def test_whose_a_node_is(extra: str, comment: str, whose: Belonging | None) -> None:
    assert owner(Node(name="w-0", extra=extra, comment=comment)) == whose


@given(namespace=names, name=names, uid=names)
def test_what_is_written_is_read_back_also_through_a_shell(
    namespace: str, name: str, uid: str
) -> None:
    written = str(Belonging(namespace, name, uid))

    assert read(written) == Belonging(namespace, name, uid)
    assert shlex.split(written) == [written]
    assert not set(written) & set("{}[]*?~$`\\!<>|&;()#")


@given(st.text())
def test_whatever_others_write_is_no_fault(text: str) -> None:
    owner(Node(name="w-0", extra=text, comment="{" + text))
