"""What was submitted is not submitted again before it would be in Slurm's list."""

from windlass.bridge.gang import GangKey
from windlass.bridge.sent import REFUSED, UNSEEN, Identity, Sent
from windlass.values.clock import Instant

ME: Identity = ("blue", GangKey("Job", "team", "train"), "uid", "")
NOW = Instant(1000.0)


def test_what_nobody_sent_is_waited_for_by_nobody() -> None:
    assert Sent().not_before(ME) is None


def test_what_was_sent_is_waited_for_until_a_younger_job_is_seen() -> None:
    sent = Sent()
    sent.sent(ME, NOW, after=3)
    assert sent.not_before(ME) == NOW + UNSEEN
    sent.seen(ME, 4)
    assert sent.not_before(ME) is None


def test_an_older_job_that_changes_is_not_the_one_that_was_sent() -> None:
    sent = Sent()
    sent.sent(ME, NOW, after=3)
    sent.seen(ME, 3)
    assert sent.not_before(ME) == NOW + UNSEEN


def test_what_slurm_refused_is_asked_for_again_later() -> None:
    sent = Sent()
    sent.sent(ME, NOW, after=0)
    sent.refused(ME, NOW)
    assert sent.not_before(ME) == NOW + REFUSED


def test_what_never_left_can_be_sent_at_once() -> None:
    sent = Sent()
    sent.sent(ME, NOW, after=0)
    sent.never_sent(ME)
    assert sent.not_before(ME) is None
