"""Where workers are, as Slurm knows it."""

from functools import partial

import pytest

from tests.e2e.operator.workers.crew import Crew
from windlass.api import labels
from windlass.testing.operated import until

pytestmark = pytest.mark.timeout(600)

PLACES = ("halls:root:r1,racks:b1", "halls:root:r2,racks:b2")


def tell(crew: Crew, host: str, place: str) -> None:
    """As an administrator or Topograph does; the feature is the last part of the place."""
    notes = (f"{labels.TOPOLOGY}={place}", f"{labels.FEATURES}={place.rpartition(':')[2]}")
    crew.kubectl("annotate", "node", host, "--overwrite", *notes)


def is_at(crew: Crew, worker: str, place: str) -> bool:
    found = crew.node(worker)
    feature = f"k8s/{place.rpartition(':')[2]}"
    ours = [each for each in found.get("active_features", []) if each.startswith("k8s/")]
    return found.get("topology") == place and ours == ([feature] if place else [])


def test_workers_join_with_the_place_and_features_of_their_host_and_follow_them(two: Crew) -> None:
    two.scale(1)
    until(lambda: len(two.workers()) == 1, "one is left", 60)
    (old,) = two.workers()
    (new,) = {"worker-0", "worker-1"} - {old}
    until(lambda: two.node(new) == {}, "Slurm has forgotten the other", 60)
    hosts = sorted(each["metadata"]["name"] for each in two.kubectl.get("nodes")["items"])
    places = dict(zip(hosts, PLACES, strict=True))
    try:
        for host, place in places.items():
            tell(two, host, place)
        there = places[two.host_of(old)]
        until(lambda: is_at(two, old, there), "Slurm is told of the one that is there", 30)

        two.scale(2)
        two.wait_idle(2)
        place = places[two.host_of(new)]
        assert two.inside(new, "slurmd", "printenv", "SLINKY_TOPOLOGY").strip() == place
        assert two.node(new)["topology"] == place
        until(lambda: is_at(two, new, place), "it has the features, too", 30)
        asked = f"--constraint=k8s/{place.rpartition(':')[2]}"
        assert two.slurm("srun", "--nodes=1", asked, "hostname").strip() == new
    finally:
        for host in hosts:
            tell(two, host, "")
    for worker in (old, new):
        until(partial(is_at, two, worker, ""), f"{worker} is nowhere again", 30)
    for host in hosts:
        two.kubectl("annotate", "node", host, f"{labels.TOPOLOGY}-", f"{labels.FEATURES}-")
