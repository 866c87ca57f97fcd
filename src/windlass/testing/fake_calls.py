"""How the fake Slurm answers each call, from the state of its cluster."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Raw, json

from windlass.slurm import codec, wire
from windlass.slurm.call import Response
from windlass.slurm.errors import Errno
from windlass.slurm.table import job_keys
from windlass.testing.fake_allocation import FakeJob
from windlass.testing.fake_cluster import (
    BASES,
    FakeCluster,
    Rejected,
    changed,
    not_found,
    number,
)
from windlass.values import bitmap
from windlass.values.hostlist import expand
from windlass.values.malformed import Malformed


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, taken apart."""

    name: str
    query: dict[str, str]
    body: dict[str, Any]
    now: int

    @property
    def since(self) -> int | None:
        text = self.query.get("update_time")
        return None if text is None else int(text)


Handler = Callable[[FakeCluster, Asked], wire.Answer | Response]

ACTIVE_FEATURE_NOT_AVAILABLE: Final = 2031
NOT_MODIFIED: Final = Response(304, is_json=False, body=b"")


# --- The controller ------------------------------------------------------------------------


def ping(_slurm: FakeCluster, _asked: Asked) -> wire.Answer:
    """Answered by slurmrestd itself, which alone knows whether slurmctld is there."""
    raise NotImplementedError


def diag(_slurm: FakeCluster, asked: Asked) -> Response:
    body = json.encode({"statistics": {"req_time": number(asked.now), "jobs_submitted": 0}})
    return Response(200, is_json=True, body=body)


def conf(slurm: FakeCluster, _asked: Asked) -> wire.Answer:
    words = list(slurm.scheduling)
    return wire.ConfAnswer(slurm_conf={"ClusterName": slurm.name, "SchedulerParameters": words})


def nothing(_slurm: FakeCluster, _asked: Asked) -> wire.Answer:
    return wire.Answer()


# --- Nodes ---------------------------------------------------------------------------------


def get_nodes(slurm: FakeCluster, asked: Asked) -> wire.Answer | Response:
    if slurm.unchanged("nodes", asked.since):
        return NOT_MODIFIED
    return wire.NodesAnswer(nodes=list(slurm.nodes.values()), last_update=number(asked.now))


def get_node(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    if asked.name not in slurm.nodes:
        return not_found()
    return wire.NodesAnswer(nodes=[slurm.nodes[asked.name]], last_update=number(asked.now))


def post_node(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    change_node(slurm, slurm.node(asked.name), asked.body)
    return wire.Answer()


def post_nodes(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    """An unknown name stops it before anything is changed, an impossible change only after."""
    try:
        targets = [slurm.node(name) for text in asked.body["name"] for name in expand(text)]
    except Malformed as error:
        raise Rejected(Errno.ESLURM_DATA_PARSE_BAD_INPUT, 500) from error
    refused = None
    for node in targets:
        try:
            change_node(slurm, node, asked.body)
        except Rejected as error:
            refused = error
    if refused:
        raise refused
    return wire.Answer()


def change_node(slurm: FakeCluster, node: wire.WireNode, change: dict[str, Any]) -> None:
    change_features(node, change)
    for state in change.get("state", ()):
        change_state(node, state, change.get("reason"))
    for name in ("comment", "extra", "gres"):
        if name in change:
            setattr(node, name, change[name])
    if "topology_str" in change:
        change_topology(slurm, node, change["topology_str"])
    slurm.settle(node.name)


def change_topology(slurm: FakeCluster, node: wire.WireNode, wanted: str) -> None:
    named = {place.partition(":")[0] for place in wanted.split(",") if place}
    if not named <= slurm.topologies:
        raise Rejected(Errno.ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE)
    node.topology = wanted


def change_features(node: wire.WireNode, change: dict[str, Any]) -> None:
    """An empty list is no change; a list with an empty name takes all away.

    Those that are available become active unless it is said which; but none that is active goes
    that way.
    """
    available = change.get("features") or node.features or []
    active = change.get("features_act") or node.active_features or []
    if not {each for each in active if each} <= set(available):
        raise Rejected(ACTIVE_FEATURE_NOT_AVAILABLE)
    if change.get("features") and not change.get("features_act"):
        active = available
    node.features = [each for each in available if each]
    node.active_features = [each for each in active if each]


def change_state(node: wire.WireNode, state: str, reason: str | None) -> None:
    words = list(node.state or ())
    stopped = [word for word in words if word in ("DRAIN", "DOWN")]
    if state == "RESUME" and not stopped:
        raise Rejected(Errno.ESLURM_INVALID_NODE_STATE_TRANSITION)
    if state not in ("DRAIN", "DOWN", "UNDRAIN", "RESUME", "IDLE"):
        raise Rejected(Errno.ESLURM_DATA_FLAGS_INVALID, 500)
    if state == "DRAIN":
        node.state = [*(word for word in words if word != "DRAIN"), "DRAIN"]
        node.reason = reason or node.reason
    elif state == "DOWN":
        node.state = ["DOWN", *(word for word in words if word not in BASES)]
        node.reason = reason or node.reason
    else:
        gone = {"DRAIN"} if state == "UNDRAIN" else {"DRAIN", "DOWN"}
        node.state = [word for word in words if word not in gone]
        if "DOWN" not in node.state:
            node.reason = ""


def new_nodes(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    words = dict(word.split("=", 1) for word in asked.body["node_conf"].split())
    if words.get("State") not in ("EXTERNAL", "CLOUD", "FUTURE"):
        raise Rejected(Errno.ESLURM_INVALID_NODE_STATE)
    names = expand(words["NodeName"])
    if any(name in slurm.nodes for name in names):
        raise Rejected(Errno.ESLURM_NODE_ALREADY_EXISTS)
    addresses = expand(words.get("NodeAddr", "")) or names
    for place, name in enumerate(names):
        node = wire.WireNode(name=name, hostname=name, state=["IDLE", words["State"]])
        node.address, node.partitions = addresses[min(place, len(addresses) - 1)], ["all"]
        node.gres, node.topology = words.get("Gres", "").strip('"'), words.get("Topology", "")
        node.cpus, node.real_memory = int(words.get("CPUs", 1)), int(words.get("RealMemory", 1))
        node.threads = int(words.get("ThreadsPerCore", 1))
        node.features = [each for each in words.get("Feature", "").split(",") if each]
        slurm.nodes[name] = node
    slurm.touch("nodes", "partitions")
    return wire.Answer()


def delete_node(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    """Of a hostlist all go that can, and the last that cannot refuses the call."""
    refused = None
    for name in expand(asked.name):
        try:
            forget_node(slurm, name)
        except Rejected as error:
            refused = error
    slurm.touch("nodes", "partitions")
    if refused:
        raise refused
    return wire.Answer()


def forget_node(slurm: FakeCluster, name: str) -> None:
    slurm.node(name)
    if slurm.users_of(name):
        raise Rejected(Errno.ESLURM_NODES_BUSY)
    del slurm.nodes[name]


# --- Jobs ----------------------------------------------------------------------------------


def get_jobs(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    """Unlike nodes, unchanged jobs are a success with the instant zero."""
    if slurm.unchanged("jobs", asked.since):
        return wire.JobsAnswer(jobs=[], last_update=number(0))
    return wire.JobsAnswer(jobs=list(slurm.jobs.values()), last_update=number(asked.now))


def get_job(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    return wire.JobsAnswer(jobs=list(slurm.records(asked.name)), last_update=number(asked.now))


def get_job_states(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    only = asked.query.get("job_id", "").split(",")
    found = [
        wire.WireJobState(key, job.job_state)
        for job in slurm.jobs.values()
        if only == [""] or str(job.job_id) in only
        for key in job_keys(codec.job(job))
    ]
    return wire.JobStatesAnswer(jobs=Raw(json.encode(found)))


def submit(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    wanted = asked.body["job"]
    if wanted.get("partition", "all") not in slurm.partitions:
        raise Rejected(Errno.ESLURM_INVALID_PARTITION_NAME)
    if "EXTERNAL_JOB" in wanted.get("flags", ()) and "script" in wanted:
        raise Rejected(Errno.ESLURM_INVALID_EXTERNAL_JOB, 500)
    job = slurm.new_job()
    job.partition, job.flags = wanted.get("partition", "all"), wanted.get("flags", [])
    job.submit_time = number(asked.now)
    change_job(job, wanted)
    if "array" in wanted:
        job.array_job_id, job.array_task_string = number(job.job_id), wanted["array"]
    if not (job.hold or slurm.defers):
        slurm.place(job, [])
    return wire.SubmitAnswer(job_id=job.job_id)


JOB_TEXTS: Final = (
    "name",
    "comment",
    "admin_comment",
    "extra",
    "account",
    "qos",
    "licenses",
    "tres_per_node",
    "tres_per_task",
)


JOB_LIMITS: Final = ("time_limit", "memory_per_node", "memory_per_cpu", "priority")


def change_job(job: FakeJob, wanted: dict[str, Any]) -> None:
    for name in JOB_TEXTS:
        if name in wanted:
            setattr(job, name, wanted[name])
    job.user_name = wanted.get("user_id", job.user_name)
    job.group_name = wanted.get("group_id", job.group_name)
    job.hold = wanted.get("hold", job.hold)
    if "begin_time" in wanted:
        job.begins_at = wanted["begin_time"]["number"]
    for name in JOB_LIMITS:
        if name in wanted:
            setattr(job, name, wire.Number(**wanted[name]))
    for name in ("required_nodes", "excluded_nodes"):
        if name in wanted:
            setattr(job, name, ",".join(filter(None, wanted[name])))
    change_size(job, wanted)


def change_size(job: FakeJob, wanted: dict[str, Any]) -> None:
    job.exclusive = job.exclusive or "none" in wanted.get("shared", ())
    job.max_nodes = wanted.get("maximum_nodes", job.max_nodes)
    job.tasks_per_node = wanted.get("tasks_per_node", job.tasks_per_node)
    if wanted.keys() & {"nodes", "minimum_nodes"} or not job.node_count.set:
        job.node_count = number(int(wanted.get("nodes") or wanted.get("minimum_nodes", 1)))
    if "cpus_per_task" in wanted or not job.cpus_per_task.set:
        job.cpus_per_task = number(wanted.get("cpus_per_task", 1))
    if "tasks" in wanted:
        job.tasks = number(wanted["tasks"])


def update_job(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    job = slurm.job(asked.name)
    if "begin_time" in asked.body and job.job_state != ["PENDING"]:
        raise Rejected(Errno.ESLURM_JOB_NOT_PENDING)
    change_job(job, asked.body)
    slurm.touch("jobs")
    return wire.UpdateAnswer()


def cancel_job(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    return wire.KillAnswer(status=cancelled(slurm, [asked.name]))


def cancel_jobs(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    return wire.KillAnswer(status=cancelled(slurm, asked.body["jobs"]))


def cancelled(slurm: FakeCluster, job_ids: list[str]) -> list[wire.KillStatus]:
    """Those that could not be cancelled; slurmrestd does not mention the others."""
    faults = []
    for job_id in job_ids:
        if int(job_id) not in slurm.jobs:
            faults.append(wire.KillStatus(job_id, wire.KillFault(Errno.ESLURM_INVALID_JOB_ID)))
            continue
        going = (["PENDING"], ["RUNNING"])
        alive = [job for job in slurm.records(job_id) if job.job_state in going]
        if not alive:
            faults.append(wire.KillStatus(job_id, wire.KillFault(Errno.ESLURM_ALREADY_DONE)))
        for job in alive:
            slurm.end(job, "CANCELLED")
    return faults


def requeue(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    job = slurm.job(asked.name)
    if "EXTERNAL_JOB" in (job.flags or ()):
        raise Rejected(Errno.ESLURM_BATCH_ONLY)
    if job.job_state == ["PENDING"]:
        raise Rejected(Errno.ESLURM_JOB_PENDING)
    slurm.end(job, "PENDING")
    job.end_time = job.start_time = wire.Number()
    job.nodes, job.hold = "", asked.query.get("Hold") == "true"
    if job.hold:
        job.priority = number(0)
    else:
        slurm.place(job, [])
    return wire.RequeueAnswer()


def requeue_jobs(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    for job_id in asked.body["jobs"]:
        requeue(slurm, Asked(job_id, {}, {}, asked.now))
    return wire.RequeueManyAnswer()


def get_resources(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    job = slurm.job(asked.name)
    if job.job_state != ["RUNNING"]:
        raise Rejected(Errno.ESLURM_JOB_NOT_RUNNING)
    held = [allocation(name, job) for name in expand(job.nodes) if name in slurm.nodes]
    return wire.ResourcesAnswer(nodes=held)


def allocation(name: str, job: FakeJob) -> wire.WireNodeAllocation:
    held = job.held[name]
    given = [
        wire.WireGresAllocation(gres, kind, bitmap.count(bits), bitmap.ranges(bits))
        for gres, kind, bits in held.devices
    ]
    return wire.WireNodeAllocation(
        node=name, core_bitmap=bitmap.ranges(held.cores), mem_alloc=held.memory, gres=given
    )


# --- Partitions and reservations -----------------------------------------------------------


def get_partitions(slurm: FakeCluster, asked: Asked) -> wire.Answer | Response:
    if slurm.unchanged("partitions", asked.since):
        return NOT_MODIFIED
    found = list(slurm.partitions.values())
    return wire.PartitionsAnswer(partitions=found, last_update=number(asked.now))


def get_partition(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    found = slurm.partitions.get(asked.name)
    return wire.PartitionsAnswer(partitions=[found] if found else [])


def post_partitions(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    for wanted in asked.body["partitions"]:
        nodes = wanted.get("nodes", {}).get("configured", "")
        for name in expand(nodes):
            slurm.node(name)
        old = slurm.partitions.get(wanted["name"], wire.WirePartition(name=wanted["name"]))
        slurm.partitions[old.name] = changed(old, wanted)
    slurm.touch("partitions")
    return wire.Answer()


def delete_partition(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    if slurm.partitions.pop(asked.name, None) is None:
        raise Rejected(Errno.ESLURM_INVALID_PARTITION_NAME)
    slurm.touch("partitions")
    return wire.Answer()


def get_reservations(slurm: FakeCluster, asked: Asked) -> wire.Answer | Response:
    if slurm.unchanged("reservations", asked.since):
        return NOT_MODIFIED
    found = list(slurm.reservations.values())
    return wire.ReservationsAnswer(reservations=found, last_update=number(asked.now))


def get_reservation(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    if asked.name not in slurm.reservations:
        return not_found()
    return wire.ReservationsAnswer(reservations=[slurm.reservations[asked.name]])


def post_reservation(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    wanted = asked.body
    found = slurm.reservations.get(wanted["name"])
    if found is None and not (wanted.get("users") or wanted.get("accounts")):
        raise Rejected(Errno.ESLURM_RESERVATION_INVALID)
    kept = found or wire.WireReservation(name=wanted["name"])
    names = [name for text in wanted.get("node_list", ()) for name in expand(text)]
    for name in names:
        slurm.node(name)
    if names:
        kept.node_list, kept.node_count = ",".join(wanted["node_list"]), len(names)
    if "start_time" in wanted:
        kept.start_time = wire.Number(**wanted["start_time"])
    if "duration" in wanted:
        seconds = wanted["duration"]["number"] * 60
        kept.end_time = number(kept.start_time.number + seconds)
    kept.users = ",".join(wanted.get("users", kept.users.split(",")))
    kept.flags = wanted.get("flags", kept.flags)
    slurm.reservations[kept.name] = kept
    slurm.touch("reservations")
    return wire.Answer()


def delete_reservation(slurm: FakeCluster, asked: Asked) -> wire.Answer:
    if slurm.reservations.pop(asked.name, None) is None:
        raise Rejected(Errno.ESLURM_RESERVATION_INVALID)
    slurm.touch("reservations")
    return wire.Answer()


READ: Final = False
WRITE: Final = True
ROUTES: Final[tuple[tuple[str, str, Handler, bool], ...]] = (
    ("GET", "/ping/", ping, READ),
    ("GET", "/diag/", diag, READ),
    ("GET", "/conf", conf, READ),
    ("GET", "/reconfigure/", nothing, WRITE),
    ("GET", "/licenses/", nothing, READ),
    ("GET", "/shares", nothing, READ),
    ("GET", "/nodes/", get_nodes, READ),
    ("POST", "/nodes/", post_nodes, WRITE),
    ("POST", "/new/node/", new_nodes, WRITE),
    ("GET", "/node/([^/]+)", get_node, READ),
    ("POST", "/node/([^/]+)", post_node, WRITE),
    ("DELETE", "/node/([^/]+)", delete_node, WRITE),
    ("GET", "/jobs/", get_jobs, READ),
    ("DELETE", "/jobs/", cancel_jobs, READ),
    ("GET", "/jobs/state/", get_job_states, READ),
    ("POST", "/jobs/requeue", requeue_jobs, READ),
    ("POST", "/job/submit", submit, READ),
    ("GET", "/job/([0-9]+)", get_job, READ),
    ("POST", "/job/([0-9]+)", update_job, WRITE),
    ("DELETE", "/job/([0-9]+)", cancel_job, READ),
    ("GET", "/job/([0-9]+)/requeue", requeue, READ),
    ("GET", "/resources/([0-9]+)", get_resources, READ),
    ("GET", "/partitions/", get_partitions, READ),
    ("POST", "/partitions/", post_partitions, WRITE),
    ("GET", "/partition/([^/]+)", get_partition, READ),
    ("DELETE", "/partition/([^/]+)", delete_partition, WRITE),
    ("GET", "/reservations/", get_reservations, READ),
    ("POST", "/reservation", post_reservation, WRITE),
    ("GET", "/reservation/([^/]+)", get_reservation, READ),
    ("DELETE", "/reservation/([^/]+)", delete_reservation, WRITE),
)
"""Method, path, who answers, and whether only an administrator may."""
