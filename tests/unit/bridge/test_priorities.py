import pytest

from windlass.bridge.priorities import Priority, parse
from windlass.values.malformed import Malformed


def test_a_class_is_a_qos_a_priority_or_a_nice_value() -> None:
    assert parse({"a": "qos=high", "b": "priority=7", "c": "nice=-5"}) == {
        "a": Priority(qos="high"),
        "b": Priority(priority=7),
        "c": Priority(nice=-5),
    }


@pytest.mark.parametrize("text", ["", "high", "qos=", "priority=-1", "nice=x", "qos=a b"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(Malformed, match="is nothing that Slurm ranks by"):
        parse({"a": text})
