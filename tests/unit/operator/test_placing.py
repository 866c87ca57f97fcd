import pytest

from windlass.api import labels
from windlass.kube.meta import Meta
from windlass.operator.placing import from_labels, topology_of

TREE = "default:root:{topology.kubernetes.io/zone}:{rack}"
HERE = {"topology.kubernetes.io/zone": "eu-1", "rack": "r7"}


@pytest.mark.parametrize(
    ("pattern", "found", "place"),
    [
        (TREE, HERE, "default:root:eu-1:r7"),
        (f"{TREE},racks:{{rack}}", HERE, "default:root:eu-1:r7,racks:r7"),
        ("default:left", {}, "default:left"),
        (TREE, {"rack": "r7"}, None),
        (TREE, {**HERE, "rack": ""}, None),
        ("", HERE, None),
    ],
)
def test_labels_tell_where_a_node_is(
    pattern: str, found: dict[str, str], place: str | None
) -> None:
    assert from_labels(pattern, found) == place


@pytest.mark.parametrize(
    ("annotations", "place"),
    [
        ({labels.TOPOLOGY: "racks:b1"}, "racks:b1"),
        ({labels.TOPOLOGY: " racks:b1\n"}, "racks:b1"),
        ({labels.TOPOLOGY: ""}, ""),
        ({}, "default:root:eu-1:r7"),
    ],
)
def test_an_annotation_says_it_outright(annotations: dict[str, str], place: str) -> None:
    node = Meta(name="n1", annotations=annotations, labels=HERE)

    assert topology_of(node, TREE) == place
