import pytest

from windlass.bridge.owner import parse
from windlass.values.malformed import Malformed


@pytest.mark.parametrize(
    "text", ["alice", "_apt", "alice@example.org", r"EXAMPLE\alice", "x0", "0", "1000", "65534"]
)
def test_a_name_or_a_plain_number_is_somebody(text: str) -> None:
    assert parse(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("00", "+0", "-0", "0x0", "0.0", "1e-3", "099", "0x63", "99", "~", "null", "nobody"),
        *("4294967294", "4294967295", "99999999999", "", "5 ", "alice bob"),
    ],
)
def test_what_slurm_would_take_for_another_or_for_nobody_is_refused(text: str) -> None:
    with pytest.raises(Malformed):
        parse(text)
