"""Whatever the pods and Slurm look like: no job is hurt, nothing is made twice."""

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.workers.observed import NOW, node_set, observed, pod
from windlass.kube.kinds import POD
from windlass.kube.objects import Pod
from windlass.operator.plan import Create, Delete
from windlass.operator.workers.plan import plan
from windlass.operator.workers.revision import revision
from windlass.slurm.model import Node
from windlass.values.states import NodeState

CURRENT = revision(node_set(), None)
STATES = ("IDLE", "IDLE+DRAIN", "MIXED+DRAIN", "ALLOCATED", "DOWN+DRAIN", "UNKNOWN+DRAIN")

pods_of_any_sort = st.builds(
    lambda ordinal, placed, phase, going, old: pod(
        ordinal,
        node="n" if placed else "",
        phase=phase if placed else "Pending",
        going=going,
        revision="old" if old else CURRENT,
    ),
    st.integers(0, 8),
    st.booleans(),
    st.sampled_from(["Pending", "Running", "Unknown", "Failed"]),
    st.booleans(),
    st.booleans(),
)
workers = st.lists(pods_of_any_sort, unique_by=lambda each: each.metadata.name, max_size=9)
nodes = st.none() | st.dictionaries(
    st.integers(0, 8).map(lambda ordinal: f"w-{ordinal}"), st.sampled_from(STATES)
)


@given(pods=workers, states=nodes, replicas=st.integers(0, 9))
def test_no_job_is_hurt_and_nothing_is_made_twice(
    pods: list[Pod], states: dict[str, str] | None, replicas: int
) -> None:
    known = (
        None
        if states is None
        else {name: Node(name=name, state=NodeState.parse(state)) for name, state in states.items()}
    )
    done = plan(observed(node_set(replicas=replicas), pods=tuple(pods), slurm=known), NOW)

    by_name = {each.metadata.name: each for each in pods}
    made = [
        a.body["metadata"]["name"] for a in done.steps if isinstance(a, Create) and a.kind == POD
    ]
    removed = [a.key.name for a in done.steps if isinstance(a, Delete)]
    assert len(set(made)) == len(made)
    assert not set(made) & set(by_name)
    assert len(pods) + len(made) <= max(replicas, len(pods))
    assert len(set(removed)) == len(removed)
    for name in removed:
        harmless = not by_name[name].spec.node_name or by_name[name].status.phase == "Failed"
        assert harmless or (states or {}).get(name) == "IDLE+DRAIN"
