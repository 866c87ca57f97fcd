"""Whose pods are Slurm's, and whose are not: also while the bridge is away."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.bridge.conftest import HOME
from tests.e2e.bridge.manifests import more, pod
from windlass.bridge import words
from windlass.local.bridge import DEPLOYMENTS
from windlass.local.errors import CommandFailed
from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged, job_of


@contextmanager
def away(bridged: Bridged) -> Iterator[None]:
    """Neither bridge nor webhook run."""
    kubectl = bridged.bridge.kubectl
    both = [f"deployment/{name}" for name in DEPLOYMENTS]
    kubectl("scale", *both, "-n", HOME, "--replicas=0")
    try:
        of = ("get", "pods", "-n", HOME, "-o", "name")
        wait_for(
            lambda: not any(DEPLOYMENTS[0] in line for line in kubectl(*of).split()),
            "nothing of the bridge runs",
            within=60,
            every=0.3,
        )
        yield
    finally:
        kubectl("scale", *both, "-n", HOME, "--replicas=1")
        for each in both:
            kubectl("rollout", "status", each, "-n", HOME, "--timeout=60s")


def test_while_the_bridge_is_away_only_pods_of_its_own_miss_it(
    bridged: Bridged, elsewhere: Bridged
) -> None:
    bridged.apply(pod("before", "8"))
    number = job_of(bridged.wait_phases("Running", 1)["before"])
    with away(bridged):
        elsewhere.apply(pod("untouched"))
        other = elsewhere.wait_phases("Running", 1)["untouched"]
        assert other["spec"]["schedulerName"] == words.DEFAULT_SCHEDULER
        assert not job_of(other)
        with pytest.raises(CommandFailed, match="webhook"):
            bridged.apply(pod("after", "1"))
        bridged.wait_phases("Succeeded", 1)
        assert number in bridged.queue()

    wait_for(lambda: accepted(bridged, pod("after", "1")), "it is let in", within=30, every=0.5)
    bridged.wait_phases("Succeeded", 2)
    wait_for(lambda: not bridged.queue(), "all jobs have ended", within=30, every=0.3)


def accepted(bridged: Bridged, manifest: str) -> bool:
    """A webhook that is ready takes a moment to be reached."""
    try:
        bridged.apply(manifest)
    except CommandFailed:
        return False
    return True


def test_a_pod_elsewhere_is_left_alone_unless_it_names_the_scheduler(elsewhere: Bridged) -> None:
    named = more(pod("named", "1"), spec=f"schedulerName: {words.SCHEDULER}")
    elsewhere.apply(named + pod("plain", "1"))
    pods = elsewhere.wait_phases("Succeeded", 2)
    assert job_of(pods["named"])
    assert not job_of(pods["plain"])
    assert words.FINALIZER not in pods["plain"]["metadata"].get("finalizers", [])
