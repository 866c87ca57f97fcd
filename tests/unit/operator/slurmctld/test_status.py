"""What a Controller says of itself."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.operator.slurmctld.given import (
    accounting,
    controller,
    node_set,
    observed,
    pod,
    report,
    running,
)
from windlass.kube.objects import Pod
from windlass.operator.conditions import Verdict
from windlass.operator.slurmctld.configuration import Configuration, configuration
from windlass.operator.slurmctld.observe import Observed
from windlass.operator.slurmctld.status import judge


def verdicts(seen: Observed) -> dict[str, Verdict]:
    made = configuration(seen)
    assert isinstance(made, Configuration)
    return {each.type: each for each in judge(seen, None, made, NOW)}


def fingerprint(seen: Observed) -> str:
    made = configuration(seen)
    assert isinstance(made, Configuration)
    return made.fingerprint


def summary(seen: Observed) -> tuple[list[bool | None], str]:
    found = verdicts(seen)
    order = ("Ready", "Available", "Progressing", "Degraded")
    return [found[each].status for each in order], found["Ready"].reason.code


NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
UNSCHEDULABLE = {
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/3 nodes are available",
        }
    ]
}


LAST_LINES = """\
{"daemon": "slurmctld", "level": "fatal", "message": "no key"}
{"daemon": "keeper", "level": "info", "message": "slurmctld ended with status 1"}
"""


def waiting(reason: str, why: str = "", **last: Any) -> dict[str, Any]:
    state = {"waiting": {"reason": reason, "message": why}}
    end = {"lastState": {"terminated": last}} if last else {}
    return {"containerStatuses": [{"name": "slurmctld", "state": state, **end}]}


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        pytest.param(
            UNSCHEDULABLE,
            "Unschedulable",
            "pod slurm-controller-0: 0/3 nodes are available",
            id="no room",
        ),
        pytest.param(
            waiting("ImagePullBackOff", "Back-off pulling image"),
            "ImagePullBackOff",
            "container slurmctld of pod slurm-controller-0: Back-off pulling image",
            id="no image",
        ),
        pytest.param(
            waiting("CrashLoopBackOff", "back-off 10s", exitCode=1, message="a\nfatal: no key\n\n"),
            "CrashLoopBackOff",
            "container slurmctld of pod slurm-controller-0: back-off 10s; "
            "it ended with status 1: fatal: no key",
            id="crash",
        ),
        pytest.param(
            waiting("CrashLoopBackOff", "back-off 10s", exitCode=1, message=LAST_LINES),
            "CrashLoopBackOff",
            "container slurmctld of pod slurm-controller-0: back-off 10s; "
            "it ended with status 1: fatal: no key",
            id="crash, told in JSON",
        ),
        pytest.param(
            waiting("CrashLoopBackOff", "back-off", exitCode=137, signal=9),
            "CrashLoopBackOff",
            "container slurmctld of pod slurm-controller-0: back-off; it ended with signal 9",
            id="killed",
        ),
        pytest.param(
            {"phase": "Failed", "reason": "Evicted", "message": "no memory"},
            "Evicted",
            "pod slurm-controller-0: no memory",
            id="evicted",
        ),
    ],
)
def test_a_pod_that_cannot_run_says_why(status: dict[str, Any], code: str, sentence: str) -> None:
    seen = observed(pods=(pod(ready=False, **status),))
    assert summary(seen) == ([False, False, False, True], code)
    assert verdicts(seen)["Degraded"].reason.sentence == sentence


def ending(seconds: float, node: str = "n1", **metadata: Any) -> Pod:
    """A pod that should have ended so long ago."""
    made = pod(ready=True)
    due = NOW - timedelta(seconds=seconds)
    return msgspec.structs.replace(
        made,
        metadata=msgspec.structs.replace(made.metadata, deletion_timestamp=due, **metadata),
        spec=msgspec.structs.replace(made.spec, node_name=node),
    )


def test_a_pod_that_does_not_end_names_its_node_and_both_ways_out() -> None:
    seen = observed(pods=(ending(30),))
    assert summary(seen) == ([False, False, False, True], "NodeLost")
    sentence = verdicts(seen)["Degraded"].reason.sentence
    assert "its node n1 does not say" in sentence
    assert "bring n1 back" in sentence
    assert "kubectl taint node n1 node.kubernetes.io/out-of-service=" in sentence


@pytest.mark.parametrize(
    "leaving",
    [
        pytest.param(ending(-30), id="it has its grace"),
        pytest.param(ending(5), id="its node may be slow to tell"),
        pytest.param(ending(30, node=""), id="it never had a node"),
        pytest.param(ending(30, finalizers=["somebody.example/waits"]), id="another holds it"),
    ],
)
def test_a_pod_that_may_still_end_is_not_lost(leaving: Pod) -> None:
    assert summary(observed(pods=(leaving,))) == ([False, False, True, False], "Starting")


@pytest.mark.parametrize(
    "pods",
    [
        (),
        (pod(ready=False),),
        (pod(ready=False, **waiting("ContainerCreating")),),
    ],
)
def test_a_pod_on_its_way_is_no_fault(pods: tuple[Any, ...]) -> None:
    assert summary(observed(pods=pods)) == ([False, False, True, False], "Starting")


def test_a_cluster_that_serves_is_ready() -> None:
    assert summary(running()) == ([True, True, False, False], "Running")


def test_without_a_report_it_serves_and_more_is_not_known() -> None:
    assert summary(running(report=None)) == ([True, True, None, False], "Running")


def test_while_it_restarts_it_is_not_settled() -> None:
    assert summary(running(pods=(pod(revision="old"),))) == (
        [False, True, True, False],
        "Restarting",
    )


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        pytest.param(
            {"file": "slurm.conf", "line": "EXTRA", "key": "Foo", "message": "unrecognized"},
            "extraConf, line 2: Foo: unrecognized",
            id="a line of extraConf",
        ),
        pytest.param(
            {"file": "slurm.conf", "line": 3, "key": "ClusterName", "message": "bad"},
            "slurm.conf, line 3: ClusterName: bad",
            id="a line of ours",
        ),
        pytest.param(
            {"file": "gres.conf", "line": 9, "message": "bad"},
            "gres.conf, line 9: bad",
            id="another file",
        ),
        pytest.param({"message": "it will not"}, "it will not", id="no place"),
        pytest.param({}, "slurmctld refused it", id="no word"),
    ],
)
def test_a_refusal_is_told_with_the_place_that_the_user_knows(
    error: dict[str, Any], sentence: str
) -> None:
    one = controller(extraConf="MaxJobCount=5\nFoo=1")
    seen = observed(one)
    made = configuration(seen)
    assert isinstance(made, Configuration)
    if error.get("line") == "EXTRA":
        error = {**error, "line": made.slurm_conf.splitlines().index("Foo=1") + 1}
    refused = report(made.fingerprint, ok=False, inForce="old", error=error)

    found = running(one, report=refused)
    assert summary(found) == ([False, True, False, True], "ConfigRejected")
    told = verdicts(found)["Degraded"].reason.sentence
    assert told == f"{sentence}; the last good configuration stays in force"

    starting = observed(one, pods=(pod(ready=False),), report=refused)
    assert summary(starting) == ([False, False, False, True], "ConfigRejected")
    assert verdicts(starting)["Degraded"].reason.sentence == sentence


def test_a_refusal_of_older_files_counts_no_more() -> None:
    old = report("0" * 64, ok=False, error={"message": "bad"})
    assert summary(running(report=old)) == ([False, True, True, False], "Reloading")


def test_what_the_user_should_put_right_does_not_make_it_unready() -> None:
    one = controller(extraConf="PartitionName=w Nodes=ALL", accountingRef={"name": "db"})
    sets = (node_set("w", partition={"enabled": True}),)
    seen = running(one, node_sets=sets)
    assert summary(seen) == ([True, True, False, True], "Running")
    reason = verdicts(seen)["Degraded"].reason
    assert reason.code == "DefinedTwice"
    assert "Accounting db is not there" in reason.sentence
    assert (
        "Accounting db"
        not in verdicts(running(one, node_sets=sets, accounting=accounting("db")))[
            "Degraded"
        ].reason.sentence
    )


def test_a_controller_outside_is_ready_when_its_file_is_made() -> None:
    one = controller(external=True, externalConfig={"host": "head", "port": 7000})
    assert summary(observed(one)) == ([True, True, False, False], "External")
