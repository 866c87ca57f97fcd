"""Whatever hosts, pods and Slurm look like: no job is hurt, and no host gets two workers."""

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.workers.host_pods import every_host, host_pod
from tests.unit.operator.workers.observed import NOW, node_set, observed, pod
from tests.unit.operator.workers.phases.courses import host, hosts
from tests.unit.operator.workers.test_plan import made
from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube.kinds import POD
from windlass.kube.objects import Node as Host
from windlass.kube.objects import Pod
from windlass.operator.plan import Delete, Retire
from windlass.operator.workers.identity import host_of, slurm_name
from windlass.operator.workers.plan import plan
from windlass.slurm.model import Node
from windlass.values.states import NodeState

NAMES = ("n0", "n1", "n2", "n3")
SETS = (
    every_host(),
    every_host(template={"spec": {"nodeSelector": {"gpu": "yes"}}}),
    node_set(replicas=2),
    node_set(replicas=2, pinToNode=True),
)
STATES = ("IDLE", "IDLE+DRAIN", "MIXED", "MIXED+DRAIN", "DOWN+DRAIN", "UNKNOWN+DRAIN")

one_host = st.builds(
    lambda name, effect, gpu, called: host(
        name,
        taints=[{"key": "t", "effect": effect}] if effect else [],
        labels={"gpu": "yes"} if gpu else {},
        annotations={labels.HOSTNAME_OVERRIDE: called} if called else {},
    ),
    st.sampled_from(NAMES),
    st.sampled_from(["", "NoSchedule", "NoExecute"]),
    st.booleans(),
    st.sampled_from(["", "n0", "other", "No Name"]),
)
some_hosts = st.lists(one_host, unique_by=lambda each: each.metadata.name)
phases = st.sampled_from(["Pending", "Running", "Failed"])
of_a_host = st.builds(
    lambda name, number, placed, phase: host_pod(
        name, name=f"w-{'abcd'[number]}", placed=placed or phase == "Failed", phase=phase
    ),
    *(st.sampled_from(NAMES), st.integers(0, 3), st.booleans(), phases),
)
numbered = st.builds(
    lambda number, name, phase: pod(number, node=name, phase=phase if name else "Pending"),
    *(st.integers(0, 3), st.sampled_from(["", *NAMES]), phases),
)
some_pods = st.lists(of_a_host | numbered, unique_by=lambda each: each.metadata.name, max_size=6)
some_states = st.none() | st.dictionaries(
    st.sampled_from([*NAMES, "w-0", "w-1", "w-2", "w-3"]), st.sampled_from(STATES)
)


@given(of=st.sampled_from(SETS), there=some_hosts, pods=some_pods, states=some_states)
def test_no_job_is_hurt_and_no_host_gets_two(
    of: NodeSet, there: list[Host], pods: list[Pod], states: dict[str, str] | None
) -> None:
    known = (
        None
        if states is None
        else {name: Node(name=name, state=NodeState.parse(state)) for name, state in states.items()}
    )
    seen = observed(of, hosts=hosts(*there), pods=tuple(pods), slurm=known)
    done = plan(seen, NOW)

    by_name = {each.metadata.name: each for each in pods}
    gone = [step.key.name for step in done.steps if isinstance(step, Delete) and step.kind == POD]
    for name in gone:
        assert not by_name[name].spec.node_name or by_name[name].status.phase == "Failed"
    for step in done.steps:
        if isinstance(step, Retire):
            _harmless(step, by_name, states)
    new = made(done)
    assert len(set(new)) == len(new)
    assert not set(new) & (by_name.keys() - set(gone))
    if seen.on_every_host:
        assert len(new) <= len(seen.places.fit - {host_of(each) for each in pods} - {""}) + len(
            gone
        )


def _harmless(step: Retire, by_name: dict[str, Pod], states: dict[str, str] | None) -> None:
    assert states is not None
    for leaving in step.pods:
        node = slurm_name(by_name[leaving.key.name])
        assert leaving.node == node
        assert (
            (node not in states) if step.unknown else states[node] in ("IDLE+DRAIN", "DOWN+DRAIN")
        )
