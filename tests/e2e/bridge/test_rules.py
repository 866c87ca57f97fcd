"""What is refused before it can wait for ever, and nodes that Slurm should not use for a while."""

import pytest

from tests.e2e.bridge.manifests import pod
from windlass.bridge import words
from windlass.local.errors import CommandFailed
from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged, job_of, node_of

REFUSED = {
    "an unknown annotation": (pod("p", tme_limit="5"), "tme-limit"),
    "a time limit that is none": (pod("p", timelimit="soon"), "timelimit"),
    "root's name": (pod("p", user_id="root"), "user-id"),
    "somebody else's name": (pod("p", user_id="games"), "may not choose the user"),
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


def test_a_node_leaves_slurm_when_its_last_job_has_ended_and_comes_back(bridged: Bridged) -> None:
    kubectl, bridge = bridged.bridge.kubectl, bridged.bridge
    bridged.apply(pod("last"))
    running = bridged.wait_phases("Running", 1)["last"]
    node = node_of(running)
    kubectl("label", "node", node, f"{words.EXTERNAL_NODE}-")
    try:
        wait_for(lambda: "DRAIN" in shown(bridged, node), f"{node} is drained", within=30)
        assert job_of(running) in bridged.queue()
        bridged.delete("pod", "last")
        wait_for(lambda: not shown(bridged, node), f"{node} is gone", within=30, every=0.3)
    finally:
        bridge.give(node)


def shown(bridged: Bridged, node: str) -> str:
    """Slurm's states of a node; empty where it has none of this name."""
    listed = ("sinfo", "--noheader", f"--nodes={node}", "--format=%T", "--Node")
    return bridged.bridge.slurm.run(*listed).upper()
