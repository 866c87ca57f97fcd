import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.bridge.gang import GangKey
from windlass.bridge.marker import LISTED, Marker, ours, read, slinky
from windlass.slurm.model import Job
from windlass.values.key import Key

MARK = Marker("blue", GangKey("Job", "team", "train"), "uid", "1", "d1", (Key("team", "train-0"),))
names = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF), min_size=1).filter(
    lambda text: "/" not in text
)


@given(st.builds(Marker, names, st.builds(GangKey, names, names, names, st.text()), names))
def test_what_is_written_is_read_back(marker: Marker) -> None:
    assert read(marker.write()) == marker


def test_the_comment_is_slinkys_with_ours_beside_it() -> None:
    assert json.loads(MARK.write()) == {
        "pods": ["team/train-0"],
        "windlass": {
            "cluster": "blue",
            "kind": "Job",
            "namespace": "team",
            "name": "train",
            "uid": "uid",
            "attempt": "1",
            "digest": "d1",
        },
    }


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "a word of an administrator",
        "null",
        "{}",
        "[]",
        '{"foo": 1}',
        '{"pods": ["team/p"]}',
        '{"pods": 1}',
        '{"windlass": {}}',
        '{"windlass": {"cluster": "blue"}}',
        '{"windlass": "blue"}',
        '{"windl',
    ],
)
def test_no_other_comment_makes_a_job_ours(comment: str) -> None:
    assert ours(Job(1, admin_comment=comment), "blue") is None


@given(st.text() | st.text().map(lambda text: "{" + text))
def test_no_comment_makes_reading_fail(comment: str) -> None:
    read(comment)
    slinky(Job(1, admin_comment=comment))


def test_only_jobs_of_our_cluster_are_ours() -> None:
    job = Job(1, admin_comment=MARK.write())
    assert ours(job, "blue") == MARK
    assert ours(job, "green") is None


def test_jobs_of_slinky_name_their_pods() -> None:
    theirs = Job(1, admin_comment='{"pods":["a/b","a/c"]}')
    assert slinky(theirs) == (Key("a", "b"), Key("a", "c"))
    assert slinky(Job(1, admin_comment=MARK.write())) == ()
    assert slinky(Job(1, admin_comment='{"pods":["/"]}')) == ()


def test_a_comment_stays_short_however_many_pods_there_are() -> None:
    many = tuple(Key("team", f"pod-{'x' * 50}-{n}") for n in range(5000))
    marker = Marker("blue", MARK.key, "uid", pods=many)
    text = marker.write()
    assert len(text) < LISTED + 1000
    found = read(text)
    assert found is not None
    assert found.identity == marker.identity
    assert found.pods == many[: len(found.pods)]


def test_another_attempt_is_another_job_and_another_wish_is_not() -> None:
    def marker(attempt: str, digest: str) -> Marker:
        return Marker("blue", MARK.key, "uid", attempt, digest)

    assert marker("1", "a").identity == marker("1", "b").identity
    assert marker("1", "a").identity != marker("2", "a").identity
