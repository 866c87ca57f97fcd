"""Links of the host."""

from windlass.local.network import delete_link
from windlass.local.requirements import check_network


def test_a_link_that_is_gone_already_is_deleted_without_complaint(as_root: None) -> None:
    delete_link("wl-absent")


def test_a_machine_that_runs_clusters_has_what_nodes_are_joined_by(as_root: None) -> None:
    check_network()
