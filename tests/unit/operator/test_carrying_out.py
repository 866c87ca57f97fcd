"""Plans carried out: many writes side by side, Slurm asked before a worker goes."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from tests.unit.operator.staging import NOW, Told
from windlass.kube import kinds, requests
from windlass.kube.meta import Meta
from windlass.kube.reflector import Mirror
from windlass.kube.requests import Deletion
from windlass.kube.wire import Document
from windlass.operator.executor import LARGEST_BATCH, Executor, Failure, Subject, _batches
from windlass.operator.plan import (
    Action,
    AtOnce,
    ChangeNodes,
    Create,
    ForgetNodes,
    Leaving,
    Plan,
    RequeueJobs,
    Reserve,
    Retire,
    Unreserve,
)
from windlass.operator.slurms.seen import Seen
from windlass.operator.world import RESOURCES, World, watches
from windlass.slurm.call import Request
from windlass.slurm.errors import Absent, Busy, Refused, SlurmError, Unavailable
from windlass.slurm.model import Job, Node
from windlass.slurm.specs import NodeUpdate, ReservationSpec
from windlass.testing.fake_kube import FakeKube
from windlass.values.key import Key
from windlass.values.reason import Reason
from windlass.values.states import JobState, NodeState

R = TypeVar("R")
AT = Key("hpc", "slurm")
WHY = Reason("ScalingDown", "too many")


@dataclass
class Slurm:
    seen: Seen | None = None
    refuses: dict[str, SlurmError] = field(default_factory=dict)
    """By the path of a request."""
    asked: list[str] = field(default_factory=list)
    """To change something."""

    async def send(self, at: Key, request: Request[R]) -> R:
        assert at == AT
        if request.method == "GET":
            return self._node(request.path.removeprefix("/node/"))  # type: ignore[return-value]
        self.asked.append(f"{request.method} {request.path}")
        if request.path in self.refuses:
            raise self.refuses[request.path]
        return None  # type: ignore[return-value] # nobody reads it

    async def fresh(self, at: Key) -> Seen | None:
        assert at == AT
        return self.seen

    def _node(self, name: str) -> Node:
        if self.seen is None:
            raise Unavailable("nobody answers")
        if name not in self.seen.nodes:
            raise Absent("no such node")
        return self.seen.nodes[name]


@dataclass
class Done:
    failures: list[Failure]
    pods: list[str]
    told: list[str]


def seen(**states: str) -> Seen:
    named = {name.replace("_", "-"): state for name, state in states.items()}
    return Seen({n: Node(name=n, state=NodeState.parse(s)) for n, s in named.items()})


def carried(slurm: Slurm, *actions: Action, pods: int = 0) -> Done:
    """Carry actions out on so many pods w-0, w-1, ... that are there."""

    async def story() -> Done:
        kube = FakeKube(lambda: NOW, RESOURCES)
        watched = watches(())
        world = World(kube, Mirror(kube, watched), watched)
        made = {"metadata": {"name": "hpc"}}
        await kube.send(requests.create(kinds.NAMESPACE, "", made, Document))
        for number in range(pods):
            await kube.send(requests.create(kinds.POD, "hpc", pod(f"w-{number}"), Document))
        told = Told()
        executor = Executor(kube, world, told, slurm)
        subject = Subject(kinds.NODE_SET, Meta(name="w", namespace="hpc", uid="u"))
        failures = await executor.carry_out(subject, Plan(actions, slurm=AT))
        page = await kube.send(requests.list_page(kinds.POD, Document))
        return Done(failures, sorted(each.metadata.name for each in page.items or ()), told.reasons)

    return asyncio.run(story())


def pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "slurmd", "image": "x"}]}
    return {"metadata": {"name": name, "namespace": "hpc", "uid": name}, "spec": spec}


def leaving(*names: str) -> tuple[Leaving, ...]:
    return tuple(Leaving(Key("hpc", name), "", name) for name in names)


# --- workers that go ----------------------------------------------------------------------------


def test_of_workers_that_leave_those_go_that_slurm_still_calls_free() -> None:
    slurm = Slurm(seen(w_0="IDLE+DRAIN", w_1="MIXED+DRAIN", w_2="IDLE", w_3="DOWN"))
    done = carried(slurm, Retire(leaving("w-0", "w-1", "w-2", "w-3"), WHY), pods=4)

    assert (done.pods, done.failures) == (["w-1", "w-2"], [])
    assert done.told == ["ScalingDown"]


def test_a_job_that_is_suspended_keeps_its_worker() -> None:
    free = seen(w_0="IDLE+DRAIN")
    asleep = {"w-0": {"7": Job(id=7, state=JobState.parse("SUSPENDED"))}}
    done = carried(Slurm(Seen(free.nodes, asleep)), Retire(leaving("w-0"), WHY), pods=1)

    assert done.pods == ["w-0"]


def test_a_worker_that_somebody_wrote_on_since_it_was_seen_stays() -> None:
    old = Leaving(Key("hpc", "w-0"), "", "w-0", version="1")
    done = carried(Slurm(seen(w_0="IDLE+DRAIN")), Retire((old,), WHY), pods=1)

    assert (done.pods, done.failures, done.told) == (["w-0"], [], [])


def test_nobody_goes_if_slurm_does_not_answer_now() -> None:
    done = carried(Slurm(None), Retire(leaving("w-0"), WHY), pods=1)

    assert done.pods == ["w-0"]
    assert [str(each) for each in done.failures] == [
        "Delete w-0: it did not say whether their nodes are free: they stay"
    ]
    assert done.told == ["DeleteFailed"]


def test_a_worker_that_registered_meanwhile_is_not_unknown_any_more() -> None:
    slurm = Slurm(seen(w_0="IDLE+DRAIN"))
    done = carried(slurm, Retire(leaving("w-0", "w-1"), WHY, unknown=True), pods=2)

    assert done.pods == ["w-0"]


# --- many at once -------------------------------------------------------------------------------


def test_many_pods_are_made_side_by_side_and_not_told_one_by_one() -> None:
    made = AtOnce(tuple(Create(kinds.POD, pod(f"w-{n}")) for n in range(100)))
    done = carried(Slurm(), made)

    assert (len(done.pods), done.told, done.failures) == (100, [], [])


def test_one_that_fails_does_not_keep_the_others_and_is_told() -> None:
    bodies = [pod(f"w-{n}") for n in range(30)]
    bodies[0] = {"metadata": {"name": "Bad Name", "namespace": "hpc"}, "spec": {}}
    done = carried(Slurm(), AtOnce(tuple(Create(kinds.POD, each) for each in bodies)))

    assert len(done.pods) == 29
    assert len(done.failures) == 1
    assert done.told == ["CreateFailed"]


def test_where_a_whole_batch_fails_the_rest_is_not_tried() -> None:
    bad = [{"metadata": {"name": f"Bad {n}", "namespace": "hpc"}, "spec": {}} for n in range(100)]
    done = carried(Slurm(), AtOnce(tuple(Create(kinds.POD, each) for each in bad)))

    assert len(done.failures) == 8
    assert done.told == ["CreateFailed"]


@pytest.mark.parametrize("count", [0, 1, 8, 9, 1_000, 10_000])
def test_batches_hold_everything_once_and_none_is_huge(count: int) -> None:
    steps = [Create(kinds.POD, pod(f"w-{n}")) for n in range(count)]
    batches = list(_batches(steps))
    assert [step for batch in batches for step in batch] == steps
    assert [len(batch) for batch in batches[:1]] == [min(count, 8)] * bool(count)
    assert max(map(len, batches), default=0) <= LARGEST_BATCH


def test_a_pod_is_not_made_twice_while_the_watch_is_on_its_way() -> None:
    async def story() -> None:
        kube = FakeKube(lambda: NOW, RESOURCES)
        watched = watches(())
        mirror = Mirror(kube, watched)
        world = World(kube, mirror, watched)
        made = {"metadata": {"name": "hpc"}}
        await kube.send(requests.create(kinds.NAMESPACE, "", made, Document))
        executor = Executor(kube, world, Told(), Slurm())
        executor.follow(world.pod_stores())
        subject = Subject(kinds.NODE_SET, Meta(name="w", namespace="hpc", uid="u"))
        worker = pod("w-0")
        worker["metadata"]["labels"] = {"app.kubernetes.io/name": "slurmd"}
        plan = Plan((Create(kinds.POD, worker),))

        def tries() -> int:
            return sum(asked.method == "POST" for asked in kube.asked)

        await executor.carry_out(subject, plan)
        before = tries()
        await executor.carry_out(subject, plan)
        assert tries() == before
        watching = asyncio.create_task(mirror.run())
        await mirror.synced()
        await kube.send(requests.delete(kinds.POD, Key("hpc", "w-0"), Deletion(grace_seconds=0)))
        async with asyncio.timeout(5):
            while any(len(store) for store in world.pod_stores()):
                await asyncio.sleep(0)
        await executor.carry_out(subject, plan)
        assert tries() == before + 1
        watching.cancel()
        await asyncio.wait([watching])

    asyncio.run(story())


# --- in Slurm -----------------------------------------------------------------------------------

DRAIN = ChangeNodes(("w-0", "w-1"), NodeUpdate(state="DRAIN", reason="why"), WHY)


@pytest.mark.parametrize(
    ("action", "asked"),
    [
        (DRAIN, ["POST /nodes/"]),
        (ForgetNodes(("w-2", "w-10", "w-1"), WHY), ["DELETE /node/w-%5B1-2%2C10%5D"]),
        (Reserve(ReservationSpec(name="maint"), WHY), ["POST /reservation"]),
        (Unreserve("maint", WHY), ["DELETE /reservation/maint"]),
        (RequeueJobs((7, 8), WHY), ["POST /jobs/requeue"]),
    ],
)
def test_slurm_is_changed_by_one_call_and_that_is_told(action: Action, asked: list[str]) -> None:
    slurm = Slurm(seen(w_0="IDLE", w_1="IDLE", w_2="DOWN", w_10="DOWN"))
    done = carried(slurm, action)

    assert (slurm.asked, done.failures, done.told) == (asked, [], ["ScalingDown"])


OURS, HIS = "slurm-operator: NodeSet (hpc/w) scales in", "bad disk"
GIVE_BACK = ChangeNodes(("w-0",), NodeUpdate(state="UNDRAIN"), WHY)
RESUME = ChangeNodes(("w-0",), NodeUpdate(state="RESUME"), WHY)
DRAIN_ONE = ChangeNodes(("w-0",), NodeUpdate(state="DRAIN", reason=OURS), WHY)
DRAIN_IDLE = ChangeNodes(("w-0",), NodeUpdate(state="DRAIN", reason=OURS), WHY, if_idle=True)
SAY_WHOSE = ChangeNodes(("w-0",), NodeUpdate(extra="ours"), WHY)
FORGET = ForgetNodes(("w-0",), WHY)
FORGET_ANY = ForgetNodes(("w-0",), WHY, whoever=True)


@pytest.mark.parametrize(
    ("action", "state", "reason", "done"),
    [
        (GIVE_BACK, "IDLE+DRAIN", OURS, True),
        (GIVE_BACK, "IDLE+DRAIN", HIS, False),
        (GIVE_BACK, "IDLE+DRAIN", "", False),
        (RESUME, "DOWN", OURS, True),
        (RESUME, "DOWN", HIS, False),
        (DRAIN_ONE, "IDLE", "", True),
        (DRAIN_ONE, "IDLE+DRAIN", OURS, True),
        (DRAIN_ONE, "IDLE+DRAIN", HIS, False),
        (DRAIN_ONE, "IDLE+DRAIN", "", False),
        (DRAIN_ONE, "DOWN", HIS, False),
        (DRAIN_ONE, "MIXED", "", True),
        (DRAIN_IDLE, "IDLE", "", True),
        (DRAIN_IDLE, "IDLE", HIS, False),
        (DRAIN_IDLE, "MIXED", "", False),
        (DRAIN_IDLE, "IDLE+COMPLETING", "", False),
        (SAY_WHOSE, "IDLE+DRAIN", HIS, True),
        (FORGET, "DOWN", OURS, True),
        (FORGET, "DOWN+NOT_RESPONDING", "Not responding", True),
        (FORGET, "DOWN+DRAIN", HIS, False),
        (FORGET_ANY, "DOWN+DRAIN", HIS, True),
    ],
)
def test_whoever_was_faster_than_what_we_saw_is_respected_and_only_what_was_done_is_told(
    action: Action, state: str, reason: str, done: bool
) -> None:
    slurm = Slurm(Seen({"w-0": Node(name="w-0", state=NodeState.parse(state), reason=reason)}))

    result = carried(slurm, action)

    assert result.failures == []
    assert (bool(slurm.asked), bool(result.told)) == (done, done)


def test_of_many_nodes_at_once_those_of_others_are_left_out() -> None:
    names = tuple(f"w-{number}" for number in range(20))
    nodes = {name: Node(name=name, state=NodeState.parse("IDLE")) for name in names}
    nodes["w-7"] = Node(name="w-7", state=NodeState.parse("IDLE+DRAIN"), reason=HIS)
    slurm = Slurm(Seen(nodes))
    carried(slurm, ForgetNodes(names, WHY))

    assert slurm.asked == ["DELETE /node/w-%5B0-6%2C8-19%5D"]


def test_no_state_is_changed_if_slurm_does_not_answer_now() -> None:
    slurm = Slurm(None)
    done = carried(slurm, DRAIN)

    assert (slurm.asked, done.told) == ([], ["SlurmNodeFailed"])


def test_what_is_gone_already_is_no_failure() -> None:
    gone = Absent("no such node")
    paths = ("/nodes/", "/node/w-%5B0-1%5D", "/reservation/maint")
    slurm = Slurm(seen(w_0="DOWN", w_1="DOWN"), dict.fromkeys(paths, gone))
    forget = ForgetNodes(("w-0", "w-1"), WHY)

    assert carried(slurm, DRAIN, forget, Unreserve("maint", WHY)).failures == []


def test_a_node_that_slurm_will_not_let_go_does_not_keep_the_others() -> None:
    names = tuple(f"w-{number}" for number in range(1000))
    busy: dict[str, SlurmError] = {"/node/w-%5B0-499%5D": Busy("Requested nodes are busy")}
    slurm = Slurm(seen(**dict.fromkeys(names, "DOWN")), busy)
    done = carried(slurm, ForgetNodes(names, WHY))

    assert slurm.asked == ["DELETE /node/w-%5B0-499%5D", "DELETE /node/w-%5B500-999%5D"]
    assert [str(each.error) for each in done.failures] == ["Requested nodes are busy"]


def test_a_refusal_of_slurm_is_told_with_its_target() -> None:
    slurm = Slurm(refuses={"/reservation": Refused("no such user")})
    done = carried(slurm, Reserve(ReservationSpec(name="maint"), WHY))

    assert [str(each) for each in done.failures] == ["SlurmReservation maint: no such user"]
    assert done.told == ["SlurmReservationFailed"]


# --- the status ---------------------------------------------------------------------------------


def test_a_status_is_not_written_again_while_the_copy_does_not_show_it_yet() -> None:
    async def story() -> None:
        kube = FakeKube(lambda: NOW, RESOURCES)
        watched = watches(())
        world = World(kube, Mirror(kube, watched), watched)
        made = {"metadata": {"name": "hpc"}}
        await kube.send(requests.create(kinds.NAMESPACE, "", made, Document))
        spec = {"controllerRef": {"name": "slurm"}}
        body = {"metadata": {"name": "w", "namespace": "hpc"}, "spec": spec}
        old = await kube.send(requests.create(kinds.NODE_SET, "hpc", body, Document))
        executor = Executor(kube, world, Told(), Slurm())
        subject = Subject(kinds.NODE_SET, old.metadata)

        def writes() -> int:
            return sum(asked.method == "PATCH" for asked in kube.asked)

        await executor.show(subject, {"replicas": 1}, old)
        await executor.show(subject, {"replicas": 1}, old)
        assert writes() == 1
        await executor.show(subject, {"replicas": 2}, old)
        assert writes() == 2
        new = await kube.send(requests.get(kinds.NODE_SET, Key("hpc", "w"), Document))
        await executor.show(subject, {"replicas": 1}, new)
        assert writes() == 3

    asyncio.run(story())
