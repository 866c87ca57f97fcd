import doctest
import json
import re
from pathlib import Path
from typing import Any

import pytest

from windlass.slurm import key_set
from windlass.slurm.key_set import KeySet
from windlass.values.malformed import Malformed

OLD, NEW = b"\0o" * 16, b"n" * 16
BOTH = KeySet.of(OLD, "old").adding(NEW, "new")


def test_the_example_runs() -> None:
    assert doctest.testmod(key_set).failed == 0


def test_the_states_of_the_how_to_are_each_one_step_from_the_last() -> None:
    page = (Path(__file__).parents[3] / "docs" / "howto" / "rotate-keys.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    known: dict[str, Any] = {"old_key": OLD}
    exec(block, known)
    states = [known[name] for name in ("both", "switched", "after")]
    assert [(list(state.keys), state.signs) for state in states] == [
        (["first", "second"], "first"),
        (["first", "second"], "second"),
        (["second"], "second"),
    ]
    assert known["both"].keys["first"] == OLD


@pytest.mark.parametrize("keys", [KeySet.of(OLD, "old"), BOTH, BOTH.signing_with("new")])
def test_what_is_written_reads_back_equal(keys: KeySet) -> None:
    assert KeySet.parse(str(keys)) == keys


def test_exactly_one_key_is_marked_as_the_one_that_signs() -> None:
    entries = json.loads(str(BOTH.signing_with("new")))["keys"]
    assert [entry.get("use") for entry in entries] == [None, "default"]


def test_keys_are_not_shown() -> None:
    assert "nnn" not in repr(BOTH)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"keys": []}',
        '{"keys": [{"kid": "a", "k": "c2VjcmV0LXNlY3JldC1zZWNyZXQ="}]}',
        '{"keys": [{"kid": "a", "k": "no base64!", "use": "default"}]}',
        '{"keys": [{"kid": "a", "k": "c2hvcnQ=", "use": "default"}]}',
        '{"keys": [7]}',
        str(BOTH).replace('"kid": "new"', '"kid": "old"'),
    ],
)
def test_what_is_no_set_of_keys_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(Malformed) as refused:
        KeySet.parse(text)
    assert "c2VjcmV0" not in str(refused.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: BOTH.without("old"),
        lambda: BOTH.signing_with("none"),
        lambda: BOTH.adding(OLD, "new"),
        lambda: KeySet.of(b"short", "old"),
    ],
)
def test_a_set_without_a_key_that_signs_or_with_two_of_a_name_is_refused(wrong: object) -> None:
    assert callable(wrong)
    with pytest.raises(ValueError, match=r"old|none|new"):
        wrong()
