import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.values.key import Key
from windlass.values.malformed import Malformed

words = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,10}[a-z0-9])?", fullmatch=True)


@given(st.builds(Key, st.one_of(st.just(""), words), words))
def test_a_printed_key_is_read_back(key: Key) -> None:
    assert Key.parse(str(key)) == key


def test_keys_sort_by_namespace_then_name() -> None:
    keys = [Key("b", "a"), Key("a", "z"), Key("a", "b"), Key("", "node")]
    assert [str(key) for key in sorted(keys)] == ["node", "a/b", "a/z", "b/a"]


@pytest.mark.parametrize("text", ["", "a/", "/a", "a/b/c", "/"])
def test_half_a_key_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="key"):
        Key.parse(text)
