from windlass.bridge.names import names
from windlass.kube.meta import Meta
from windlass.kube.objects import Node


def node(name: str, called: str = "") -> Node:
    labels = {"slinky.slurm.net/slurm-nodename": called} if called else None
    return Node(metadata=Meta(name=name, labels=labels))


def test_a_node_has_the_same_name_unless_its_label_says_otherwise() -> None:
    found = names([node("a"), node("b", "slurm-b")])
    assert found.slurm == {"a": "a", "b": "slurm-b"}
    assert found.kube == {"a": "a", "slurm-b": "b"}
    assert not found.findings


def test_two_nodes_with_one_name_are_neither() -> None:
    found = names([node("a"), node("b", "a"), node("c")])
    assert found.slurm == {"c": "c"}
    assert found.kube == {"c": "c"}
    assert [one.sentence for one in found.findings] == ["nodes a, b are all a to Slurm"]
