import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from tests.unit.kube.answers import Answers
from windlass.kube import objects
from windlass.kube.errors import AlreadyExists, Conflict, Forbidden, NotFound, Refused, Status
from windlass.kube.leader import Lease, Taken
from windlass.kube.leases import ClientLeases, lease_object, lease_of
from windlass.values.key import Key

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
KEY = Key("slurm", "operator")


def test_a_lease_survives_the_way_to_the_server_and_back() -> None:
    lease = Lease("a", 15, NOON, NOON + timedelta(microseconds=7), 3, version="42", uid="u")
    assert lease_of(msgspec.convert(lease_object(lease, KEY), objects.Lease)) == lease


def test_a_lease_with_fields_left_out_is_read() -> None:
    found = {"metadata": {"resourceVersion": "1", "uid": "u"}, "spec": {}}
    want = Lease("", 1, version="1", uid="u")
    assert asyncio.run(ClientLeases(Answers(found), KEY).read()) == want


def test_a_lease_that_is_not_there_is_nothing() -> None:
    assert asyncio.run(ClientLeases(Answers(NotFound(Status())), KEY).read()) is None


@pytest.mark.parametrize(
    ("verb", "error", "raised"),
    [
        ("create", AlreadyExists, Taken),
        ("create", NotFound, NotFound),  # there is no such namespace
        ("create", Forbidden, Forbidden),
        ("replace", Conflict, Taken),
        ("replace", NotFound, Taken),
        ("replace", Forbidden, Forbidden),
    ],
)
def test_only_who_came_too_late_is_told_to_read_again(
    verb: str, error: type[Refused], raised: type[Exception]
) -> None:
    leases = ClientLeases(Answers(error(Status())), KEY)
    with pytest.raises(raised):
        asyncio.run(getattr(leases, verb)(Lease("a", 15, version="1", uid="u")))
