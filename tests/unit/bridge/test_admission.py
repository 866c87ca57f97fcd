import copy
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.unit.bridge.builders import slurm
from windlass.api.validation.findings import Caution, Problem
from windlass.bridge import identity
from windlass.bridge.admission import Managed, Request, Rules, mutation, review
from windlass.bridge.identity import Policy
from windlass.kube.json_patch import Operation
from windlass.kube.meta import LabelSelector, Meta
from windlass.testing.fake_patches import operated

OURS = "slurm-bridge-scheduler"
BRIDGE = "system:serviceaccount:slurm:windlass-bridge"
JOB_ID = "scheduler.slinky.slurm.net/slurm-jobid"
NODE = "slinky.slurm.net/slurm-node"
TAINT = {
    "key": "slinky.slurm.net/managed-node",
    "operator": "Equal",
    "value": OURS,
    "effect": "NoExecute",
}
RULES = Rules(managed=Managed(frozenset({"team"})), bridge=BRIDGE)
PEOPLE = Policy(identity.parse("users: {alice: {user: alice, accounts: [physics]}}"))


def raw(**given: Any) -> dict[str, Any]:
    meta = {"name": "p", "namespace": "team", **given.get("metadata", {})}
    spec = {"containers": [{"name": "c"}], **given.get("spec", {})}
    return {"metadata": meta, "spec": spec, "status": {"phase": given.get("phase", "Pending")}}


def ours(**given: Any) -> dict[str, Any]:
    return raw(**{**given, "spec": {"schedulerName": OURS, **given.get("spec", {})}})


def request(new: dict[str, Any], namespace: str = "team", **given: Any) -> Request:
    labels, notes = given.pop("labels", None), given.pop("notes", None)
    meta = Meta(name=namespace, labels=labels, annotations=notes)
    return Request(namespace=meta, new=new, **given)


def entered(asked: Request, rules: Rules = RULES) -> Any:
    """The pod as it is after the mutation."""
    operations: Sequence[Operation] = mutation(asked, rules)
    return operated(copy.deepcopy(asked.new), operations)


# --- mutation ------------------------------------------------------------------------------


def test_a_new_pod_of_a_managed_namespace_becomes_ours() -> None:
    new = raw(spec={"schedulerName": "default-scheduler", "nodeName": "n1"})
    pod = entered(request(new))
    assert pod["spec"]["schedulerName"] == OURS
    assert pod["spec"]["tolerations"] == [TAINT]
    assert "nodeName" not in pod["spec"]
    assert pod["metadata"] == new["metadata"]


def test_the_toleration_is_added_to_others_and_never_twice() -> None:
    other = {"key": "gpu", "operator": "Exists"}
    new = raw(spec={"tolerations": [other]})
    pod = entered(request(new))
    assert pod["spec"]["tolerations"] == [other, TAINT]
    assert entered(request(pod)) == pod
    assert mutation(request(pod), RULES) == ()


@pytest.mark.parametrize(
    ("new", "namespace", "rules", "taken"),
    [
        (raw(), "team", RULES, True),
        (raw(), "elsewhere", RULES, False),
        (ours(), "elsewhere", RULES, True),
        (ours(), "elsewhere", Rules(elsewhere=False), False),
        (raw(spec={"schedulerName": "volcano"}), "team", RULES, False),
        (
            raw(metadata={"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}),
            "team",
            RULES,
            False,
        ),
        (
            raw(metadata={"ownerReferences": [{"kind": "Job", "controller": True}]}),
            "team",
            RULES,
            True,
        ),
        (raw(metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}), "team", RULES, False),
    ],
)
def test_only_pods_that_are_slurms_to_place_are_changed(
    new: dict[str, Any], namespace: str, rules: Rules, taken: bool
) -> None:
    assert bool(mutation(request(new, namespace), rules)) is taken


def test_a_selector_goes_before_the_list_of_namespaces() -> None:
    selector = msgspec.convert({"matchLabels": {"slurm": "yes"}}, LabelSelector)
    rules = Rules(managed=Managed(frozenset({"team"}), selector))
    assert not mutation(request(raw(), "team"), rules)
    assert mutation(request(raw(), "other", labels={"slurm": "yes"}), rules)


def test_a_pod_that_is_there_already_is_never_changed() -> None:
    assert mutation(request(raw(), old=raw()), RULES) == ()


def test_what_follows_from_the_person_is_written_on_the_pod() -> None:
    rules = Rules(managed=RULES.managed, policy=PEOPLE)
    asked = request(raw(metadata={"annotations": {"a": "b"}}), user="alice")
    pod = entered(asked, rules)
    assert pod["metadata"]["annotations"] == {"a": "b", **slurm(user_id="alice", account="physics")}
    assert not review(request(pod, user="alice"), rules)


# --- new pods ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "field"),
    [
        (ours(metadata={"labels": {JOB_ID: "7"}}), f"metadata.labels[{JOB_ID}]"),
        (ours(metadata={"annotations": {JOB_ID: "7"}}), f"metadata.annotations[{JOB_ID}]"),
        (ours(metadata={"annotations": {NODE: "n"}}), f"metadata.annotations[{NODE}]"),
        (ours(spec={"resourceClaims": [{"name": "gpu"}]}), "spec.resourceClaims"),
        (
            ours(spec={"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}),
            "spec.topologySpreadConstraints[0]",
        ),
        (
            ours(metadata={"annotations": slurm(timelimit="soon")}),
            "metadata.annotations[slurmjob.slinky.slurm.net/timelimit]",
        ),
        (
            ours(metadata={"annotations": slurm(user_id="root")}),
            "metadata.annotations[slurmjob.slinky.slurm.net/user-id]",
        ),
        (
            ours(spec={"containers": [{"resources": {"limits": {"x.y/z": "1"}}}]}),
            "spec.containers.resources",
        ),
        (
            ours(
                metadata={"annotations": slurm(cpu_per_task="1")},
                spec={"containers": [{"resources": {"limits": {"cpu": "2"}}}]},
            ),
            "metadata.annotations[slurmjob.slinky.slurm.net/cpu-per-task]",
        ),
    ],
)
def test_a_new_pod_is_refused_with_the_field_and_a_fix(new: dict[str, Any], field: str) -> None:
    (found,) = review(request(new), RULES)
    assert isinstance(found, Problem)
    assert found.field == field
    assert found.fix
    assert not review(request({**new, "spec": {**new["spec"], "schedulerName": "x"}}), RULES)


def test_a_plain_pod_is_taken() -> None:
    assert review(request(entered(request(raw()))), RULES) == ()


@pytest.mark.parametrize(
    "spec",
    [
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]},
        {
            "affinity": {
                "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"a": 1}]}
            }
        },
    ],
)
def test_what_has_no_effect_is_said(spec: dict[str, Any]) -> None:
    (found,) = review(request(ours(spec=spec)), RULES)
    assert isinstance(found, Caution)


def test_a_pod_of_a_namespace_that_is_not_slurms_may_be_refused() -> None:
    rules = Rules(managed=RULES.managed, elsewhere=False)
    (found,) = review(request(ours(), "other"), rules)
    assert found.sentence == "namespace other is not given to Slurm"
    assert not review(request(ours(), "team"), rules)


def test_a_pod_of_nobody_is_refused_where_slurm_accounts_for_jobs() -> None:
    rules = Rules(managed=RULES.managed, policy=Policy(accounting=True))
    (found,) = review(request(ours()), rules)
    assert found.field == "metadata.namespace"
    notes = {"scheduler.slinky.slurm.net/slurm-user": "team"}
    assert not review(request(ours(), notes=notes), rules)


# --- changes -------------------------------------------------------------------------------


def changed(old: dict[str, Any], new: dict[str, Any], user: str = "alice") -> list[str]:
    found = review(request(new, old=old, user=user), RULES)
    return [one.field for one in found if isinstance(one, Problem)]


def submitted(**given: Any) -> dict[str, Any]:
    notes = {JOB_ID: "7", NODE: "n1"}
    return ours(metadata={"labels": {JOB_ID: "7"}, "annotations": notes}, **given)


def test_only_the_bridge_writes_down_jobs_and_nodes() -> None:
    fields = [f"metadata.labels[{JOB_ID}]", *(f"metadata.annotations[{n}]" for n in (JOB_ID, NODE))]
    assert changed(ours(), submitted()) == fields
    assert changed(submitted(), ours()) == fields
    assert changed(ours(), submitted(), user=BRIDGE) == []


def test_where_nobody_knows_the_bridge_a_running_pod_at_least_is_safe() -> None:
    rules = Rules(managed=RULES.managed)
    assert not review(request(submitted(), old=ours()), rules)
    running = request(submitted(phase="Running"), old=ours(phase="Running"))
    assert len(review(running, rules)) == 3


@pytest.mark.parametrize(("number", "refused"), [("7", False), ("8", True)])
@pytest.mark.parametrize("bridge", ["", BRIDGE])
def test_the_number_of_a_running_pod_may_become_a_label_too(
    bridge: str, number: str, *, refused: bool
) -> None:
    """Where nobody knows the bridge, it comes as anybody."""
    notes = {"annotations": {JOB_ID: "7", NODE: "n1"}, "finalizers": ["a.example/x"]}
    bound = ours(metadata=notes, phase="Running")
    finalizers = [*notes["finalizers"], "a.example/y"]
    marked = ours(
        metadata={**notes, "labels": {JOB_ID: number}, "finalizers": finalizers}, phase="Running"
    )
    rules = Rules(managed=RULES.managed, bridge=bridge)
    found = review(request(marked, old=bound), rules)
    assert [each.field for each in found] == [f"metadata.labels[{JOB_ID}]"] * refused


@pytest.mark.parametrize(
    ("given", "count"),
    [({}, 0), ({"spec": {"nodeName": "n1"}}, 1), ({"phase": "Running"}, 1)],
)
def test_job_annotations_may_change_until_the_job_has_started(
    given: dict[str, Any], count: int
) -> None:
    old = ours(metadata={"annotations": slurm(qos="a")}, **given)
    new = ours(metadata={"annotations": slurm(qos="b")}, **given)
    assert len(changed(old, new)) == count


@pytest.mark.parametrize("name", ["user_id", "group_id", "account"])
def test_whose_job_it_is_never_changes(name: str) -> None:
    new = ours(metadata={"annotations": slurm(**{name: "x"})})
    assert len(changed(ours(), new)) == 1
    assert len(changed(new, ours())) == 1


def test_a_resize_is_refused() -> None:
    asked = request(ours(), old=ours(), subresource="resize")
    assert [one.field for one in review(asked, RULES)] == ["spec.containers.resources"]
    assert not review(request(raw(), old=raw(), subresource="resize"), RULES)


def test_an_old_mistake_keeps_nobody_from_another_change() -> None:
    wrong = slurm(timelimit="soon")
    old = ours(metadata={"annotations": wrong, "finalizers": ["x"]})
    assert changed(old, ours(metadata={"annotations": wrong})) == []
    assert changed(old, ours(metadata={"annotations": {**wrong, **slurm(qos="a")}})) == []
    assert len(changed(ours(), ours(metadata={"annotations": wrong}))) == 1


def test_pods_of_other_schedulers_are_nobodys_business_here() -> None:
    other = raw(spec={"schedulerName": "x"}, metadata={"labels": {JOB_ID: "7"}})
    assert review(request(other), RULES) == ()
    assert review(request(other, old=raw()), RULES) == ()
