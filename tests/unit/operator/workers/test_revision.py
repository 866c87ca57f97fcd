from typing import Any

import pytest

from tests.unit.operator.workers.observed import node_set
from windlass.operator.workers.revision import revision

PLAIN = revision(node_set(), None)


@pytest.mark.parametrize(
    "spec",
    [
        {"slurmd": {"image": "new"}},
        {"template": {"spec": {"nodeSelector": {"a": "b"}}}},
        {"extraConf": "Weight=1"},
        {"ordinalPadding": 2},
        {"oversubscribeNode": True},
        {"ssh": {"enabled": True}},
        {"logfile": {"image": "alpine"}},
    ],
)
def test_what_only_a_new_pod_can_take_up_makes_a_revision(spec: dict[str, Any]) -> None:
    assert revision(node_set(**spec), None) != PLAIN


@pytest.mark.parametrize(
    "spec",
    [
        {"replicas": 9},
        {"partition": {"enabled": True}},
        {"minReadySeconds": 5},
        {"updateStrategy": {"type": "OnDelete"}},
        {"slurmd": None},
    ],
)
def test_what_a_pod_does_not_show_makes_none(spec: dict[str, Any]) -> None:
    assert revision(node_set(**spec), None) == PLAIN


def test_a_new_sssd_conf_counts_only_where_users_log_in() -> None:
    ssh = node_set(ssh={"enabled": True})

    assert revision(ssh, b"new") != revision(ssh, b"old")
    assert revision(node_set(), b"new") == PLAIN
