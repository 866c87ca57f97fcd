"""Every call and every error, alike on the fake Slurm and on the real one in all its versions."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from tests.contract.slurm_world import NEWEST, World, external_job, fake_world, real_world
from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.errors import (
    Absent,
    Busy,
    Errno,
    Refused,
    SlurmError,
    Unauthorized,
    Unsupported,
)
from windlass.slurm.looking import MOST
from windlass.slurm.model import Node
from windlass.slurm.scheduling import looks_every_second
from windlass.slurm.specs import JobSpec, NodeUpdate, PartitionSpec, ReservationSpec
from windlass.slurm.table import job_keys
from windlass.slurm.versions import SINCE, Feature, Version
from windlass.slurm.writes import MALFORMED
from windlass.values.hostlist import expand, fold

NO_NODE, NO_JOB = "absent", 4_000_000
WORLDS = [("fake", NEWEST), *(("real", version) for version in Version)]


@pytest.fixture(params=WORLDS, ids=lambda world: f"{world[0]}-{world[1].name.lower()}")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    kind, version = request.param
    if kind == "fake":
        with fake_world(version) as made:
            yield made
    else:
        with real_world(request.getfixturevalue("slurm"), version) as made:
            yield made


def able(world: World, feature: Feature) -> None:
    """Skip where this version cannot; that it says so is a test of its own."""
    if world.version < SINCE[feature]:
        pytest.skip(f"{world.version.path} cannot {feature.value}")


def listed(world: World, names: list[str]) -> list[Node]:
    listing = world.send(requests.nodes())
    assert listing is not None
    return [node for node in listing.items if node.name in names]


# --- The controller ------------------------------------------------------------------------


def test_ping(world: World) -> None:
    (ping,) = world.send(requests.ping())

    assert (ping.responding, ping.primary) == (True, True)


def test_diag_tells_the_controllers_time(world: World) -> None:
    assert abs(world.send(requests.diag()).now - time.time()) < 5


def test_conf(world: World) -> None:
    able(world, Feature.READ_CONF)
    assert world.send(requests.conf()).values["ClusterName"] in ("contract", "fake")


def test_conf_tells_how_often_slurmctld_goes_through_its_queue(world: World) -> None:
    able(world, Feature.READ_CONF)
    assert looks_every_second(world.send(requests.conf()))


def test_reconfigure(world: World) -> None:
    world.send(requests.reconfigure())


def test_licences_and_shares_are_empty_without_any(world: World) -> None:
    assert world.send(requests.licenses()) == ()
    assert world.send(requests.shares()) == ()


# --- Nodes ---------------------------------------------------------------------------------


def test_created_nodes_are_in_the_list(world: World) -> None:
    names = world.nodes(3)

    seen = listed(world, names)

    assert [node.name for node in seen] == names
    assert {(node.cpus, node.memory, node.address) for node in seen} == {(4, 1000, "127.0.0.1")}
    assert {(node.state.base, node.partitions) for node in seen} == {("IDLE", ("all",))}


def test_from_v44_on_an_external_node_is_seen_as_one(world: World) -> None:
    (name,) = world.nodes(1)

    assert world.send(requests.node(name)).state.external == (world.version >= Version.V44)


def test_nodes_are_created_by_versions_that_can(world: World) -> None:
    able(world, Feature.CREATE_NODES)
    line = f"NodeName=made-{world.version.name} CPUs=2 State=EXTERNAL NodeAddr=127.0.0.1"
    world.send(requests.create_nodes(line))

    assert world.send(requests.node(f"made-{world.version.name}")).cpus == 2


def test_a_node_is_not_created_twice(world: World) -> None:
    (name,) = world.nodes(1)
    with pytest.raises(Refused) as caught:
        world.prepare(requests.create_nodes(f"NodeName={name} CPUs=2 State=EXTERNAL"))

    assert caught.value.name == "ESLURM_NODE_ALREADY_EXISTS"


def test_a_drain_is_seen_by_the_next_read(world: World) -> None:
    (name,) = world.nodes(1)
    world.send(requests.update_node(name, NodeUpdate(state="DRAIN", reason="maintenance")))
    drained = world.send(requests.node(name))
    world.send(requests.update_node(name, NodeUpdate(state="UNDRAIN")))

    assert (drained.state.drained, drained.reason) == (True, "maintenance")
    assert not world.send(requests.node(name)).state.drain


def test_comment_extra_and_features_are_kept(world: World) -> None:
    (name,) = world.nodes(1)
    update = NodeUpdate(comment='{"a": "ü"}', extra="x", features=("one", "two"))
    world.send(requests.update_node(name, update))

    seen = world.send(requests.node(name))
    assert (seen.comment, seen.extra, seen.features) == ('{"a": "ü"}', "x", ("one", "two"))


def test_many_nodes_are_updated_in_one_call(world: World) -> None:
    names = world.nodes(5)
    world.send(requests.update_nodes(names[:3], NodeUpdate(state="DRAIN", reason="many")))

    assert [node.reason for node in listed(world, names)] == ["many"] * 3 + [""] * 2


def test_nodes_are_named_by_hostlists_too_and_a_malformed_one_is_refused_as_that(
    world: World,
) -> None:
    names = world.nodes(12)
    hostlist = f"{names[0].removesuffix('0')}[0-1,10]"
    world.send(requests.update_nodes([hostlist, names[5]], NodeUpdate(comment="some")))
    with pytest.raises(Refused) as caught:
        world.send(requests.update_nodes([f"{names[0]}["], NodeUpdate(comment="none")))

    assert caught.value.errno in MALFORMED
    told = [node.name for node in listed(world, names) if node.comment == "some"]
    assert sorted(told) == sorted([names[0], names[1], names[5], names[10]])


def test_one_unknown_name_stops_a_bulk_update_before_anything_is_changed(world: World) -> None:
    (name,) = world.nodes(1)
    with pytest.raises(Absent):
        world.send(requests.update_nodes([name, NO_NODE], NodeUpdate(comment="changed")))

    assert world.send(requests.node(name)).comment == ""


def test_one_impossible_change_refuses_a_bulk_update_that_is_carried_out_all_the_same(
    world: World,
) -> None:
    drained, idle = world.nodes(2)
    world.send(requests.update_node(drained, NodeUpdate(state="DRAIN", reason="x")))
    with pytest.raises(Refused) as caught:
        world.send(requests.update_nodes([drained, idle], NodeUpdate(state="RESUME")))

    assert caught.value.errno == Errno.ESLURM_INVALID_NODE_STATE_TRANSITION
    assert not world.send(requests.node(drained)).state.drain


def test_a_deleted_node_is_absent(world: World) -> None:
    (name,) = world.nodes(1)
    world.send(requests.delete_node(name))

    with pytest.raises(Absent):
        world.send(requests.node(name))


def test_a_node_with_a_job_is_busy(world: World) -> None:
    names = world.nodes(1)
    job_id = world.running_job(names)
    with pytest.raises(Busy) as caught:
        world.send(requests.delete_node(names[0]))
    world.send(requests.cancel(job_id))
    world.send(requests.delete_node(names[0]))

    assert caught.value.name == "ESLURM_NODES_BUSY"


def test_what_is_allocated_shows_in_the_list_of_nodes(world: World) -> None:
    names = world.nodes(2)
    job_id = world.running_job(names[:1])

    seen = {node.name: (node.state.base, node.cpus_allocated) for node in listed(world, names)}
    world.send(requests.cancel(job_id))
    assert seen == {names[0]: ("MIXED", 1), names[1]: ("IDLE", 0)}


def test_an_unchanged_list_is_none(world: World) -> None:
    later = int(time.time()) + 1000

    assert world.send(requests.nodes(since=later)) is None
    assert world.send(requests.jobs(since=later)) is None
    assert world.send(requests.partitions(since=later)) is None
    assert world.send(requests.reservations(since=later)) is None


def test_a_change_after_a_listing_is_seen_by_the_next_one(world: World) -> None:
    (name,) = world.nodes(1)
    first = world.send(requests.nodes())
    assert first is not None
    world.send(requests.update_node(name, NodeUpdate(comment="new")))
    second = world.send(requests.nodes(since=first.as_of))

    assert second is not None
    assert [node.comment for node in second.items if node.name == name] == ["new"]


# --- Jobs ----------------------------------------------------------------------------------


def test_an_external_job_runs_on_the_nodes_it_asked_for(world: World) -> None:
    able(world, Feature.EXTERNAL_JOBS)
    names = world.nodes(2)
    spec = external_job(names, admin_comment='{"uid": "1"}', time_limit=30)
    job_id = world.send(requests.submit(spec)).job_id
    world.wait(lambda: world.send(requests.job(job_id)).state.running)

    job = world.send(requests.job(job_id))
    assert sorted(expand(job.nodes)) == sorted(names)
    assert (job.admin_comment, job.time_limit, job.node_count) == ('{"uid": "1"}', 30, 2)
    assert job.ends_at == (job.started_at or 0) + 30 * 60
    assert "EXTERNAL_JOB" in job.flags
    world.send(requests.cancel(job_id))


def test_a_job_that_may_begin_in_the_next_second_starts_then(world: World) -> None:
    nodes = world.nodes(1)
    begins_at = world.send(requests.diag()).now + 1
    job_id = world.prepare(requests.submit(external_job(nodes, begins_at=begins_at))).job_id
    world.wait(lambda: world.send(requests.job(job_id)).state.running)
    started_at = world.send(requests.job(job_id)).started_at
    world.send(requests.cancel(job_id))
    assert started_at is not None
    assert begins_at <= started_at <= begins_at + 3


def test_a_cancelled_job_has_ended_and_can_be_cancelled_again(world: World) -> None:
    job_id = world.running_job(world.nodes(1))
    world.send(requests.cancel(job_id))
    world.send(requests.cancel(job_id))

    state = world.send(requests.job(job_id)).state
    assert (state.base, state.ended) == ("CANCELLED", True)


def test_many_jobs_are_cancelled_in_one_call_and_the_unknown_are_named(world: World) -> None:
    first, second = (world.running_job(world.nodes(1)) for _ in range(2))
    outcomes = world.send(requests.cancel_jobs([first, NO_JOB, second]))

    wanted = (str(NO_JOB), Errno.ESLURM_INVALID_JOB_ID)
    assert [(each.job, each.errno) for each in outcomes] == [wanted]
    assert world.send(requests.job(second)).state.ended


def test_the_states_of_all_jobs_and_of_one(world: World) -> None:
    job_id = world.running_job(world.nodes(1))

    everything = {each.key: each.state.base for each in world.send(requests.job_states())}
    (one,) = world.send(requests.job_states(job_id))
    world.send(requests.cancel(job_id))
    assert (everything[str(job_id)], one.state.base) == ("RUNNING", "RUNNING")


def test_the_states_of_some_jobs_are_one_call_and_who_is_not_there_is_left_out(
    world: World,
) -> None:
    first, second, third = (world.running_job(world.nodes(1)) for _ in range(3))

    many = range(90_000_000, 90_000_000 + MOST - 2)
    found = world.send(requests.job_states(first, *many, third))
    world.send(requests.cancel_jobs([first, second, third]))
    assert {each.key: each.state.base for each in found} == {
        str(first): "RUNNING",
        str(third): "RUNNING",
    }


def test_an_array_is_one_call_with_a_record_for_each_task_that_differs_and_one_for_the_rest(
    world: World,
) -> None:
    array = held_batch_job(world, array="1-4")
    world.split(array, 2)

    records = world.send(requests.job_records(array))
    alone = world.send(requests.job_records(max(job.id for job in records)))
    states = {each.key: each.state for each in world.send(requests.job_states())}
    world.send(requests.cancel(array))
    rest, second = sorted(records, key=lambda job: job.id)
    assert (rest.id, rest.array_task_id, second.array_task_id) == (array, None, 2)
    assert {rest.array_job_id, second.array_job_id} == {array}
    assert [job.id for job in alone] == [second.id]
    names = [f"{array}_1", f"{second.id}_2", f"{array}_3", f"{array}_4"]
    told = {key: job.state for job in records for key in job_keys(job)}
    assert told == {name: states[name] for name in names}


def test_the_list_of_jobs(world: World) -> None:
    job_id = world.running_job(world.nodes(1), name="listed")
    listing = world.send(requests.jobs())
    world.send(requests.cancel(job_id))

    assert listing is not None
    assert [job.name for job in listing.items if job.id == job_id] == ["listed"]


def test_a_running_job_is_updated(world: World) -> None:
    job_id = world.running_job(world.nodes(1))
    world.send(requests.update_job(job_id, JobSpec(comment="changed", time_limit=77)))

    job = world.send(requests.job(job_id))
    world.send(requests.cancel(job_id))
    assert (job.comment, job.time_limit) == ("changed", 77)


def test_what_only_a_pending_job_takes_is_refused(world: World) -> None:
    job_id = world.running_job(world.nodes(1))
    with pytest.raises(Refused) as caught:
        world.send(requests.update_job(job_id, JobSpec(begins_at=int(time.time()) + 60)))
    world.send(requests.cancel(job_id))

    assert caught.value.name == "ESLURM_JOB_NOT_PENDING"


def test_the_resources_of_a_job_are_in_the_order_of_its_nodes(world: World) -> None:
    able(world, Feature.JOB_RESOURCES)
    names = world.nodes(12)
    job_id = world.running_job([names[11], names[2], names[1]], memory_per_node=100)

    job, held = world.send(requests.job(job_id)), world.send(requests.resources(job_id))
    world.send(requests.cancel(job_id))
    order = [names[1], names[2], names[11]]
    assert [(each.node, each.memory) for each in held] == [(name, 100) for name in order]
    assert job.nodes == fold(order)
    assert (job.reason, job.node_count) == ("None", 3)


def test_a_job_that_does_not_run_has_no_resources(world: World) -> None:
    able(world, Feature.JOB_RESOURCES)
    waiting, ended = held_batch_job(world), world.running_job(world.nodes(1))
    world.send(requests.cancel(ended))

    for job_id in (waiting, ended):
        with pytest.raises(Absent) as caught:
            world.send(requests.resources(job_id))
        assert caught.value.name == "ESLURM_JOB_NOT_RUNNING"
    world.send(requests.cancel(waiting))


def test_an_external_job_cannot_be_requeued(world: World) -> None:
    able(world, Feature.REQUEUE)
    job_id = world.running_job(world.nodes(1))
    with pytest.raises(Refused) as one:
        world.send(requests.requeue(job_id))
    with pytest.raises(Refused) as many:
        world.send(requests.requeue_jobs([job_id]))
    world.send(requests.cancel(job_id))

    assert one.value.errno == many.value.errno == Errno.ESLURM_BATCH_ONLY


def ended_batch_job(world: World) -> int:
    """A batch job that was cancelled before it ran: it needs no slurmd."""
    job_id = held_batch_job(world)
    world.prepare(requests.cancel(job_id))
    return job_id


def held_batch_job(world: World, array: str | None = None) -> int:
    script, environment = "#!/bin/sh\n", ("A=b",)
    base = JobSpec(name="batch", script=script, directory="/tmp", environment=environment)
    spec = structs.replace(base, hold=True, array=array)
    return world.prepare(requests.submit(spec)).job_id


def test_an_ended_batch_job_is_requeued_and_waits_again(world: World) -> None:
    able(world, Feature.REQUEUE)
    job_id, other = ended_batch_job(world), ended_batch_job(world)
    world.send(requests.requeue(job_id))
    assert world.send(requests.requeue_jobs([other])) == ()

    states = [world.send(requests.job(each)).state.base for each in (job_id, other)]
    with pytest.raises(Refused) as caught:
        world.send(requests.requeue(job_id))
    world.send(requests.cancel_jobs([job_id, other]))
    assert states == ["PENDING", "PENDING"]
    assert caught.value.name == "ESLURM_JOB_PENDING"


def test_a_job_is_requeued_on_hold(world: World) -> None:
    able(world, Feature.REQUEUE)
    job_id = ended_batch_job(world)
    world.send(requests.requeue(job_id, hold=True))

    job = world.send(requests.job(job_id))
    world.send(requests.cancel(job_id))
    assert (job.state.base, job.priority) == ("PENDING", 0)


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"partition": "absent"}, "ESLURM_INVALID_PARTITION_NAME"),
        ({"script": "#!/bin/sh\n"}, "ESLURM_INVALID_EXTERNAL_JOB"),
    ],
)
def test_a_job_that_cannot_be_is_refused_with_slurms_name_for_it(
    world: World, fields: dict[str, object], name: str
) -> None:
    able(world, Feature.EXTERNAL_JOBS)
    with pytest.raises(Refused) as caught:
        world.send(requests.submit(external_job(world.nodes(1), **fields)))

    assert caught.value.name == name


# --- Partitions and reservations -----------------------------------------------------------


def test_a_partition_is_made_changed_and_taken_away(world: World) -> None:
    able(world, Feature.WRITE_PARTITIONS)
    names = world.nodes(2)
    world.send(requests.write_partition(PartitionSpec(name="p", nodes=",".join(names))))
    world.send(requests.write_partition(PartitionSpec(name="p", state="DOWN", max_time=60)))
    seen = world.send(requests.partition("p"))
    world.send(requests.delete_partition("p"))

    assert sorted(expand(seen.nodes)) == names
    assert (seen.state, seen.max_time) == ("DOWN", 60)
    with pytest.raises(Absent):
        world.send(requests.partition("p"))


def test_the_list_of_partitions(world: World) -> None:
    listing = world.send(requests.partitions())

    assert listing is not None
    assert {"all": "UP"}.items() <= {each.name: each.state for each in listing.items}.items()


def test_a_reservation_is_made_changed_and_taken_away(world: World) -> None:
    able(world, Feature.WRITE_RESERVATIONS)
    names, start = world.nodes(2), int(time.time()) + 3600
    name = f"r-{world.version.name}"
    spec = ReservationSpec(
        name=name, nodes=tuple(names), starts_at=start, minutes=10, users=("root",)
    )
    world.send(requests.write_reservation(spec))
    world.send(requests.write_reservation(ReservationSpec(name=name, minutes=20)))
    seen = world.send(requests.reservation(name))
    listing = world.send(requests.reservations())
    world.send(requests.delete_reservation(name))

    assert (seen.node_count, seen.starts_at, seen.ends_at) == (2, start, start + 1200)
    assert listing is not None
    assert name in [each.name for each in listing.items]
    with pytest.raises(Absent):
        world.send(requests.reservation(name))


def test_a_reservation_for_nobody_is_refused(world: World) -> None:
    able(world, Feature.WRITE_RESERVATIONS)
    spec = ReservationSpec(name="nobodys", starts_at=int(time.time()) + 60, minutes=1)
    with pytest.raises(Refused):
        world.send(requests.write_reservation(spec))


# --- Errors --------------------------------------------------------------------------------

MISSING: list[Request[Any]] = [
    requests.node(NO_NODE),
    requests.update_node(NO_NODE, NodeUpdate(comment="x")),
    requests.delete_node(NO_NODE),
    requests.job(NO_JOB),
    requests.update_job(NO_JOB, JobSpec(comment="x")),
    requests.cancel(NO_JOB),
    requests.partition("absent"),
    requests.reservation("absent"),
    requests.delete_reservation("absent"),
]


@pytest.mark.parametrize("request_", MISSING, ids=lambda it: f"{it.method}{it.path}")
def test_what_is_not_there_is_absent(world: World, request_: Request[object]) -> None:
    with pytest.raises(Absent):
        world.send(request_)


LATER: dict[Feature, Request[Any]] = {
    Feature.CREATE_NODES: requests.create_nodes("NodeName=x State=EXTERNAL"),
    Feature.SET_TOPOLOGY: requests.update_node("x", NodeUpdate(topology="x")),
    Feature.WRITE_PARTITIONS: requests.delete_partition("absent"),
    Feature.WRITE_RESERVATIONS: requests.write_reservation(ReservationSpec(name="x")),
    Feature.JOB_RESOURCES: requests.resources(NO_JOB),
    Feature.REQUEUE: requests.requeue(NO_JOB),
    Feature.READ_CONF: requests.conf(),
    Feature.EXTERNAL_JOBS: requests.submit(external_job([])),
}


@pytest.mark.parametrize("feature", Feature)
def test_an_old_version_says_what_it_cannot_do(world: World, feature: Feature) -> None:
    if world.version >= SINCE[feature]:
        pytest.skip("it can")
    with pytest.raises(Unsupported, match=feature.value):
        world.send(LATER[feature])


def test_no_token_and_a_forged_one_are_unauthorized(world: World) -> None:
    for client in (world.nameless, world.forged):
        with pytest.raises(Unauthorized):
            world.send_as(client, requests.nodes())


def test_a_ping_with_a_forged_token_says_that_nobody_responds(world: World) -> None:
    assert [ping.responding for ping in world.send_as(world.forged, requests.ping())] == [False]


def test_a_user_without_rights_is_unauthorized(world: World) -> None:
    (name,) = world.nodes(1)
    with pytest.raises(Unauthorized):
        world.send_as(world.plain, requests.update_node(name, NodeUpdate(comment="x")))


def test_the_connection_that_an_error_closed_does_not_spoil_the_next_calls(world: World) -> None:
    for _ in range(5):
        with pytest.raises(SlurmError):
            world.send(requests.job(NO_JOB))
        assert world.send(requests.ping())
