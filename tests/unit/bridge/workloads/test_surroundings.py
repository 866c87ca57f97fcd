import msgspec
import pytest

from tests.unit.bridge.builders import alike, gang_job
from windlass.bridge.devices import DEFAULT
from windlass.bridge.workloads import choosing
from windlass.bridge.workloads.surroundings import DEEPEST, Owner, Surroundings, owners
from windlass.kube.meta import Meta, OwnerReference, PartialObject
from windlass.kube.objects import Pod

WATCHED = ("Job", "JobSet")


def owned(name: str, by: str = "") -> Meta:
    """An object and, as `Kind name`, its controller; the name is the UID as well."""
    kind, _, owner = by.partition(" ")
    above = [{"kind": kind, "name": owner, "uid": owner, "controller": True}] if by else None
    return msgspec.convert({"name": name, "uid": name, "ownerReferences": above}, Meta)


@pytest.mark.parametrize(
    ("world", "found", "missing"),
    [
        ({"j": "JobSet s", "s": ""}, ["Job j", "JobSet s"], ""),
        ({"j": "JobSet s"}, ["Job j"], "JobSet s"),
        ({}, [], "Job j"),
        ({"j": "Workflow w"}, ["Job j"], ""),
    ],
)
def test_owners_are_found_from_the_nearest_up(
    world: dict[str, str], found: list[str], missing: str
) -> None:
    def lookup(above: OwnerReference) -> Owner | None:
        if above.name not in world:
            return None
        return Owner(above.kind, PartialObject(metadata=owned(above.name, world[above.name])))

    chain, lost = owners(owned("p", "Job j"), lookup, WATCHED)
    assert [owner.of for owner in chain] == found
    assert lost == missing


def test_an_owner_of_the_same_name_made_anew_is_not_the_owner() -> None:
    other = PartialObject(metadata=Meta(name="j", uid="other"))
    assert owners(owned("p", "Job j"), lambda _: Owner("Job", other), WATCHED) == ((), "Job j")


def test_owners_in_a_circle_come_to_an_end() -> None:
    def lookup(above: OwnerReference) -> Owner:
        return Owner("Job", PartialObject(metadata=owned(above.name, "Job j")))

    assert len(owners(owned("p", "Job j"), lookup, WATCHED)[0]) == DEEPEST


@pytest.mark.parametrize("known", [(), (Owner("Job", gang_job(1)),)])
def test_pods_wait_for_an_owner_that_is_not_there_yet(known: tuple[Owner, ...]) -> None:
    pod = Pod(metadata=Meta(name="p", namespace="team"))
    gang = choosing.gang([pod], alike(Surroundings(known, missing="JobSet s")), DEFAULT)
    assert str(gang.waits) == "OwnerMissing: JobSet s owns the pod and has not been seen"
