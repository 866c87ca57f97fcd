"""From the wire to the model and back, on samples; the contract tests do it on the real thing."""

import json
from typing import Any

import pytest

from windlass.slurm import requests, slurmdb
from windlass.slurm.accounting import Account, Association, Qos, User
from windlass.slurm.call import Request, Response, read
from windlass.slurm.errors import Absent, Refused, Unauthorized, Unavailable, Unsupported
from windlass.slurm.model import UNLIMITED, ExitCode
from windlass.slurm.specs import JobSpec, NodeUpdate, PartitionSpec
from windlass.slurm.versions import Version

UNSET = {"set": False, "infinite": False, "number": 0}
INFINITE = {"set": False, "infinite": True, "number": 0}


def number(value: float) -> dict[str, object]:
    return {"set": True, "infinite": False, "number": value}


def answered(request: Request[Any], body: object, status: int = 200) -> Any:
    return read(request, Response(status, is_json=True, body=json.dumps(body).encode()))


def body(request: Request[Any], version: Version = Version.V45) -> Any:
    return json.loads(request.content(version))


def test_numbers_that_are_unset_infinite_or_a_time_that_never_was() -> None:
    wire = {"name": "p", "maximums": {"time": INFINITE, "nodes": number(3)}}
    partition = answered(requests.partition("p"), {"partitions": [wire]})
    assert (partition.max_time, partition.max_nodes, partition.default_time) == (UNLIMITED, 3, None)

    node = answered(requests.node("w"), {"nodes": [{"name": "w", "boot_time": number(0)}]})
    assert (node.boot_at, node.memory_free) == (None, None)


def test_nodes_keep_their_order_and_share_their_words() -> None:
    wires = [
        {
            "name": f"w-{at}",
            "hostname": f"w-{at}",
            "features": ["gpu", "a100"],
            "tres": "cpu=4,mem=8",
        }
        for at in range(3)
    ]
    listing = answered(requests.nodes(), {"nodes": wires, "last_update": number(7)})
    assert [node.name for node in listing.items] == ["w-0", "w-1", "w-2"]
    first, second, _ = listing.items
    assert first.features == ("gpu", "a100")
    assert first.features is second.features
    assert first.tres is second.tres
    assert first.name is first.hostname


def test_how_a_job_ended() -> None:
    code = {"status": ["SIGNALED"], "return_code": number(0), "signal": {"id": number(9)}}
    job = answered(requests.job(1), {"jobs": [{"job_id": 1, "exit_code": code}]})
    assert job.exit_code == ExitCode("SIGNALED", 0, 9)


def test_null_lists_are_empty() -> None:
    job = answered(requests.job(1), {"jobs": [{"job_id": 1, "job_state": None}], "errors": None})
    assert (job.state.base, job.gres) == ("UNKNOWN", ())


def test_a_list_is_unchanged_by_304_or_by_the_instant_zero() -> None:
    nothing = Response(304, is_json=False, body=b"")
    assert read(requests.nodes(since=5), nothing) is None
    assert answered(requests.jobs(since=5), {"jobs": [], "last_update": number(0)}) is None
    empty = answered(requests.jobs(), {"jobs": [], "last_update": number(7)})
    assert (empty.items, empty.as_of) == ((), 7)


def test_no_object_and_no_errno_is_absent_for_a_read_and_refused_for_a_write() -> None:
    no_error = {"errors": [{"error_number": 0, "error": "No error", "description": "told"}]}
    with pytest.raises(Absent):
        answered(requests.node("w"), no_error)
    with pytest.raises(Refused, match="told"):
        answered(requests.cancel(1, "NONSENSE"), no_error)


def test_a_refusal_inside_a_success_is_a_refusal() -> None:
    fault = {"job_id": 5, "step_id": "5_1", "error": "pending", "error_code": 2024}
    with pytest.raises(Refused, match="job 5_1: pending"):
        answered(requests.requeue(5), {"status": [fault]})
    (outcome,) = answered(requests.requeue_jobs([5]), {"status": [[fault]]})
    assert (outcome.job, outcome.errno) == ("5_1", 2024)


def test_a_failed_read_without_a_number_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        answered(requests.job(1), {"errors": [{"error_number": -1}]}, 500)


def test_an_error_status_without_errors_is_an_error() -> None:
    with pytest.raises(Unauthorized):
        answered(requests.ping(), {"errors": []}, 511)


def test_json_of_another_shape_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="no sense"):
        answered(requests.nodes(), {"nodes": "many"})


def test_what_a_submit_waits_for_is_told() -> None:
    answer = {"job_id": 3, "warnings": [{"description": "not available now"}]}
    assert answered(requests.submit(JobSpec()), answer).notes == ("not available now",)


# --- Bodies --------------------------------------------------------------------------------


def test_only_what_was_said_is_sent() -> None:
    assert body(requests.update_node("w", NodeUpdate(state="DRAIN", reason=""))) == {
        "state": ["DRAIN"],
        "reason": "",
    }


def test_a_job_by_the_names_of_the_wire() -> None:
    spec = JobSpec(external=True, time_limit=UNLIMITED, memory_per_node=0, user="7", min_nodes=2)
    assert body(requests.submit(spec)) == {
        "job": {
            "flags": ["EXTERNAL_JOB"],
            "time_limit": INFINITE,
            "memory_per_node": number(0),
            "user_id": "7",
            "minimum_nodes": 2,
        }
    }


def test_a_job_that_is_not_external_has_no_flag() -> None:
    assert body(requests.update_job(1, JobSpec(external=False, comment="x"))) == {"comment": "x"}


def test_a_partition_is_nested_as_the_wire_has_it() -> None:
    spec = PartitionSpec(name="p", nodes="w-[0-3]", max_time=UNLIMITED, flags=("DEFAULT",))
    assert body(requests.write_partition(spec)) == {
        "partitions": [
            {
                "name": "p",
                "flags": ["DEFAULT"],
                "nodes": {"configured": "w-[0-3]"},
                "maximums": {"time": INFINITE},
            }
        ]
    }


def test_what_an_old_version_would_ignore_is_not_sent_at_all() -> None:
    update = requests.update_node("w", NodeUpdate(topology="t"))
    assert body(update, Version.V43) == {"topology_str": "t"}
    with pytest.raises(Unsupported, match=r"v0\.0\.42 cannot set the topology.*v0\.0\.43"):
        update.content(Version.V42)


def test_a_name_cannot_leave_its_place_in_the_path() -> None:
    target = requests.node("../a b/?x").target(Version.V45)
    assert target == "/slurm/v0.0.45/node/..%2Fa%20b%2F%3Fx"


def test_requests_are_values() -> None:
    assert requests.node("a") == requests.node("a") != requests.node("b")


# --- slurmdbd ------------------------------------------------------------------------------


def test_accounting_is_read() -> None:
    (qos,) = answered(
        slurmdb.all_qos(),
        {"qos": [{"name": "high", "priority": number(9), "preempt": {"list": ["low"]}}]},
    )
    assert (qos.name, qos.priority, qos.preempts) == ("high", 9, ("low",))

    job = answered(
        slurmdb.past_job(4),
        {
            "jobs": [
                {
                    "job_id": 4,
                    "state": {"current": ["COMPLETED"]},
                    "time": {"start": 5, "end": 0, "limit": INFINITE},
                    "tres": {"allocated": [{"type": "cpu", "id": 1, "count": 8}]},
                }
            ]
        },
    )
    assert (job.state.ended_well, job.started_at, job.ended_at) == (True, 5, None)
    assert (job.time_limit, job.tres_allocated[0].count) == (UNLIMITED, 8)

    answer = {
        "associations": [{"account": "a", "user": "u", "max": {"jobs": {"total": number(5)}}}]
    }
    (association,) = answered(slurmdb.associations(account="a"), answer)
    assert (association.user, association.max_submitted, association.max_jobs) == ("u", 5, None)


@pytest.mark.parametrize(
    "request_",
    [slurmdb.account("x"), slurmdb.user("x"), slurmdb.qos("x"), slurmdb.cluster("x")],
    ids=lambda it: it.path,
)
def test_an_unknown_name_of_accounting_is_absent(request_: Request[Any]) -> None:
    with pytest.raises(Absent, match="x"):
        answered(request_, {"warnings": [{"description": "Nothing found"}]})


def test_accounting_is_written() -> None:
    assert body(slurmdb.write_accounts([Account("a")])) == {
        "accounts": [{"name": "a", "description": "a", "organization": "a"}]
    }
    assert body(slurmdb.write_users([User("u", "Operator", "a")])) == {
        "users": [{"name": "u", "administrator_level": ["Operator"], "default": {"account": "a"}}]
    }
    assert body(slurmdb.write_associations([Association("a", "c", "u", max_jobs=3)])) == {
        "associations": [
            {
                "account": "a",
                "cluster": "c",
                "user": "u",
                "max": {"jobs": {"active": number(3)}},
            }
        ]
    }
    assert body(slurmdb.write_qos([Qos("q", max_wall_minutes=60)])) == {
        "qos": [
            {"name": "q", "limits": {"max": {"wall_clock": {"per": {"job": number(60)}}}}},
        ]
    }


def test_an_association_is_written_with_its_cluster_and_its_user_even_if_that_is_empty() -> None:
    (written,) = body(slurmdb.write_associations([Association("a", "c", shares=2)]))["associations"]
    assert written == {"account": "a", "cluster": "c", "user": "", "shares_raw": 2}

    with pytest.raises(Refused, match="account a names no cluster"):
        body(slurmdb.write_associations([Association("a", user="u")]))


def test_accounts_and_users_are_added_with_their_associations() -> None:
    assert body(slurmdb.add_account(Account("a"), cluster="c", parent="p")) == {
        "association_condition": {
            "accounts": ["a"],
            "clusters": ["c"],
            "association": {"parent": "p"},
        },
        "account": {"description": "a", "organization": "a"},
    }
    assert body(slurmdb.add_user(User("u"), "a")) == {
        "association_condition": {
            "accounts": ["a"],
            "clusters": [],
            "users": ["u"],
            "association": {},
        },
        "user": {"adminlevel": ["None"]},
    }


def test_a_delete_that_changed_nothing_is_about_something_absent() -> None:
    nothing = Response(304, is_json=False, body=b"")
    with pytest.raises(Absent, match="/user/u"):
        read(slurmdb.delete_user("u"), nothing)
    assert read(slurmdb.add_user(User("u"), "a"), nothing) is False


def test_an_association_is_named_by_its_parts() -> None:
    target = slurmdb.delete_association(account="a b", user="u").target(Version.V44)
    assert target == "/slurmdb/v0.0.44/association/?account=a+b&user=u"
