import pytest

from windlass.slurm.errors import (
    Absent,
    Busy,
    Fault,
    Refused,
    SlurmError,
    Unauthorized,
    Unavailable,
    Unsupported,
    error_for,
    error_of_status,
)

ABSENT = frozenset({2017})


@pytest.mark.parametrize(
    ("errno", "safe", "kind"),
    [
        (2017, True, Absent),
        (2018, False, Refused),  # another call's word for absent
        (2016, False, Busy),
        (1804, True, Busy),
        (1800, True, Unavailable),
        (2027, True, Unavailable),
        (7000, False, Unavailable),
        (-1, True, Unavailable),
        (-1, False, Refused),
        (104, False, Unavailable),  # slurmctld died in the middle of the call
        (111, True, Unavailable),
        (1, False, Refused),
        (1007, True, Unauthorized),
        (6001, True, Unauthorized),
        (2010, False, Unauthorized),
        (2073, False, Refused),
        (9999, False, Refused),
        (0, False, Refused),
    ],
)
def test_a_number_decides(errno: int, safe: bool, kind: type[SlurmError]) -> None:
    assert type(error_for(Fault(errno, "some words"), absent=ABSENT, safe=safe)) is kind


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused),
        (401, Unauthorized),
        (404, Unsupported),
        (429, Busy),
        (500, Unavailable),
        (502, Unavailable),
        (511, Unauthorized),
    ],
)
def test_without_a_list_of_errors_the_status_decides(status: int, kind: type[SlurmError]) -> None:
    assert type(error_of_status(status, "words")) is kind


@pytest.mark.parametrize(
    ("errno", "sent"),
    [(1800, False), (1001, False), (111, False), (2027, False), (104, True), (1802, True)],
)
def test_a_number_says_whether_slurmctld_may_have_heard(errno: int, sent: bool) -> None:
    error = error_for(Fault(errno, "some words"), absent=ABSENT, safe=False)

    assert isinstance(error, Unavailable)
    assert error.sent == sent


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_what_a_proxy_did_before_it_gave_up_is_not_known(status: int) -> None:
    error = error_of_status(status, "words")

    assert isinstance(error, Unavailable)
    assert error.sent


def test_a_call_can_have_a_number_of_its_own_for_silence() -> None:
    fault = Fault(1, "Operation not permitted")
    error = error_for(fault, absent=ABSENT, safe=False, silence=frozenset({1}))

    assert isinstance(error, Unavailable)
    assert error.sent


def test_an_error_carries_slurms_number_name_and_sentence() -> None:
    error = error_for(
        Fault(2016, "Requested nodes are busy", "node w-0"), absent=ABSENT, safe=False
    )

    assert (error.errno, error.name) == (2016, "ESLURM_NODES_BUSY")
    assert str(error) == "node w-0: Requested nodes are busy"


def test_slurms_no_error_is_not_repeated_to_the_reader() -> None:
    assert Fault(0, "No error", "Unknown signal").sentence == "Unknown signal"
