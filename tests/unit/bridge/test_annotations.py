import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.api.validation.findings import Caution, Problem
from windlass.bridge import annotations
from windlass.bridge.annotations import NAMES, Wishes, merge, parse, read
from windlass.values.gres import Gres
from windlass.values.malformed import Malformed

NEW = "slurmjob.slinky.slurm.net/"
OLD = "slinky.slurm.net/"


@pytest.mark.parametrize(
    ("name", "text", "wish"),
    [
        ("account", "physics", Wishes(account="physics")),
        ("comment", "two words", Wishes(comment="two words")),
        ("constraints", "(a100|h100)&ib", Wishes(constraints="(a100|h100)&ib")),
        ("cpu-per-task", "1500m", Wishes(cpus=2)),
        ("cpus-per-task", "4", Wishes(cpus=4)),
        ("exclusive", "true", Wishes(exclusive=True)),
        ("exclusive", " False ", Wishes(exclusive=False)),
        ("gang", "true", Wishes(gang=True)),
        ("gres", "gpu:h100:2", Wishes(gres=(Gres("gpu", "h100", 2),))),
        ("gres", "gres/gpu=2", Wishes(gres=(Gres("gpu", "", 2),))),
        ("group-id", "100", Wishes(group="100")),
        ("job-name", "night run", Wishes(job_name="night run")),
        ("licenses", "ansys:2,matlab", Wishes(licenses="ansys:2,matlab")),
        ("max-nodes", "8", Wishes(max_nodes=8)),
        ("min-nodes", "2", Wishes(min_nodes=2)),
        ("mem-per-node", "1Gi", Wishes(memory=1024)),
        ("mem-per-node", "1k", Wishes(memory=1)),
        ("partition", "gpu,debug", Wishes(partition="gpu,debug")),
        ("priority", "0", Wishes(priority=0)),
        ("qos", "high", Wishes(qos="high")),
        ("reservation", "course", Wishes(reservation="course")),
        ("timelimit", "30", Wishes(time_limit=30)),
        ("timelimit", "1-00:00:30", Wishes(time_limit=1441)),
        ("timelimit", "UNLIMITED", Wishes(time_limit=math.inf)),
        ("user-id", "alice", Wishes(user="alice")),
        ("wckey", "w", Wishes(wckey="w")),
    ],
)
def test_a_job_annotation_is_read_by_its_type(name: str, text: str, wish: Wishes) -> None:
    assert read({NEW + name: text}) == annotations.Reading(wish)


def test_the_table_above_names_every_annotation() -> None:
    marks = getattr(test_a_job_annotation_is_read_by_its_type, "pytestmark")  # noqa: B009
    assert {case[0] for case in marks[0].args[1]} == set(NAMES)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("account", "two words", "there is a blank in it"),
        ("job-name", "a\nb", "it is more than one line of text"),
        ("exclusive", "maybe", "'maybe' is no answer"),
        ("max-nodes", "0", "'0' is no whole number from 1 to 2147483647"),
        ("min-nodes", "-1", "'-1' is no whole number from 1 to 2147483647"),
        ("min-nodes", "2147483648", "'2147483648' is no whole number from 1 to 2147483647"),
        ("priority", "high", "'high' is no whole number from 0 to 2147483647"),
        ("cpu-per-task", "0", "it must be more than 0"),
        ("mem-per-node", "-1Gi", "it must be more than 0"),
        ("mem-per-node", "4 GB", "' GB' is no unit"),
        ("timelimit", "0", "no job ends at once"),
        ("timelimit", "an hour", "'a' is no digit"),
        ("gres", "gpu:", "'gpu:' is no resource"),
        ("qos", "  ", "it is empty"),
        ("user-id", "two words", "'two words' is no name and no number"),
        ("user-id", "nobody", "nobody is nobody to Slurm, and a job must be somebody's"),
        ("group-id", "00", "'00' is no name and no number"),
    ],
)
def test_a_bad_value_is_refused_with_the_annotation_and_a_fix(
    name: str, text: str, problem: str
) -> None:
    reading = read({NEW + name: text}, of="Job train")

    assert reading.wishes == Wishes()
    (found,) = reading.findings
    assert isinstance(found, Problem)
    assert found.field == f"Job train metadata.annotations[{NEW}{name}]"
    assert found.sentence == problem
    assert found.fix


def test_malformed_says_which_annotation_it_is() -> None:
    with pytest.raises(Malformed, match=r"^annotation slurmjob\.slinky\.slurm\.net/timelimit 'x'"):
        parse(f"{NEW}timelimit", "x")


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("time-limit", f"write {NEW}timelimit"),
        ("accounts", f"write {NEW}account"),
        ("jobname", f"write {NEW}job-name"),
        ("memory-per-node", f"write {NEW}mem-per-node"),
        ("zzz", f"there are {', '.join(NAMES)}"),
    ],
)
def test_an_unknown_annotation_is_refused_with_the_nearest_known(name: str, fix: str) -> None:
    (found,) = read({NEW + name: "1"}).findings
    assert found == Problem(
        f"metadata.annotations[{NEW}{name}]", "there is no such job annotation", fix
    )


def test_the_old_prefix_is_read_with_a_word_of_caution() -> None:
    reading = read({f"{OLD}job-name": "old"})
    assert reading.wishes == Wishes(job_name="old")
    assert reading.findings == (
        Caution(
            f"metadata.annotations[{OLD}job-name]",
            "this prefix is of before 1.0",
            f"write {NEW}job-name",
        ),
    )


@pytest.mark.parametrize(
    "name", [f"{OLD}slurm-node", f"{OLD}anything", "example.org/account", "account"]
)
def test_what_is_not_about_the_job_is_not_read(name: str) -> None:
    assert read({name: "x"}) == annotations.Reading(Wishes())


def test_an_object_without_annotations_wishes_nothing() -> None:
    assert read(None) == annotations.Reading(Wishes())


@pytest.mark.parametrize(
    ("said", "problems"),
    [
        ({f"{NEW}qos": "a", f"{OLD}qos": "a"}, 0),
        ({f"{NEW}qos": "a", f"{OLD}qos": "b"}, 1),
        ({f"{NEW}cpu-per-task": "2", f"{NEW}cpus-per-task": "2000m"}, 0),
        ({f"{NEW}cpu-per-task": "2", f"{NEW}cpus-per-task": "3"}, 1),
        ({f"{NEW}min-nodes": "3", f"{NEW}max-nodes": "2"}, 1),
        ({f"{NEW}min-nodes": "2", f"{NEW}max-nodes": "2"}, 0),
    ],
)
def test_two_annotations_that_contradict_each_other_are_refused(
    said: dict[str, str], problems: int
) -> None:
    found = [one for one in read(said).findings if isinstance(one, Problem)]
    assert len(found) == problems


def test_the_new_prefix_wins_over_the_old_one() -> None:
    assert read({f"{OLD}qos": "old", f"{NEW}qos": "new"}).wishes == Wishes(qos="new")


def test_the_level_nearest_to_the_pod_wins() -> None:
    job = Wishes(account="far", qos="far", exclusive=True)
    pod = Wishes(qos="near", exclusive=False)
    assert merge([job, pod]) == Wishes(account="far", qos="near", exclusive=False)
    assert merge([]) == Wishes()


wishes = st.builds(
    Wishes,
    account=st.none() | st.sampled_from("ab"),
    exclusive=st.none() | st.booleans(),
    priority=st.none() | st.integers(0, 2),
)


@given(wishes, wishes, wishes)
def test_levels_may_be_merged_in_any_grouping(one: Wishes, two: Wishes, three: Wishes) -> None:
    assert merge([one, two, three]) == merge([merge([one, two]), three])
    assert merge([one, two, three]) == merge([one, merge([two, three])])
    assert merge([one, Wishes()]) == one


@given(st.dictionaries(st.sampled_from([NEW + n for n in (*NAMES, "x")]), st.text()))
def test_no_text_makes_reading_fail(said: dict[str, Any]) -> None:
    reading = read(said)
    assert all(str(found) for found in reading.findings)
