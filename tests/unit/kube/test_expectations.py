from collections.abc import Callable
from dataclasses import dataclass

import pytest

from windlass.kube.expectations import Expectations


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def expectations(clock: Clock | None = None) -> Expectations[str]:
    return Expectations(clock or Clock(), patience=300)


def test_nothing_expected_is_satisfied() -> None:
    assert expectations().satisfied("a")


def test_creations_are_awaited_until_all_are_seen() -> None:
    expected = expectations()
    expected.expect_creations("a", 2)
    expected.creation_seen("a")
    assert not expected.satisfied("a")
    assert expected.waits_for("a") == "1 creations and 0 deletions not seen yet"
    expected.creation_seen("a")
    assert expected.satisfied("a")
    assert expected.waits_for("a") is None


def test_a_deletion_seen_twice_stands_for_one() -> None:
    expected = expectations()
    expected.expect_deletions("a", "u1", "u2")
    expected.deletion_seen("a", "u1")
    expected.deletion_seen("a", "u1")
    assert not expected.satisfied("a")
    expected.deletion_seen("a", "u2")
    assert expected.satisfied("a")


def test_creations_and_deletions_are_both_awaited() -> None:
    expected = expectations()
    expected.expect_creations("a", 1)
    expected.expect_deletions("a", "u")
    expected.creation_seen("a")
    assert not expected.satisfied("a")
    expected.deletion_seen("a", "u")
    assert expected.satisfied("a")


@pytest.mark.parametrize(
    "unexpected",
    [
        lambda expected: expected.creation_seen("a"),
        lambda expected: expected.deletion_seen("a", "u"),
    ],
)
def test_what_others_do_disturbs_nothing(
    unexpected: Callable[[Expectations[str]], None],
) -> None:
    expected = expectations()
    unexpected(expected)
    expected.expect_creations("a", 1)
    assert not expected.satisfied("a")


def test_keys_are_strangers() -> None:
    expected = expectations()
    expected.expect_creations("a", 1)
    assert expected.satisfied("b")


def test_patience_ends_and_what_was_missed_is_not_counted_again() -> None:
    clock = Clock()
    expected = expectations(clock)
    expected.expect_creations("a", 5)
    clock.now += 300
    assert not expected.satisfied("a")
    clock.now += 1
    assert expected.satisfied("a")
    expected.expect_creations("a", 1)
    assert not expected.satisfied("a")
    expected.creation_seen("a")
    assert expected.satisfied("a")


def test_a_forgotten_key_expects_nothing() -> None:
    expected = expectations()
    expected.expect_creations("a", 1)
    expected.forget("a")
    assert expected.satisfied("a")
