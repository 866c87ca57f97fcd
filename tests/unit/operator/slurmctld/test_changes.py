"""Which changes of slurm.conf need a restart."""

import pytest

from windlass.operator.slurmctld.changes import SLURMD, Change, changes, restart_part

BASE = "ClusterName=a\nSlurmctldPort=6817\nProlog=a\nPartitionName=p Nodes=ALL\n"


@pytest.mark.parametrize(
    ("new", "found"),
    [
        pytest.param(BASE, (), id="nothing"),
        pytest.param(f"# why\n\n{BASE}", (), id="comments"),
        pytest.param(
            "slurmctldport=6817\nPartitionName=p Nodes=ALL\nProlog=a\nClusterName=a", (), id="order"
        ),
        pytest.param(f"{BASE}MaxJobCount=9", (Change("MaxJobCount"),), id="added"),
        pytest.param(BASE.replace("Prolog=a\n", ""), (Change("Prolog"),), id="removed"),
        pytest.param(f"{BASE}Prolog=b", (Change("Prolog"),), id="one script more"),
        pytest.param(BASE.replace("ALL", "n1"), (Change("PartitionName=p"),), id="a partition"),
        pytest.param(
            BASE.replace("6817", "7000"),
            (Change("SlurmctldPort", frozenset({"slurmctld"})),),
            id="slurmctld's port",
        ),
        pytest.param(
            f"{BASE}SlurmctldHost=a(10.96.3.4)\nSlurmctldAddr=10.96.3.4",
            (Change("SlurmctldAddr"), Change("SlurmctldHost=a(10.96.3.4)")),
            id="where slurmctld is found",
        ),
        pytest.param(
            f"{BASE}AuthType=auth/munge",
            (Change("AuthType", frozenset({"slurmctld", "slurmd"})),),
            id="how they trust each other",
        ),
        pytest.param(
            f"{BASE}SlurmdPort=1",
            (Change("SlurmdPort", frozenset({"slurmd"})),),
            id="slurmd's port",
        ),
    ],
)
def test_each_change_says_who_has_to_restart(new: str, found: tuple[Change, ...]) -> None:
    assert changes(BASE, new) == found


def test_the_part_for_restarts_changes_only_with_what_needs_one() -> None:
    assert restart_part(BASE) == restart_part(f"{BASE}MaxJobCount=9\nSlurmdPort=1")
    assert restart_part(BASE) != restart_part(BASE.replace("6817", "7000"))
    assert restart_part(BASE, SLURMD) != restart_part(f"{BASE}SlurmdPort=1", SLURMD)
