import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.workers.observed import node_set, pod
from tests.unit.operator.workers.phases.courses import course, host, hosts, steps
from windlass.api import labels
from windlass.operator.plan import ChangeNodes
from windlass.operator.workers.course import NOTHING, Outcome
from windlass.operator.workers.phases.features import features
from windlass.slurm.model import Node

SET = node_set(replicas=3)
Names = tuple[str, ...]


def changed(found: Outcome) -> list[tuple[Names, Names | None, Names | None]]:
    return [
        (s.names, s.update.features, s.update.active_features)
        for s in steps(found)
        if isinstance(s, ChangeNodes)
    ]


def after(annotation: str | None, *nodes: Node) -> Outcome:
    given = {} if annotation is None else {labels.FEATURES: annotation}
    there = hosts(*(host(f"n{number}", annotations=given) for number in range(len(nodes))))
    pods = tuple(pod(number) for number in range(len(nodes)))
    return features(course(SET, pods=pods, hosts=there, slurm={each.name: each for each in nodes}))


def node(available: Names, active: Names | None = None, name: str = "w-0") -> Node:
    return Node(
        name=name, features=available, active_features=available if active is None else active
    )


@pytest.mark.parametrize(
    ("annotation", "known", "wanted"),
    [
        (None, node(("w",)), None),
        ("", node(("w",)), None),
        ("a100", node(("w",)), (("w", "k8s/a100"), ("w", "k8s/a100"))),
        ("b, a ,,a", node(("w",)), (("w", "k8s/a", "k8s/b"), ("w", "k8s/a", "k8s/b"))),
        ("a,b", node(("k8s/b", "w", "k8s/a")), None),
        ("a", node(("w", "k8s/b")), (("w", "k8s/a"), ("w", "k8s/a"))),
        ("a", node(("w", "k8s/a"), ("w",)), (("w", "k8s/a"), ("w", "k8s/a"))),
        ("a", node(("w", "slow"), ("w",)), (("w", "slow", "k8s/a"), ("w", "k8s/a"))),
        (None, node(("w", "k8s/a")), (("w",), ("w",))),
        (None, node(("k8s/a",)), (("",), ("",))),
        ("a&b,c d,[x],ok", node(("w",)), (("w", "k8s/ok"), ("w", "k8s/ok"))),
    ],
)
def test_a_node_has_the_features_of_its_host_besides_its_own(
    annotation: str | None, known: Node, wanted: tuple[Names, Names] | None
) -> None:
    expected = [] if wanted is None else [(("w-0",), *wanted)]
    assert changed(after(annotation, known)) == expected


def test_those_that_become_alike_are_changed_by_one_call() -> None:
    nodes = [node(("w",), name=f"w-{number}") for number in range(3)]

    assert changed(after("a", *nodes)) == [(("w-0", "w-1", "w-2"), ("w", "k8s/a"), ("w", "k8s/a"))]


def test_what_is_no_feature_is_told_of() -> None:
    (fault,) = after("a&b", node(("w",))).faults

    assert fault.code == "FeaturesMalformed"
    assert "'a&b'" in fault.sentence


def test_without_its_host_or_slurm_nothing_is_said() -> None:
    assert features(course(SET, pods=(pod(0),), slurm={"w-0": node(("k8s/a",))})) == NOTHING
    assert features(course(SET, pods=(pod(0),), slurm=None)) == NOTHING


words = st.text("abk8s/,& ", max_size=12)
given_features = st.lists(st.sampled_from(["w", "x", "k8s/a", "k8s/b"]), unique=True).map(tuple)


@given(annotation=words, available=given_features, active=given_features)
def test_features_of_others_stay_and_the_next_pass_has_nothing_to_do(
    annotation: str, available: Names, active: Names
) -> None:
    active = tuple(each for each in active if each in available)
    for _, new, new_active in changed(after(annotation, node(available, active))):
        assert new is not None
        assert new_active is not None
        for old, now in ((available, new), (active, new_active)):
            kept = [each for each in now if each and not each.startswith("k8s/")]
            assert kept == [each for each in old if not each.startswith("k8s/")]
        left = node(tuple(filter(None, new)), tuple(filter(None, new_active)))
        assert changed(after(annotation, left)) == []
