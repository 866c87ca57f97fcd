"""Node and job states; the lists are those that slurmrestd 26.05 gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.values.states import JOB_BASES, NODE_BASES, JobState, NodeState

NODE_FLAGS = [
    "INVALID",
    "EXTERNAL",
    "RESERVED",
    "UNDRAIN",
    "CLOUD",
    "RESUME",
    "DRAIN",
    "COMPLETING",
    "NOT_RESPONDING",
    "POWERED_DOWN",
    "FAIL",
    "POWERING_UP",
    "MAINTENANCE",
    "REBOOT_REQUESTED",
    "REBOOT_CANCELED",
    "POWERING_DOWN",
    "DYNAMIC_FUTURE",
    "REBOOT_ISSUED",
    "PLANNED",
    "INVALID_REG",
    "POWER_DOWN",
    "POWER_UP",
    "POWER_DRAIN",
    "POWER_DOWN_ASAP",
    "POWER_DOWN_FORCE",
    "DYNAMIC_NORM",
    "BLOCKED",
]
JOB_FLAGS = [
    "LAUNCH_FAILED",
    "REQUEUED",
    "REQUEUE_HOLD",
    "SPECIAL_EXIT",
    "RESIZING",
    "CONFIGURING",
    "COMPLETING",
    "STOPPED",
    "RECONFIG_FAIL",
    "POWER_UP_NODE",
    "REVOKED",
    "REQUEUE_FED",
    "RESV_DEL_HOLD",
    "SIGNALING",
    "STAGE_OUT",
    "EXPEDITING",
]


def node_facts(state: NodeState) -> set[str]:
    names = (
        "busy idle drain drained draining completing down fail not_responding powered_off "
        "planned reserved external"
    )
    return {name for name in names.split() if getattr(state, name)}


def job_facts(state: JobState) -> set[str]:
    names = "pending running suspended completing comes_back ended ended_well ended_badly"
    return {name for name in names.split() if getattr(state, name)}


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ("IDLE", "idle"),
        ("ALLOCATED", "busy"),
        ("MIXED PLANNED", "busy planned"),
        ("IDLE COMPLETING", "busy completing"),
        ("IDLE DRAIN", "idle drain drained"),
        ("DOWN EXTERNAL DRAIN DYNAMIC_NORM", "down drain drained external"),
        ("ALLOCATED DRAIN", "busy drain draining"),
        ("MIXED DRAIN", "busy drain draining"),
        ("IDLE DRAIN COMPLETING", "busy completing drain draining"),
        ("IDLE DRAIN UNDRAIN", "idle"),
        ("DOWN NOT_RESPONDING", "down not_responding"),
        ("IDLE CLOUD POWERED_DOWN", "idle powered_off"),
        ("IDLE RESERVED", "idle reserved"),
        ("IDLE MAINTENANCE", "idle reserved"),
        ("IDLE FAIL", "idle fail"),
        ("", ""),
    ],
)
def test_facts_follow_from_base_and_flags(words: str, want: str) -> None:
    assert node_facts(NodeState.parse(words.split())) == set(want.split())


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("idle", "IDLE"),
        ("idle*", "IDLE+NOT_RESPONDING"),
        ("idle~", "IDLE+POWERED_DOWN"),
        ("mix-", "MIXED+PLANNED"),
        ("mixed-drain", "MIXED+DRAIN"),
        ("alloc+", "ALLOCATED+COMPLETING"),
        ("allocated#", "ALLOCATED+POWERING_UP"),
        ("comp", "UNKNOWN+COMPLETING"),
        ("drained$", "UNKNOWN+DRAIN+DRAINED+MAINTENANCE"),
        ("drain~", "UNKNOWN+DRAIN+POWERED_DOWN"),
        ("drng", "MIXED+DRAIN"),
        ("draining@", "MIXED+DRAIN+REBOOT_REQUESTED"),
        ("down*", "DOWN+NOT_RESPONDING"),
        ("futr", "FUTURE"),
        ("plnd", "IDLE+PLANNED"),
        ("resv", "IDLE+RESERVED"),
        ("maint", "UNKNOWN+MAINTENANCE"),
        ("boot^", "UNKNOWN+REBOOT_ISSUED"),
        ("inval", "UNKNOWN+INVALID_REG"),
        ("IDLE+CLOUD+DYNAMIC_NORM+POWERED_DOWN", "IDLE+CLOUD+DYNAMIC_NORM+POWERED_DOWN"),
        ("DOWN*+DRAIN", "DOWN+DRAIN+NOT_RESPONDING"),
        ("DOWN+RESERVED", "DOWN+RESERVED"),
        ("idle&", "IDLE+&"),
        ("", "UNKNOWN"),
    ],
)
def test_the_short_words_of_sinfo_and_scontrol_are_read(text: str, want: str) -> None:
    assert str(NodeState.parse(text)) == want


def test_a_drained_node_of_sinfo_is_drained_but_not_known_to_be_up() -> None:
    """Sinfo says `drained` of IDLE+DRAIN and of DOWN+DRAIN alike."""
    assert node_facts(NodeState.parse("drained")) == {"drain", "drained"}


def test_a_flag_of_a_later_slurm_is_kept() -> None:
    state = NodeState.parse(["IDLE", "QUANTUM"])
    assert state.idle
    assert state.has("QUANTUM")


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ("PENDING", "pending"),
        ("PENDING REQUEUE_HOLD", "pending comes_back"),
        ("RUNNING CONFIGURING", "running"),
        ("SUSPENDED", "suspended"),
        ("COMPLETED", "ended ended_well"),
        ("COMPLETED COMPLETING", "completing ended ended_well"),
        ("CANCELLED", "ended ended_badly"),
        ("TIMEOUT COMPLETING", "completing ended ended_badly"),
        ("NODE_FAIL", "ended ended_badly"),
        ("OUT_OF_MEMORY", "ended ended_badly"),
        ("PREEMPTED COMPLETING REQUEUED", "completing comes_back"),
        ("FAILED SPECIAL_EXIT", "comes_back"),
        ("", ""),
        ("SOMETHING_NEW", ""),
    ],
)
def test_a_job_has_ended_when_its_outcome_is_final(words: str, want: str) -> None:
    assert job_facts(JobState.parse(words.split())) == set(want.split())


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("R", "RUNNING"),
        ("PD", "PENDING"),
        ("CG", "UNKNOWN+COMPLETING"),
        ("OOM", "OUT_OF_MEMORY"),
        ("CANCELLED by 1000", "CANCELLED"),
        ("CANCELLED+", "CANCELLED"),
        ("COMPLETED", "COMPLETED"),
    ],
)
def test_the_words_of_squeue_and_sacct_are_read(text: str, want: str) -> None:
    assert str(JobState.parse(text)) == want


@given(st.sampled_from(NODE_BASES), st.sets(st.sampled_from([*NODE_FLAGS, "LATER"])))
def test_a_printed_node_state_is_read_back(base: str, flags: set[str]) -> None:
    state = NodeState(base, frozenset(flags))
    # PLANNED and RESERVED alone mean an idle node to sinfo; behind a base they are flags only.
    assert NodeState.parse(str(state)) == state
    assert NodeState.parse([*flags, base]) == state
    assert not (state.drained and state.draining)
    assert not (state.idle and state.busy)


@given(st.sampled_from(JOB_BASES), st.sets(st.sampled_from([*JOB_FLAGS, "LATER"])))
def test_a_printed_job_state_is_read_back(base: str, flags: set[str]) -> None:
    state = JobState(base, frozenset(flags))
    assert JobState.parse(str(state)) == state
    assert state.ended == (state.ended_well or state.ended_badly)


def test_equal_states_are_one_object() -> None:
    assert NodeState.parse(["IDLE", "DRAIN"]) is NodeState.parse(["IDLE", "DRAIN"])


@pytest.mark.parametrize(
    ("said", "want"),
    [
        pytest.param(["IDLE", "DRAIN"], True, id="no job and no new one"),
        pytest.param(["DOWN", "DRAIN"], True, id="nothing can run on it"),
        pytest.param(["UNKNOWN", "DRAIN"], False, id="Slurm does not know yet what runs there"),
        pytest.param(["DRAIN"], False, id="no base at all"),
        pytest.param("drained", True, id="sinfo says that the last job has gone"),
    ],
)
def test_a_node_is_drained_only_if_it_is_known_that_nothing_runs(
    said: str | list[str], want: bool
) -> None:
    assert NodeState.parse(said).drained is want
