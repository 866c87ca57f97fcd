"""Links of the host."""

from windlass.local.network import delete_link


def test_a_link_that_is_gone_already_is_deleted_without_complaint(as_root: None) -> None:
    delete_link("wl-absent")
