"""Ports of the node that pods take for themselves."""

from typing import Any

import pytest

from tests.unit.bridge.builders import pod
from tests.unit.bridge.staging import Stage, play
from windlass.bridge.ports import HostPort, clash, host_ports, rivals
from windlass.bridge.reservations import Reservations
from windlass.kube import kinds

WEB = HostPort("TCP", 80)


def _container(port: int, **more: Any) -> dict[str, Any]:
    return {"name": "c", "image": "x", "ports": [{"containerPort": 8080, "hostPort": port, **more}]}


@pytest.mark.parametrize(
    ("spec", "ports"),
    [
        ({"containers": [{"ports": [{"containerPort": 80}]}]}, ()),
        ({"containers": [_container(80)]}, (WEB,)),
        ({"containers": [_container(80), _container(80)]}, (WEB,)),
        (
            {"containers": [_container(53, protocol="UDP", hostIP="10.0.0.1")]},
            (HostPort("UDP", 53, "10.0.0.1"),),
        ),
        ({"initContainers": [_container(80)]}, ()),
        ({"initContainers": [{**_container(80), "restartPolicy": "Always"}]}, (WEB,)),
    ],
)
def test_a_pod_takes_the_host_ports_of_what_keeps_running(
    spec: dict[str, Any], ports: tuple[HostPort, ...]
) -> None:
    assert host_ports(pod(spec=spec).spec) == ports


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (WEB, WEB, True),
        (WEB, HostPort("UDP", 80), False),
        (WEB, HostPort("TCP", 81), False),
        (WEB, HostPort("TCP", 80, "10.0.0.1"), True),
        (HostPort("TCP", 80, "0.0.0.0"), HostPort("TCP", 80, "10.0.0.1"), True),
        (HostPort("TCP", 80, "10.0.0.2"), HostPort("TCP", 80, "10.0.0.1"), False),
        (HostPort("TCP", 80, "10.0.0.1"), HostPort("TCP", 80, "10.0.0.1"), True),
    ],
)
def test_two_cannot_have_the_same_port(one: HostPort, other: HostPort, both: bool) -> None:
    assert clash(one, other) == clash(other, one) == both
    assert rivals([[one], [other]]) == both


def test_a_pod_is_no_rival_of_itself() -> None:
    assert not rivals([[WEB, HostPort("TCP", 80, "10.0.0.1")], [HostPort("TCP", 81)]])


# --- with the whole bridge at work ------------------------------------------------------------


def _web(port: int = 80) -> dict[str, Any]:
    return {"containers": [_container(port)]}


async def _neighbour(stage: Stage, name: str, node: str, **spec: Any) -> None:
    body = {"schedulerName": "default-scheduler", "nodeName": node, "containers": [], **spec}
    await stage.create(kinds.POD, name, spec=body)


@pytest.mark.parametrize("ours", [True, False])
def test_a_pod_waits_for_a_node_whose_port_nobody_has(ours: bool) -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        if ours:
            await stage.pod("first", spec=_web())
            await stage.until(lambda: stage.host("first") == "n1")
        else:
            await _neighbour(stage, "first", "n1", **_web())
        await stage.pod("p", spec=_web())
        await stage.until(lambda: stage.condition("p").get("reason") == "NoNodeFits")
        await stage.pod("other", spec=_web(81))
        await stage.until(lambda: stage.host("other") == "n1")
        await stage.phase("first", "Succeeded")
        assert await stage.until(lambda: stage.host("p") == "n1") < 5

    play(story)


def test_a_pod_goes_where_its_port_is_free() -> None:
    async def story(stage: Stage) -> None:
        for name in ("n1", "n2"):
            await stage.node(name)
        for name in ("a", "b"):
            await stage.pod(name, spec=_web())
            await stage.until(lambda name=name: bool(stage.host(name)))  # type: ignore[misc]
        assert {stage.host("a"), stage.host("b")} == {"n1", "n2"}

    play(story)


def test_two_that_want_one_port_at_once_are_not_put_on_one_node() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1")
        await stage.pod("a", spec=_web())
        await stage.pod("b", spec=_web())
        await stage.until(lambda: bool(stage.host("a") or stage.host("b")))
        late = "b" if stage.host("a") else "a"
        await stage.until(lambda: stage.condition(late).get("reason") == "PortTaken")
        await stage.node("n2")
        await stage.until(lambda: stage.host(late) == "n2", within=90)

    play(story)


@pytest.mark.parametrize(
    ("uid", "node", "port", "after", "free"),
    [
        ("b", "n1", WEB, 0, False),
        ("b", "n1", HostPort("TCP", 80, "10.0.0.1"), 0, False),
        ("a", "n1", WEB, 0, True),
        ("b", "n2", WEB, 0, True),
        ("b", "n1", HostPort("TCP", 81), 0, True),
        ("b", "n1", WEB, 61, True),
    ],
)
def test_a_port_is_reserved_for_a_while(
    uid: str, node: str, port: HostPort, after: float, free: bool
) -> None:
    times = iter([0.0, float(after)])
    reservations = Reservations(lambda: next(times))
    assert reservations.take("a", "n1", (WEB,))
    assert reservations.take(uid, node, (port,)) == free


def test_a_port_that_a_pod_is_seen_with_needs_no_reservation() -> None:
    reservations = Reservations(lambda: 0.0)
    assert reservations.take("a", "n1", (WEB,))
    reservations.shown("a", "n1")
    assert reservations.take("b", "n1", (WEB,))


def test_a_place_where_the_port_was_taken_meanwhile_is_given_back() -> None:
    async def story(stage: Stage) -> None:
        await stage.node("n1", cpus=1)
        await stage.pod("first")
        await stage.until(lambda: stage.host("first") == "n1")
        await stage.pod("p", spec=_web())
        await stage.until(lambda: stage.jobs("PENDING") != [])
        await stage.node("n2")
        await stage.phase("first", "Succeeded")
        await stage.until(lambda: stage.jobs("CANCELLED") != [])
        stage.start(2)  # before it is known that the port is gone
        await _neighbour(stage, "thief", "n1", **_web())
        await stage.until(lambda: stage.condition("p").get("reason") == "PortTaken")
        assert "pod team/thief has port 80/TCP of n1" in stage.condition("p")["message"]
        assert await stage.until(lambda: stage.host("p") == "n2") > 15
        assert stage.jobs("CANCELLED")[-1].comment.startswith("windlass-bridge: it is asked for")

    assert play(story).calls("POST /job/submit") == 3


def test_members_of_a_gang_with_one_port_are_on_nodes_of_their_own() -> None:
    async def story(stage: Stage) -> None:
        for name in ("n1", "n2"):
            await stage.node(name)
        spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
        job = await stage.create(kinds.JOB, "j", spec=spec)
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": job.metadata.uid}
        for index in range(2):
            labels = {"batch.kubernetes.io/job-completion-index": str(index)}
            owners = [{**owner, "controller": True}]
            await stage.pod(f"j-{index}", labels=labels, ownerReferences=owners, spec=_web())
        await stage.until(lambda: bool(stage.host("j-0") and stage.host("j-1")))
        assert [stage.host("j-0"), stage.host("j-1")] == ["n1", "n2"]

    play(story)
