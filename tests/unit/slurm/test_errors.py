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
        (500, Refused),
        (502, Unavailable),
        (511, Unauthorized),
    ],
)
def test_without_a_list_of_errors_the_status_decides(status: int, kind: type[SlurmError]) -> None:
    assert type(error_of_status(status, "words")) is kind


def test_an_error_carries_slurms_number_name_and_sentence() -> None:
    error = error_for(
        Fault(2016, "Requested nodes are busy", "node w-0"), absent=ABSENT, safe=False
    )

    assert (error.errno, error.name) == (2016, "ESLURM_NODES_BUSY")
    assert str(error) == "node w-0: Requested nodes are busy"


def test_slurms_no_error_is_not_repeated_to_the_reader() -> None:
    assert Fault(0, "No error", "Unknown signal").sentence == "Unknown signal"
