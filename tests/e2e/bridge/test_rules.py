"""What is refused before it can wait for ever, and nodes that Slurm should not use for a while."""

import pytest

from tests.e2e.bridge.manifests import pod
from windlass.local.errors import CommandFailed
from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged

REFUSED = {
    "an unknown annotation": (pod("p", tme_limit="5"), "tme-limit"),
    "a time limit that is none": (pod("p", timelimit="soon"), "timelimit"),
    "somebody else's name": (pod("p", user_id="root"), "user-id"),
    "less than its containers request": (pod("p", cpu="1500m", cpu_per_task="1"), "cpu-per-task"),
}


@pytest.mark.parametrize(("manifest", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_a_pod_that_can_never_run_is_refused_and_the_field_named(
    bridged: Bridged, manifest: str, named: str
) -> None:
    with pytest.raises(CommandFailed, match=named):
        bridged.apply(manifest)
    assert bridged.pods() == {}


def test_a_cordoned_node_is_drained_in_slurm_and_comes_back(bridged: Bridged) -> None:
    kubectl, bridge = bridged.bridge.kubectl, bridged.bridge
    node = sorted(bridge.ready())[0]
    kubectl("cordon", node)
    try:
        wait_for(lambda: node not in bridge.ready(), f"{node} takes no jobs", within=30, every=0.3)
        shown = bridge.slurm.run("scontrol", "show", "node", node)
        assert "DRAIN" in shown
        assert "cordon" in shown
    finally:
        kubectl("uncordon", node)
    wait_for(lambda: node in bridge.ready(), f"{node} takes jobs again", within=30, every=0.3)
