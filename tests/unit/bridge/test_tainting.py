"""Taints of the nodes that Slurm gives away."""

from typing import Any

import msgspec
import pytest

from tests.unit.bridge.staging import SETTINGS, Stage, play
from windlass.bridge import words
from windlass.bridge.names import names
from windlass.bridge.observe import Rules
from windlass.bridge.tainting import retaints
from windlass.kube import kinds, requests
from windlass.kube.objects import Node
from windlass.kube.wire import Document
from windlass.values.key import Key

OURS = {"key": words.MANAGED_NODE, "value": "mine", "effect": "NoExecute"}
OTHER = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
GREEN = {**OURS, "value": "green"}


def _node(*taints: dict[str, str], **labels: str) -> Node:
    meta = {"name": "n1", "resourceVersion": "7", "labels": labels}
    return msgspec.convert({"metadata": meta, "spec": {"taints": [*taints]}}, Node)


@pytest.mark.parametrize(
    ("node", "slurm", "wanted"),
    [
        (_node(), {"n1"}, [OURS]),
        (_node(), {"n2"}, None),
        (_node(OURS), {"n1"}, None),
        (_node(OTHER), {"n1"}, [OTHER, OURS]),
        (_node(OTHER, OURS), set(), [OTHER]),
        (_node(GREEN), {"n1"}, [GREEN, OURS]),
        (_node(GREEN), set(), None),
        (_node(**{words.NODE_NAME: "x"}), {"x"}, [OURS]),
        (_node(**{words.EXTERNAL_NODE: ""}), set(), [OURS]),
        (_node(**{words.NODE_NAME: "x"}), {"n1"}, None),
    ],
)
def test_only_our_taint_comes_and_goes(
    node: Node, slurm: set[str], wanted: list[dict[str, str]] | None
) -> None:
    found = [
        (each.version, msgspec.to_builtins(each.taints))
        for each in retaints([node], names([node]).slurm, slurm, "mine")
    ]
    assert found == ([] if wanted is None else [("7", tuple(wanted))])


def _taints(stage: Stage, name: str) -> list[str]:
    found = stage.kube.find(kinds.NODE, Key("", name))
    assert found is not None
    return [each["key"] for each in found.get("spec", {}).get("taints") or []]


@pytest.mark.parametrize("asked", [True, False])
def test_nodes_are_tainted_where_that_is_asked_for(asked: bool) -> None:
    async def story(stage: Stage) -> None:
        await stage.create(kinds.NODE, "plain")
        await stage.node("n1")
        if not asked:
            with pytest.raises(AssertionError):
                await stage.until(lambda: bool(_taints(stage, "n1")), within=20)
            return
        await stage.until(lambda: _taints(stage, "n1") == [words.MANAGED_NODE])
        assert _taints(stage, "plain") == []
        tolerant: dict[str, Any] = msgspec.to_builtins(words.toleration(words.SCHEDULER))
        await stage.pod("p", spec={"tolerations": [tolerant]})
        await stage.until(lambda: stage.host("p") == "n1")
        await stage.phase("p", "Succeeded")
        await stage.until(lambda: not stage.jobs("RUNNING"))
        other = {"spec": {"taints": [OTHER, *_live(stage, "n1")]}}
        await stage.kube.send(requests.merge_patch(kinds.NODE, Key("", "n1"), other, Document))
        del stage.slurm.cluster.nodes["n1"]
        stage.slurm.cluster.touch("nodes")
        await stage.until(lambda: _taints(stage, "n1") == ["gpu"])

    play(story, Rules(settings=SETTINGS, taint_nodes=asked))


def _live(stage: Stage, name: str) -> list[dict[str, Any]]:
    return list((stage.kube.find(kinds.NODE, Key("", name)) or {})["spec"]["taints"])
