"""How the pods of a job ended, and what Slurm is told of it."""

from typing import Any

import msgspec
import pytest

from windlass.bridge.ends import ending
from windlass.bridge.phases.end import outcome
from windlass.kube.objects import Pod
from windlass.slurm.agent import Ending


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def container(code: int = 0, second: int = 10, **more: Any) -> dict[str, Any]:
    terminated = {"exitCode": code, "finishedAt": at(second), **more}
    return {"name": f"c{code}", "state": {"terminated": terminated}}


def pod(
    phase: str, *containers: dict[str, Any], name: str = "p", init: Any = (), **more: Any
) -> Pod:
    """`asked` is when it was told to go, with 30 seconds of grace; `reason` as the kubelet says."""
    meta: dict[str, Any] = {"name": name}
    if "asked" in more:
        meta |= {"deletionTimestamp": at(more["asked"] + 30), "deletionGracePeriodSeconds": 30}
    status = {
        "phase": phase,
        "reason": more.get("reason", ""),
        "containerStatuses": list(containers),
        "initContainerStatuses": list(init),
    }
    return msgspec.convert({"metadata": meta, "status": status}, Pod)


WELL = Ending()
TABLE = {
    "succeeded": ([pod("Succeeded", container())], WELL, "pod p succeeded"),
    "failed": ([pod("Failed", container(3))], Ending(exit_code=3), "pod p failed: exit code 3"),
    "killed": ([pod("Failed", container(137))], Ending(signal=9), "pod p failed: exit code 137"),
    "signal that the runtime tells": (
        [pod("Failed", container(0, signal=15))],
        Ending(signal=15),
        "pod p failed: exit code 143",
    ),
    "above all signals": (
        [pod("Failed", container(255))],
        Ending(exit_code=255),
        "pod p failed: exit code 255",
    ),
    "a code that only Windows has": (
        [pod("Failed", container(0x80000003))],
        Ending(exit_code=255),
        f"pod p failed: exit code {0x80000003}",
    ),
    "out of memory": (
        [pod("Failed", container(137, reason="OOMKilled"))],
        Ending(out_of_memory=True),
        "pod p failed: out of memory",
    ),
    "the container that failed first counts": (
        [pod("Failed", container(137, second=12), container(0, second=9), container(2, second=11))],
        Ending(exit_code=2),
        "pod p failed: exit code 2",
    ),
    "an init container": (
        [pod("Failed", init=[container(7)])],
        Ending(exit_code=7),
        "pod p failed: exit code 7",
    ),
    "evicted": (
        [pod("Failed", reason="Evicted")],
        Ending(signal=9),
        "pod p failed: Evicted",
    ),
    "evicted, and its container has a code": (
        [pod("Failed", container(143), reason="Evicted")],
        Ending(signal=15),
        "pod p failed: Evicted",
    ),
    "its node went": (
        [pod("Failed", reason="NodeLost")],
        Ending(signal=9),
        "pod p failed: NodeLost",
    ),
    "deleted while it ran": ([pod("Failed", container(143), asked=5)], None, "pod p was deleted"),
    "deleted, and well because of that": (
        [pod("Succeeded", container(), asked=10)],
        None,
        "pod p was deleted",
    ),
    "deleted before anything ran": ([pod("Failed", asked=5)], None, "pod p was deleted"),
    "deleted when it had failed": (
        [pod("Failed", container(3), asked=11)],
        Ending(exit_code=3),
        "pod p failed: exit code 3",
    ),
    "deleted when it had succeeded": (
        [pod("Succeeded", container(), asked=11)],
        WELL,
        "pod p succeeded",
    ),
    "gone": ([], None, "its pods are gone"),
    "a gang": ([pod("Succeeded", container())] * 3, WELL, "3 pods succeeded"),
    "a gang of which one failed": (
        [pod("Succeeded", container()), pod("Failed", container(4), name="q")],
        Ending(exit_code=4),
        "pod q failed: exit code 4",
    ),
    "a gang fails with the first of it": (
        [pod("Failed", container(143, 12)), pod("Failed", container(4, 11), name="q")],
        Ending(exit_code=4),
        "pod q failed: exit code 4",
    ),
    "a gang that is deleted because one failed": (
        [pod("Failed", container(143, 12), asked=11), pod("Failed", container(4, 10), name="q")],
        Ending(exit_code=4),
        "pod q failed: exit code 4",
    ),
    "a gang of which one is deleted": (
        [pod("Succeeded", container()), pod("Failed", container(143), name="q", asked=5)],
        None,
        "pod q was deleted",
    ),
    "a gang of which one is lost": (
        [pod("Succeeded", container()), pod("Running", name="q")],
        None,
        "pod q is lost with its node",
    ),
}


@pytest.mark.parametrize(("pods", "how", "sentence"), TABLE.values(), ids=TABLE.keys())
def test_what_slurm_is_told(pods: list[Pod], how: Ending | None, sentence: str) -> None:
    found = outcome(pods)
    assert found.sentence == sentence
    assert ending(found) == how
