"""What a pod says while it waits behind others."""

import re

from tests.e2e.bridge.manifests import pod
from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged


def test_a_pod_that_waits_says_why_and_how_many_are_before_it(bridged: Bridged) -> None:
    holders = [f"holder-{number}" for number in range(len(bridged.bridge.ready()))]
    bridged.apply("".join(pod(name, exclusive="true") for name in holders))
    bridged.wait_phases("Running", len(holders))
    for name in ("first", "second"):
        bridged.apply(pod(name, "1", exclusive="true"))

    says(bridged, "first", "SlurmResources", "it is next, and waits for room; no jobs before it")
    says(bridged, "second", "SlurmPriority", "others come before it; 1 job before it")
    for name in holders:
        bridged.delete("pod", name)
    bridged.wait_phases("Succeeded", 2)


def says(bridged: Bridged, name: str, code: str, words: str) -> None:
    """Places in the queue are counted now and then, and told at most every 10 s."""
    wait_for(
        lambda: re.search(rf"^Slurm job \d+ waits: {words}", bridged.wait_reason(name, code)),
        f"pod {name} says {words!r}",
        within=30,
        every=0.3,
    )
