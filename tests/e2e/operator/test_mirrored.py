"""What Slurm knows of its nodes, seen on their pods."""

from typing import Any

import pytest

from windlass.testing.operated import Operated, until

REST = """
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {name: slurm}
spec:
  controllerRef: {name: slurm}
"""


@pytest.fixture(scope="module")
def seen(slurm: Operated) -> Operated:
    slurm.apply(REST)
    slurm.wait_condition("restapi", "slurm", "Ready")
    return slurm


def worker(slurm: Operated) -> dict[str, Any]:
    found: dict[str, Any] = slurm.get("pod", "worker-0")
    return found


def condition(slurm: Operated, state: str) -> dict[str, Any] | None:
    listed = worker(slurm)["status"]["conditions"]
    return next((each for each in listed if each["type"] == f"SlurmNodeState{state}"), None)


def protected(slurm: Operated) -> bool:
    return "nodeset.slinky.slurm.net/pod-protect" in worker(slurm)["metadata"]["labels"]


def test_a_worker_with_a_job_is_protected_from_eviction_while_it_runs(seen: Operated) -> None:
    until(lambda: condition(seen, "Idle"), "the pod says idle")
    number = seen.submit("sleep 600", "--nodelist=worker-0", "--ntasks=1")
    until(lambda: protected(seen), "the busy worker is protected", 30)

    seen.slurm("scancel", number)

    until(lambda: not protected(seen), "the idle worker is not", 60)


def test_an_administrators_drain_shows_its_reason_and_is_left_alone(seen: Operated) -> None:
    update = ("scontrol", "update", "nodename=worker-0")
    seen.slurm(*update, "state=drain", "reason=bad fan")

    shown = until(lambda: condition(seen, "Drain"), "the pod says drain", 30)

    assert "bad fan" in shown["message"]
    until(lambda: seen.get("nodeset", "worker")["status"]["slurmDrain"] == 1, "it is counted", 30)
    assert seen.nodes("drained") == {"worker-0"}
    seen.slurm(*update, "state=resume")
    until(lambda: condition(seen, "Drain") is None, "the pod says so no longer", 30)
