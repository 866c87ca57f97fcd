from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.workers.host_pods import host_pod
from tests.unit.operator.workers.observed import NOW, node_set, observed, pod
from tests.unit.operator.workers.phases.courses import course, host, hosts
from tests.unit.operator.workers.test_plan import removed
from windlass.kube.kinds import POD
from windlass.kube.objects import Pod
from windlass.kube.placement import pinned, pinned_to
from windlass.operator.plan import Create
from windlass.operator.workers.phases.pin import pin
from windlass.operator.workers.pins import pins
from windlass.operator.workers.plan import plan

GPU: dict[str, Any] = {"template": {"spec": {"nodeSelector": {"gpu": "yes"}}}}
HERE = hosts(host("n0"), host("n1"), host("n2"))


def remembering(known: dict[str, str] | None = None, **spec: Any) -> Any:
    return node_set(status={"ordinalToNode": known or {}}, **{"pinToNode": True, **spec})


def waiting(ordinal: int, for_host: str) -> Pod:
    body = msgspec.to_builtins(pod(ordinal, node=""))
    body["spec"]["affinity"] = pinned(None, for_host)
    return msgspec.convert(body, Pod)


@pytest.mark.parametrize(
    ("known", "pods", "spec", "expected"),
    [
        ({}, (pod(0), pod(1)), {}, {"0": "n0", "1": "n1"}),
        ({}, (pod(0), pod(1)), {"pinToNode": False}, {}),
        ({"0": "n0"}, (), {"pinToNode": False}, {}),
        ({"0": "n0"}, (), {"scalingMode": "DaemonSet"}, {}),
        ({}, (pod(0, node=""),), {}, {}),
        ({}, (pod(0, phase="Pending"),), {}, {}),
        ({"0": "n1"}, (), {}, {"0": "n1"}),
        ({"0": "n1"}, (pod(0),), {}, {"0": "n0"}),
        ({"0": "n0"}, (pod(0, going=True),), {}, {"0": "n0"}),
        ({"7": "n9"}, (), {}, {}),
        ({"0": "n0", "1": "n1"}, (pod(2, node="n1"),), {}, {"0": "n0", "2": "n1"}),
        (
            {"1": "n1"},
            (pod(2, node="n1"),),
            {"oversubscribeNode": True},
            {"1": "n1", "2": "n1"},
        ),
        ({"0": "n0"}, (pod(1),), GPU, {}),
        ({}, (host_pod("n0"),), {}, {}),
    ],
    ids=[
        "running workers",
        "not asked for",
        "not asked for any more",
        "on every host now",
        "on no host yet",
        "not running yet",
        "gone for now",
        "moved",
        "leaving",
        "the host is gone",
        "another has taken the place",
        "another shares the place",
        "the template asks for other hosts",
        "a worker of a host",
    ],
)
def test_workers_are_remembered_where_they_run(
    known: dict[str, str], pods: tuple[Pod, ...], spec: dict[str, Any], expected: dict[str, str]
) -> None:
    seen = observed(remembering(known, **spec), pods=pods, hosts=HERE)

    assert pins(seen) == expected
    status = plan(seen, NOW).status
    assert status is not None
    assert status.get("ordinalToNode", {}) == expected


@pytest.mark.parametrize(
    "of",
    [
        host("n0", cordoned=True),
        host("n0", taints=[{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]),
    ],
    ids=["cordoned", "unreachable"],
)
def test_a_host_that_takes_no_pod_for_now_is_not_forgotten(of: Any) -> None:
    assert pins(observed(remembering({"0": "n0"}), hosts=hosts(of))) == {"0": "n0"}


def test_a_template_that_cannot_be_read_makes_nobody_forget() -> None:
    broken = remembering({"0": "n9"}, template={"spec": {"nodeSelector": {"gpu": 1}}})

    assert pins(observed(broken, hosts=HERE)) == {"0": "n9"}


def test_a_worker_comes_back_to_its_host_and_a_new_one_goes_where_it_likes() -> None:
    done = plan(observed(remembering({"1": "n2"}, replicas=2), hosts=HERE), NOW)

    made = [step.body for step in done.steps if isinstance(step, Create) and step.kind == POD]
    found = {body["metadata"]["name"]: pinned_to(msgspec.convert(body, Pod).spec) for body in made}
    assert found == {"w-0": "", "w-1": "n2"}


@pytest.mark.parametrize(
    ("known", "spec", "leaves"),
    [
        ({"0": "n1"}, {}, False),
        ({}, {}, True),
        ({"0": "n2"}, {}, True),
        ({"0": "n1"}, {"pinToNode": False}, True),
        ({"0": "n1"}, GPU, True),
        ({}, {"template": {"spec": {"affinity": pinned(None, "n1")}}}, False),
    ],
    ids=["still pinned", "host gone", "other host", "off", "template", "the user's own pin"],
)
def test_one_that_waits_for_a_host_that_is_not_its_own_any_more_is_made_anew(
    known: dict[str, str], spec: dict[str, Any], *, leaves: bool
) -> None:
    of = remembering(known, updateStrategy={"type": "OnDelete"}, **spec)
    found = pin(course(of, pods=(waiting(0, "n1"), pod(1, node="n0")), hosts=HERE))

    assert [*found.leave] == (["w-0"] if leaves else [])
    done = plan(observed(of, pods=(waiting(0, "n1"),), hosts=HERE), NOW)
    assert removed(done) == (["w-0"] if leaves else [])


numbers = st.integers(0, 4).map(str)
names = st.sampled_from(["n0", "n1", "n2", "n9"])
some_pods = st.lists(
    st.builds(lambda ordinal, node: pod(ordinal, node=node), st.integers(0, 4), names),
    unique_by=(lambda each: each.metadata.name, lambda each: each.spec.node_name),
)


@given(known=st.dictionaries(numbers, names), pods=some_pods)
def test_pins_are_to_hosts_that_are_there_and_settle_at_once(
    known: dict[str, str], pods: list[Pod]
) -> None:
    first = pins(observed(remembering(known), pods=tuple(pods), hosts=HERE))
    again = pins(observed(remembering(dict(first)), pods=tuple(pods), hosts=HERE))

    assert first == again
    assert set(first.values()) <= HERE.keys()
    placed = {each.metadata.name.removeprefix("w-"): each.spec.node_name for each in pods}
    others = [where for number, where in first.items() if number not in placed]
    assert not set(others) & set(placed.values())
