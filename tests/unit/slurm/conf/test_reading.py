"""Reading and printing; tests/contract/test_conf.py holds the same reader against Slurm itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.slurm.conf import (
    SLURM_CONF,
    Blank,
    Broken,
    Comment,
    Document,
    Include,
    Line,
    Pair,
    Parameter,
    Record,
    Unwritable,
    parameter,
    parse,
    record,
)


def read(text: str) -> tuple[Line, ...]:
    return parse(text, SLURM_CONF).lines


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("MaxJobCount=77", "77", id="plain"),
        pytest.param("\t MaxJobCount\t=  77 \r\n", "77", id="blanks around ="),
        pytest.param("maxjobcount=77", "77", id="the case of a key is nothing"),
        pytest.param("MaxJobCount=77#x", "77", id="a comment needs no blank"),
        pytest.param(r"MaxJobCount=a\#b", "a#b", id="an escaped #"),
        pytest.param(r"MaxJobCount=a\\#b", "a\\", id="an escaped backslash and a comment"),
        pytest.param(r"MaxJobCount=a\b", "ab", id="a backslash is taken out"),
        pytest.param('MaxJobCount="a  b"', "a  b", id="quoted"),
        pytest.param('MaxJobCount=""', "", id="quoted nothing"),
        pytest.param('MaxJobCount=a"b"c', 'a"b"c', id="quotes within a word"),
        pytest.param("MaxJobCount=a=b,c=d", "a=b,c=d", id="= in the value"),
        pytest.param("MaxJobCount=a,\\\nb", "a,b", id="continued"),
        pytest.param("MaxJobCount=a,\\  # why\nb", "a,b", id="continued, with a comment"),
        pytest.param("MaxJobCount=a,\\\n# why\n", "a,", id="a comment ends a continuation"),
        pytest.param("MaxJobCount=a\\", "a", id="continued by nothing"),
        pytest.param("MaxJobCount=1\nMaxJobCount=2", "2", id="the last one counts"),
    ],
)
def test_a_value_is_what_slurm_makes_of_it(text: str, want: str) -> None:
    assert parse(text, SLURM_CONF).get("MaxJobCount") == want


def test_every_line_is_kept_in_its_place() -> None:
    text = "# head\n\nPrologFlags=Contain # why\ninclude more.conf\nNodeName=n1 CPUs=4 Reason='x'\n"
    assert read(text) == (
        Comment(" head"),
        Blank(),
        Parameter(Pair("PrologFlags", "Contain"), " why"),
        Include("more.conf"),
        record("NodeName", "n1", CPUs="4", Reason="'x'"),
    )


def test_a_comment_is_not_continued() -> None:
    assert read("# a \\\nMaxJobCount=1") == (Comment(" a \\"), parameter("MaxJobCount", 1))


def test_what_is_printed_has_one_layout() -> None:
    text = 'MaxJobCount = 7\nNodeName=n1 \\\n  Reason="a \\#1" \\\n  CPUs=4   #c\n'
    assert str(parse(text, SLURM_CONF)) == 'MaxJobCount=7\nNodeName=n1 Reason="a \\#1" CPUs=4 #c\n'


@pytest.mark.parametrize(
    ("text", "line", "column", "key", "problem"),
    [
        ("\nhello", 2, 1, "hello", "no = after it"),
        ("Licenses=", 1, 1, "Licenses", "no value"),
        ("Licenses =  # none", 1, 1, "Licenses", "no value"),
        ("Max-Job=4", 1, 1, "Max-Job", "is no key"),
        ("Licenses=a b", 1, 12, "Licenses", "b stands after the value"),
        ("Licenses=a,\\\n  b", 2, 3, "Licenses", "b stands after the value"),
        (r"Licenses=\a\b c", 1, 15, "Licenses", "c stands after the value"),
        ("MaxJobCount=1 MinJobAge=2", 1, 15, "MaxJobCount", "MinJobAge=2 stands on the same line"),
        ('Licenses="a b', 1, 10, "Licenses", "quote does not end"),
        ('Licenses="a "b"', 1, 10, "Licenses", "quote does not end"),
        ('Licenses="a"b', 1, 10, "Licenses", "quote does not end"),
        ('Licenses=a"b c"', 1, 14, "Licenses", "quote does not end"),
        ('StoragePass="a#b"', 1, 13, "StoragePass", "even within quotes"),
        ('StoragePass="a #b"', 1, 13, "StoragePass", "even within quotes"),
        ("Licenses+=a", 1, 1, "Licenses", "would replace"),
        ("Include", 1, 1, "Include", "no path"),
        ("Include a b", 1, 10, "Include", "more than a path"),
        ("Include=/a", 1, 1, "Include", "takes no ="),
        ("PartitionName=p Nodes= State=UP", 1, 17, "Nodes", "take State=UP for it"),
        ("\ufeffMaxJobCount=1", 1, 1, "", "U+FEFF"),
        ("NodeName=n1\u00a0CPUs=4", 1, 12, "NodeName", "U+00A0"),
        ("MaxJobCount=1\0", 1, 14, "", "NUL"),
        ('MaxJobCount=a"\u00a0"', 1, 15, "MaxJobCount", "U+00A0"),
        ("NodeName=n1 \u00a0CPUs=4", 1, 13, "NodeName", "U+00A0"),
        ("Include \u2003a", 1, 9, "Include", "U+2003"),
        ("# a\0b", 1, 1, "#", "line break"),
    ],
)
def test_a_broken_line_is_refused_with_its_place_and_key(
    text: str, line: int, column: int, key: str, problem: str
) -> None:
    with pytest.raises(Broken) as caught:
        read(text)
    (fault,) = caught.value.faults
    assert fault.where == ("slurm.conf", line, column)
    assert fault.key == key
    assert problem in fault.problem


def test_all_faults_are_told_at_once_and_the_file_is_called_as_the_user_knows_it() -> None:
    with pytest.raises(Broken) as caught:
        parse("one\nMaxJobCount=1\ntwo\n", SLURM_CONF, file="extraConf")
    assert str(caught.value) == (
        "extraConf, line 1: one: there is no = after it; write one=VALUE, or # before a comment\n"
        "extraConf, line 3: two: there is no = after it; write two=VALUE, or # before a comment"
    )


@pytest.mark.parametrize("value", ['"a', 'a "b" c', "a\nb", "a\0b", '"'])
def test_a_value_that_slurm_cannot_read_is_not_written(value: str) -> None:
    with pytest.raises(Unwritable, match="StoragePass"):
        parameter("StoragePass", value)


@pytest.mark.parametrize("value", ["", "a b", "p#ss\\w=rd", 'a"b', "'x'", "\\", "a\\", "é", "a\rb"])
def test_any_other_value_is_written_so_that_slurm_reads_it(value: str) -> None:
    assert parse(str(parameter("StoragePass", value)), SLURM_CONF).get("StoragePass") == value


def test_a_line_of_a_megabyte_is_read() -> None:
    value = ",".join(f"n{number}" for number in range(150_000))
    assert parse(f"Licenses={value}", SLURM_CONF).get("Licenses") == value
    assert (
        parse("Licenses=" + "a,\\\n" * 20_000 + "b", SLURM_CONF).get("Licenses")
        == "a," * 20_000 + "b"
    )


# --- properties ------------------------------------------------------------------------------

keys = st.from_regex(r"[A-Za-z0-9_.]{1,6}", fullmatch=True).filter(
    lambda key: SLURM_CONF.record_keys(key) is None and key.lower() != "include"
)
awkward = st.text(alphabet="ab= \t\\#\"'\u00a0\r,é", max_size=8)


def writable(key: str, value: str) -> Pair | None:
    try:
        return Pair(key, value)
    except Unwritable:
        return None


pairs = st.builds(writable, keys, awkward).filter(bool)
comments = awkward.filter(lambda text: not text.endswith("\r"))
names = st.builds(writable, st.sampled_from(["NodeName", "partitionname"]), awkward).filter(bool)
paths = st.from_regex(r"[a-z/#\\]{1,6}", fullmatch=True)
some_lines: st.SearchStrategy[Line] = st.one_of(
    st.just(Blank()),
    st.builds(Comment, comments),
    st.builds(Include, paths, comments),
    st.builds(Parameter, pairs, comments),
    st.builds(Record, names, st.lists(pairs, max_size=3).map(tuple), comments),
)


@given(st.lists(some_lines, max_size=6))
def test_what_is_printed_reads_back_equal(lines: list[Line]) -> None:
    document = Document(tuple(lines))
    assert parse(str(document), SLURM_CONF) == document


@given(st.text(alphabet='aN= \t\\#"\n+\u00a0\r', max_size=30))
def test_any_text_is_either_a_document_or_faults_with_lines(text: str) -> None:
    document, lines = parsed(text)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines)
    assert parse(str(document), SLURM_CONF) == document


def parsed(text: str) -> tuple[Document, list[int]]:
    try:
        return parse(text, SLURM_CONF), []
    except Broken as broken:
        return Document(), [fault.where.line for fault in broken.faults]
