from tests.unit.operator.conftest import Golden
from tests.unit.operator.documents import documents
from windlass.kube.meta import Meta
from windlass.operator.workers.budget import workers_budget
from windlass.operator.workers.service import workers_service

OWNERS = [Meta(name="b", namespace="hpc", uid="u-b"), Meta(name="a", namespace="hpc", uid="u-a")]


def test_service_and_budget_belong_to_all_node_sets_of_a_cluster(golden: Golden) -> None:
    made = [workers_service("hpc", "slurm", OWNERS), workers_budget("hpc", "slurm", OWNERS)]

    golden("shared.yaml", documents(made))


def test_they_are_the_same_whichever_node_set_renders_them() -> None:
    turned = list(reversed(OWNERS))

    assert workers_service("hpc", "slurm", turned) == workers_service("hpc", "slurm", OWNERS)
    assert workers_budget("hpc", "slurm", turned) == workers_budget("hpc", "slurm", OWNERS)
