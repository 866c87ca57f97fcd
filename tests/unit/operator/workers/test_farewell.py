"""A NodeSet that is being deleted goes when its last job has gone, and its partition with it."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec
import pytest

from tests.unit.operator.staging import Stage, staged
from tests.unit.operator.workers.observed import NOW, membership, node_set, observed, pod, slurm
from tests.unit.operator.workers.test_plan import drained, message, removed, said, told
from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube import kinds, requests
from windlass.kube.wire import Document
from windlass.operator.executor import Executor
from windlass.operator.membership import Membership
from windlass.operator.plan import Finalize, ForgetNodes, Plan, Unreserve
from windlass.operator.reconciler import Reconciler, Room
from windlass.operator.site import Site
from windlass.operator.slurms.seen import Seen
from windlass.operator.workers.belonging import belonging
from windlass.operator.workers.observe import Observed, Observer
from windlass.operator.workers.plan import plan
from windlass.slurm.call import Request
from windlass.slurm.model import Job, Node, Reservation
from windlass.values.key import Key
from windlass.values.states import JobState, NodeState

R = TypeVar("R")
GONE = {"deletionTimestamp": "2026-07-01T11:59:00Z"}
RUNNING, PENDING = JobState.parse("RUNNING"), JobState.parse("PENDING")


def deleted(**given: Any) -> NodeSet:
    metadata = {**GONE, **given.pop("metadata", {})}
    return node_set(metadata=metadata, partition={"enabled": True}, **given)


def seen(nodes: dict[str, Node] | None = None, **more: Any) -> Seen:
    return Seen(nodes or {}, **{"reservations": {}, **more})


def released(done: Plan) -> bool:
    found = [step for step in done.steps if isinstance(step, Finalize)]
    assert all(step.remove and not step.add for step in found)
    return bool(found)


def going_controller() -> Membership:
    one = membership()
    gone = msgspec.structs.replace(one.controller.metadata, deletion_timestamp=NOW)
    controller = msgspec.structs.replace(one.controller, metadata=gone)
    return Membership(controller=controller, keys=one.keys, slurm_secret=one.slurm_secret)


def test_workers_drain_with_a_reason_that_says_why() -> None:
    done = plan(observed(deleted(), pods=(pod(0),), slurm=seen(slurm(w_0="IDLE"))), NOW)
    assert drained(done) == {"DRAIN": ["w-0"]}
    assert not released(done)
    assert said(done)["Progressing"] == ("True", "Draining")


def test_it_is_said_for_whose_jobs_it_waits() -> None:
    job = Job(id=7, state=RUNNING, ends_at=1_782_910_800, time_limit=60)
    jobs = {"w-0": {"7": job}}
    busy = seen(slurm(w_0="ALLOCATED+DRAIN"), jobs=jobs)
    done = plan(observed(deleted(), pods=(pod(0),), slurm=busy), NOW)
    assert removed(done) == []
    assert not released(done)
    assert "w-0 runs 1 job, the last ends by 2026-07-01 13:00 UTC" in message(done, "Progressing")
    assert told(done) == ["Draining"]


def test_drained_workers_go_and_the_set_waits_for_their_end() -> None:
    free = seen(slurm(w_0="IDLE+DRAIN"))
    done = plan(observed(deleted(), pods=(pod(0),), slurm=free), NOW)
    assert removed(done) == ["w-0"]
    assert said(done)["Progressing"] == ("True", "Deleting")
    later = plan(observed(deleted(), pods=(pod(0, going=True),), slurm=free), NOW)
    assert removed(later) == []
    assert not released(later)


def test_a_worker_that_never_ran_goes_while_slurm_is_silent_and_the_set_stays() -> None:
    done = plan(observed(deleted(), pods=(pod(0, node=""), pod(1))), NOW)
    assert removed(done) == ["w-0"]
    assert said(done)["Ready"] == ("False", "SlurmSilent")
    empty = plan(observed(deleted()), NOW)
    assert not released(empty)
    assert "force-delete" in message(empty, "Progressing")


def test_slurm_forgets_the_nodes_of_the_set_and_its_reservation_but_nothing_else() -> None:
    own = belonging(deleted().metadata)

    def node(name: str, extra: str = str(own), state: str = "DOWN") -> Node:
        return Node(name=name, state=NodeState.parse(state), extra=extra)

    nodes = [
        node("w-0"),
        node("w-12", state="IDLE+DRAIN"),
        node("w-2", state="IDLE"),
        node("w-3", str(replace(own, uid="of-another"))),
        node("w-4", ""),
        node("w-5"),
    ]
    names = ("SlurmOperatorMaint-w", "SlurmOperatorMaint-other")
    reserved = {name: Reservation(name=name, nodes="w-[0-5]") for name in names[:1]}
    reserved[names[1]] = Reservation(name=names[1], nodes="w-5")
    knows = seen({each.name: each for each in nodes}, reservations=reserved)
    remembers = {
        "type": "ReservationCreated",
        "status": "True",
        "reason": "Created",
        "message": "SlurmOperatorMaint-w",
        "lastTransitionTime": "2026-07-01T11:00:00Z",
    }
    done = plan(observed(deleted(status={"conditions": [remembers]}), slurm=knows), NOW)
    steps = [step for step in done.steps if isinstance(step, ForgetNodes | Unreserve)]
    assert [type(step).__name__ for step in steps] == ["Unreserve", "ForgetNodes"]
    assert [step.names for step in steps if isinstance(step, ForgetNodes)] == [("w-0", "w-12")]
    assert [step.name for step in steps if isinstance(step, Unreserve)] == [names[0]]
    assert not released(done)


def test_the_set_stays_while_slurm_thinks_that_jobs_run_on_workers_that_are_gone() -> None:
    extra = str(belonging(deleted().metadata))
    busy = Node(name="w-0", state=NodeState.parse("ALLOCATED+DRAIN"), extra=extra)
    done = plan(observed(deleted(), slurm=seen({"w-0": busy})), NOW)

    assert not released(done)
    assert "w-0" in message(done, "Progressing")
    assert done.again is not None


def test_a_reservation_that_the_set_does_not_remember_is_somebody_elses() -> None:
    name = "SlurmOperatorMaint-w"
    knows = seen(reservations={name: Reservation(name=name)})
    done = plan(observed(deleted(), slurm=knows), NOW)
    assert not [step for step in done.steps if isinstance(step, Unreserve)]
    assert released(done)


@pytest.mark.parametrize("state", [RUNNING, PENDING], ids=str)
def test_the_set_stays_while_jobs_name_its_partition(state: JobState) -> None:
    queued = seen(queues={"w": {"9": Job(id=9, state=state, partition="w,all")}})
    done = plan(observed(deleted(), slurm=queued), NOW)
    assert not released(done)
    assert said(done)["Progressing"] == ("True", "PartitionInUse")
    assert f"9 ({state})" in message(done, "Progressing")
    assert done.again is not None


def test_jobs_of_another_partition_hold_nothing() -> None:
    queued = seen(queues={"all": {"9": Job(id=9, state=PENDING, partition="all")}})
    assert released(plan(observed(deleted(), slurm=queued), NOW))


def test_a_partition_of_a_slurm_outside_is_not_ours_to_remove() -> None:
    queued = seen(queues={"w": {"9": Job(id=9, state=PENDING, partition="w")}})
    outside = membership(external=True, externalConfig={"host": "slurm", "port": 6817})
    done = plan(observed(deleted(), slurm=queued, membership=outside), NOW)
    assert released(done)


@pytest.mark.parametrize(
    "more",
    [
        {"membership": None},
        {"membership": going_controller()},
        {"of": deleted(metadata={"annotations": {labels.FORCE_DELETE: "true"}})},
    ],
    ids=["no Controller", "a Controller that goes", "forced"],
)
def test_nobody_is_waited_for_where_all_of_it_goes(more: dict[str, Any]) -> None:
    given = {"of": deleted(), "pods": (pod(0),), **more}
    done = plan(observed(**given), NOW)
    assert released(done)
    assert removed(done) == []


def test_a_set_that_others_hold_is_left_to_them() -> None:
    theirs = deleted(metadata={"finalizers": ["somebody.else/here"]})
    assert plan(observed(theirs, slurm=seen()), NOW) == Plan()


@pytest.mark.parametrize(
    ("spec", "held"),
    [
        ({"replicas": 0}, False),
        ({"replicas": 1}, True),
        ({"replicas": 0, "partition": {"enabled": True}}, True),
    ],
)
def test_a_set_with_workers_or_a_partition_is_held(spec: dict[str, Any], held: bool) -> None:
    done = plan(observed(node_set(metadata={"finalizers": []}, **spec)), NOW)
    found = [step.add for step in done.steps if isinstance(step, Finalize)]
    assert found == ([(labels.WORKERS,)] if held else [])


# --- on an API server in memory --------------------------------------------------------------


@dataclass
class Answering:
    """A Slurm that shows what a test says."""

    shown: Seen = field(default_factory=seen)

    def seen(self, _: object) -> Seen | None:
        return self.shown

    async def fresh(self, at: Key) -> Seen | None:
        return self.shown

    async def send(self, at: Key, request: Request[R]) -> R:
        return {"failed": {}}  # type: ignore[return-value] # nobody reads it


def test_a_set_vanishes_after_its_last_worker() -> None:
    async def story() -> None:
        answers = Answering()
        room: Room[Observed] = Room(
            kinds.NODE_SET, Observer(Site(), answers.seen).observe, plan, farewells=True
        )
        async with staged(room) as stage:
            executor = Executor(stage.kube, stage.world, stage.told, answers)
            stage.reconciler = Reconciler(room, stage.world, executor, lambda: NOW)
            await made(stage)
            await stage.kube.send(requests.delete(kinds.NODE_SET, Key("hpc", "w")))
            await stage.caught_up()
            answers.shown = seen(
                queues={"w": {"1": Job(id=1, state=PENDING, partition="w")}},
            )
            await stage.settle("w")
            assert await finalizers(stage) == ["mine.example/own", labels.WORKERS]
            assert stage.world.pods(kinds.NODE_SET, Key("hpc", "w")) == []

            answers.shown = seen()
            await stage.settle("w")
            assert await finalizers(stage) == ["mine.example/own"]

    asyncio.run(story())


async def made(stage: Stage) -> None:
    await stage.create(kinds.SECRET, "slurm-auth-slurm", data={"slurm.key": "a2V5"})
    await stage.create(kinds.CONTROLLER, "slurm", spec={})
    spec = {"controllerRef": {"name": "slurm"}, "partition": {"enabled": True}}
    await stage.create(
        kinds.NODE_SET, "w", spec=spec, metadata={"finalizers": ["mine.example/own"]}
    )
    await stage.settle("w")
    assert await finalizers(stage) == ["mine.example/own", labels.WORKERS]


async def finalizers(stage: Stage) -> list[str]:
    found = await stage.kube.send(requests.get(kinds.NODE_SET, Key("hpc", "w"), Document))
    return list(found.metadata.finalizers or ())
