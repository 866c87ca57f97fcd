from pathlib import Path

import pytest

from windlass.local.addresses import MOST_NODES
from windlass.local.errors import LocalError
from windlass.local.record import ClusterFolder, ClusterRecord, NodeRecord, check_name, clusters

RECORD = ClusterRecord("demo", "10.200.0.0/16", (NodeRecord("demo-1", 1), NodeRecord("x", 3)))


def test_a_written_record_is_read_back(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path, "demo")
    folder.write(RECORD)
    assert folder.read() == RECORD
    assert [found.name for found in clusters(tmp_path)] == ["demo"]


def test_what_a_cluster_keeps_is_closed_to_others(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path, "demo")
    folder.write(RECORD)
    assert folder.path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", [b"", b'{"name": "demo"', b'{"name": 3}'])
def test_a_broken_record_counts_as_none(tmp_path: Path, content: bytes) -> None:
    folder = ClusterFolder(tmp_path, "demo")
    folder.path.mkdir(parents=True)
    folder.record_file.write_bytes(content)
    assert folder.read() is None
    with pytest.raises(LocalError, match="windlass local up --name demo"):
        folder.require()


def test_a_new_node_fills_the_lowest_gap() -> None:
    assert RECORD.free_index() == 2
    assert ClusterRecord("empty", "10.200.0.0/16").free_index() == 1


def test_a_new_node_is_named_after_its_cluster_unless_it_is_given_a_name() -> None:
    assert RECORD.new_node() == NodeRecord("demo-2", 2)
    assert RECORD.new_node("gpu") == NodeRecord("gpu", 2)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("control-plane", "the control plane"),
        ("demo-1", "has a node demo-1 already"),
        ("Node", "will not do"),
    ],
)
def test_a_name_that_no_new_node_can_have_is_refused(name: str, told: str) -> None:
    with pytest.raises(LocalError, match=told):
        RECORD.new_node(name)


def test_a_full_cluster_takes_no_more_nodes() -> None:
    nodes = tuple(NodeRecord(f"demo-{index}", index) for index in range(1, MOST_NODES))
    almost = RECORD.with_nodes(nodes)
    full = almost.with_nodes((*nodes, almost.new_node()))

    assert len(full.nodes) == MOST_NODES
    with pytest.raises(LocalError, match="120 nodes"):
        full.new_node("one-more")


def test_an_unknown_node_is_refused_with_the_names_of_the_known() -> None:
    with pytest.raises(LocalError, match="demo-1, x"):
        RECORD.node("demo-9")


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a-", "1a", "a" * 31, "a/b", ".."])
def test_a_name_that_cannot_be_a_host_name_is_refused(name: str) -> None:
    with pytest.raises(LocalError, match="will not do"):
        check_name(name, "cluster name")


@pytest.mark.parametrize("name", ["a", "windlass", "a-1", "a" * 30])
def test_a_plain_name_is_taken(name: str) -> None:
    assert check_name(name, "cluster name") == name


def test_link_names_fit_what_linux_allows() -> None:
    folder = ClusterFolder(Path("/state"), "a" * 30)
    assert len(f"{folder.link_prefix}n120") <= 15


def test_two_verbs_on_one_cluster_do_not_run_at_once(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path, "demo")
    with folder.locked(), pytest.raises(LocalError, match="another windlass"), folder.locked():
        pass


def test_the_lock_is_free_again_after_a_failure(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path, "demo")
    with pytest.raises(ZeroDivisionError), folder.locked():
        _ = 1 / 0
    with folder.locked():
        pass


def test_no_lock_is_left_of_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path, "demo")
    with folder.locked():
        pass
    assert list((tmp_path / "local").iterdir()) == []
