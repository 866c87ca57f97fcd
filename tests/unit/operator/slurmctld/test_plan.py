"""What is done about a Controller."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from tests.unit.operator.conftest import Golden
from tests.unit.operator.documents import made
from tests.unit.operator.slurmctld.given import (
    JWT_SECRET,
    RUNNING_SET,
    SETTING,
    SLURM_SERVICE,
    accounting,
    config_map,
    controller,
    node_set,
    observed,
    pod,
    report,
    running,
    with_status,
)
from windlass.kube.kinds import CONFIG_MAP, POD, SERVICE, SERVICE_MONITOR, STATEFUL_SET
from windlass.operator.plan import Action, Annotate, Apply, Create, Delete, Plan, Replace, Tell
from windlass.operator.slurmctld import plan as planning
from windlass.operator.slurmctld.configuration import Configuration, configuration, everything
from windlass.operator.slurmctld.observe import Observed
from windlass.operator.slurmctld.words import CONFIG_SEEN

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
A = TypeVar("A", bound=Action)


def plan(seen: Observed) -> Plan:
    return planning.plan(seen, NOW)


def of(made: Plan, kind: type[A]) -> list[A]:
    return [action for action in made.actions if isinstance(action, kind)]


def applied(made: Plan, kind: Any) -> list[dict[str, Any]]:
    return [action.body for action in of(made, Apply) if action.kind is kind]


def stateful_set(made: Plan) -> dict[str, Any]:
    (body,) = applied(made, STATEFUL_SET)
    return body


def condition(made: Plan, name: str) -> Mapping[str, Any]:
    assert made.status is not None
    return next(each for each in made.status["conditions"] if each["type"] == name)


def wanted(seen: Observed) -> Configuration:
    found = configuration(seen)
    assert isinstance(found, Configuration)
    return found


# --- whole --------------------------------------------------------------------------------------

EVERYTHING = observed(
    controller(
        clusterName="big",
        accountingRef={"name": "db"},
        slurmKeyRef={"name": "keys", "key": "slurm.key"},
        jwtHs256KeyRef={"name": "keys", "key": "jwt.key"},
        jwksKeyRef={"name": "jwks", "key": "set"},
        slurmctld={
            "image": "example/slurmctld:1",
            "args": ["-vv"],
            "env": [{"name": "A", "value": "b"}],
            "resources": {"limits": {"cpu": 2}},
        },
        reconfigure={"image": "example/reconfigure:1"},
        logfile={"image": "alpine:latest", "env": [{"name": "LOG_FORMAT", "value": "text"}]},
        inplaceReconfigure=True,
        template={
            "metadata": {"labels": {"team": "hpc"}, "annotations": {"note": "x"}},
            "spec": {
                "hostNetwork": True,
                "priorityClassName": "high",
                "tolerations": [{"key": "hpc", "operator": "Exists"}],
                "containers": [{"name": "mine", "image": "example/mine:1"}],
            },
        },
        extraConf="MaxJobCount=77",
        configFileRefs=[{"name": "files"}],
        prologScriptRefs=[{"name": "prolog"}],
        persistence={
            "retentionPolicy": "Delete",
            "storageClassName": "fast",
            "accessModes": ["ReadWriteOncePod"],
            "resources": {"requests": {"storage": "10Gi"}},
        },
        service={"port": 7817, "spec": {"type": "LoadBalancer"}},
        metrics={
            "enabled": True,
            "serviceMonitor": {
                "enabled": True,
                "interval": "15s",
                "labels": {"prometheus": "one"},
                "endpoints": [{"path": "/metrics/jobs", "interval": "60s"}, {"path": "/x"}],
            },
        },
    ),
    setting=replace(SETTING, monitors=True),
    accounting=accounting("db"),
    node_sets=(node_set("workers", partition={"enabled": True}),),
    config_maps={
        "files": config_map("files", **{"gres.conf": "AutoDetect=nvml\n"}),
        "prolog": config_map("prolog", **{"10-check.sh": "#!/bin/sh\n"}),
        "jwks": config_map("jwks", set='{"keys": []}'),
    },
)
WHOLE = {
    "default": observed(slurm_secret=None, jwt_secret=None, service=None),
    "with-keys": observed(),
    "everything": EVERYTHING,
    "external": observed(
        controller(
            external=True,
            externalConfig={"host": "head.example", "port": 6817},
            slurmKeyRef={"name": "keys", "key": "slurm.key"},
            jwtKeyRef={"name": "keys", "key": "jwt.key"},
        ),
        service=None,
    ),
    "ha": observed(
        controller(ha={"enabled": True, "backups": 1}, persistence={"existingClaim": "shared"})
    ),
    "existing-claim": observed(controller(persistence={"existingClaim": "mine"})),
    "no-persistence": observed(controller(persistence={"enabled": False})),
}


@pytest.mark.parametrize("name", WHOLE)
def test_all_that_is_made(name: str, golden: Golden) -> None:
    golden(f"{name}.yaml", made(plan(WHOLE[name])))


# --- keys ---------------------------------------------------------------------------------------


def test_keys_are_made_before_the_pod_that_needs_them() -> None:
    made = plan(observed(slurm_secret=None, jwt_secret=None))
    assert [action.body["metadata"]["name"] for action in of(made, Create)] == [
        "slurm-auth-slurm",
        "slurm-auth-jwt",
    ]
    assert applied(made, STATEFUL_SET) == []
    assert condition(made, "Progressing")["reason"] == "MakingKeys"
    assert made.again == 0.5


def test_keys_that_the_user_names_are_never_made() -> None:
    one = controller(slurmKeyRef={"name": "mine", "key": "k"})
    made = plan(observed(one, slurm_secret=None))
    assert of(made, Create) == []
    assert applied(made, STATEFUL_SET) == []
    assert condition(made, "Degraded")["reason"] == "KeyMissing"
    assert condition(made, "Degraded")["message"] == "Secret mine with the entry k is not there"


def test_a_secret_without_the_entry_is_told_and_not_rewritten() -> None:
    made = plan(observed(jwt_secret={"data": {}}))
    assert of(made, Create) == []
    assert condition(made, "Ready")["reason"] == "KeyMissing"


def test_a_new_key_makes_a_new_pod() -> None:
    def annotations(seen: Observed) -> dict[str, str]:
        template = stateful_set(plan(seen))["spec"]["template"]
        found: dict[str, str] = template["metadata"]["annotations"]
        return found

    before = annotations(observed())
    after = annotations(observed(jwt_secret={"data": {"jwt.key": "bmV3"}}))
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {"slinky.slurm.net/jwt-key-hash"}


# --- the Service --------------------------------------------------------------------------------


def conf(made: Plan) -> str:
    (text,) = (body["data"]["slurm.conf"] for body in applied(made, CONFIG_MAP)[1:])
    return str(text)


def test_the_service_is_made_before_the_configuration_that_has_its_address() -> None:
    made = plan(observed(service=None))
    assert [body["metadata"]["name"] for body in applied(made, SERVICE)] == [
        "slurm-controller-internal",
        "slurm-controller",
    ]
    assert [body["metadata"]["name"] for body in applied(made, CONFIG_MAP)] == ["slurm-programs"]
    assert applied(made, STATEFUL_SET) == []
    progressing = condition(made, "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("True", "MakingService")
    assert made.again == 0.5


def test_once_the_service_is_there_all_else_follows_in_one_pass() -> None:
    made = plan(observed())
    assert "SlurmctldHost=slurm-controller-0(10.96.3.4)\n" in conf(made)
    assert len(applied(made, STATEFUL_SET)) == 1


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"clusterIP": "None"}, id="headless"),
        pytest.param({"type": "ExternalName"}, id="a name for another name"),
        pytest.param({"clusterIP": "fd00::1", "clusterIPs": ["fd00::1"]}, id="IPv6 only"),
        pytest.param({"type": "NodePort", "clusterIP": "10.96.3.4"}, id="open by a port"),
        pytest.param({"type": "LoadBalancer", "clusterIP": "10.96.3.4"}, id="open by a balancer"),
        pytest.param({"clusterIP": ""}, id="empty"),
        pytest.param({}, id="none"),
    ],
)
def test_a_service_without_an_address_for_slurm_is_found_by_its_name(spec: dict[str, Any]) -> None:
    made = plan(observed(service={"spec": spec}))
    assert "SlurmctldHost=slurm-controller-0(slurm-controller.lab)\n" in conf(made)
    assert len(applied(made, STATEFUL_SET)) == 1


def test_several_are_told_apart_by_their_names_and_reached_by_the_address() -> None:
    text = conf(plan(observed(HA)))
    assert "SlurmctldHost=slurm-controller-1(slurm-controller-1.slurm-controller-internal" in text
    assert "SlurmctldAddr=10.96.3.4\n" in text


def kept(seen: Observed) -> Observed:
    """Its configuration was applied."""
    files = {name: str(text) for name, text in wanted(seen).files.items()}
    return replace(seen, config=config_map("slurm-config", **files))


def test_a_running_cluster_gets_the_address_without_a_restart() -> None:
    by_name = kept(running(service={"spec": {}}))
    by_address = replace(by_name, service=SLURM_SERVICE)
    made = plan(by_address)

    assert conf(made) != conf(plan(by_name))
    assert stateful_set(made) == stateful_set(plan(by_name))
    assert of(made, Delete) == []
    assert condition(made, "Progressing")["reason"] == "Reloading"
    assert condition(made, "Available")["status"] == "True"


def test_while_a_service_is_gone_the_configuration_stays_and_then_follows() -> None:
    before = kept(running())
    gone = plan(replace(before, service=None))
    assert [body["metadata"]["name"] for body in applied(gone, CONFIG_MAP)] == ["slurm-programs"]
    assert stateful_set(gone) == stateful_set(plan(before))
    assert condition(gone, "Progressing")["reason"] == "MakingService"
    assert condition(gone, "Available")["status"] == "True"

    back = plan(replace(before, service={"spec": {"clusterIP": "10.96.7.7"}}))
    assert "(10.96.7.7)" in conf(back)
    assert stateful_set(back) == stateful_set(plan(before))


# --- configuration ------------------------------------------------------------------------------


def annotated(seen: Observed) -> Observed:
    """Its pod has been told of all there is."""
    told = {CONFIG_SEEN: everything(seen, wanted(seen))}
    return replace(seen, pods=(pod(annotations=told),))


def test_a_cluster_at_rest_is_only_held_so() -> None:
    made = plan(annotated(running()))
    assert {type(action) for action in made.actions} == {Apply}
    assert made.again == 60.0
    assert condition(made, "Ready")["status"] == "True"
    assert made.status is not None
    assert made.status["slurmVersion"] == "26.05.5"
    assert made.status["address"] == "slurm-controller.lab:6817"
    assert made.status["clusterName"] == "lab_slurm"
    assert made.status["observedGeneration"] == 3
    assert made.status["configHash"] == wanted(running()).fingerprint


def test_a_changed_configuration_touches_the_pod_right_after_the_config_map() -> None:
    before = annotated(running())
    after = replace(before, controller=controller(extraConf="MaxJobCount=5"))
    made = plan(after)

    (touch,) = of(made, Annotate)
    assert (touch.kind, touch.key.name) == (POD, "slurm-controller-0")
    assert touch.annotations == {CONFIG_SEEN: everything(after, wanted(after))}
    order = [
        type(action) for action in made.actions if getattr(action, "kind", None) is not SERVICE
    ]
    assert order == [Apply, Apply, Annotate, Apply]  # programs, config, pod, StatefulSet
    assert made.again == 0.5
    assert condition(made, "Progressing")["reason"] == "Reloading"
    assert condition(made, "Available")["status"] == "True"


def test_a_changed_configuration_leaves_the_pod_template_alone() -> None:
    before = stateful_set(plan(running()))
    changed = controller(extraConf="MaxJobCount=5", configFileRefs=[{"name": "more"}])
    more = {"more": config_map("more", **{"x.conf": "y"})}
    assert stateful_set(plan(running(changed, config_maps=more))) == before


def test_a_port_that_only_a_restart_changes_is_in_the_pod_template() -> None:
    before = stateful_set(plan(running()))["spec"]["template"]["metadata"]
    changed = controller(extraConf="SlurmctldPort=7000")
    assert stateful_set(plan(running(changed)))["spec"]["template"]["metadata"] != before


def test_a_changed_key_touches_the_pod_too() -> None:
    before = annotated(running())
    assert len(of(plan(replace(before, jwt_secret={"data": {"jwt.key": "bmV3"}})), Annotate)) == 1
    assert of(plan(replace(before, jwt_secret=JWT_SECRET)), Annotate) == []


@pytest.mark.parametrize(
    ("one", "maps", "code", "sentence"),
    [
        pytest.param(
            controller(configFileRefs=[{"name": "b"}, {"name": "a"}]),
            {"a": None, "b": None},
            "ConfigMapMissing",
            "ConfigMaps a, b are not there",
            id="missing",
        ),
        pytest.param(
            controller(jwksKeyRef={"name": "a", "key": "b"}),
            {"a": None},
            "ConfigMapMissing",
            "ConfigMap a is not there",
            id="missing JWKS",
        ),
        pytest.param(
            controller(extraConf="Foo"), {}, "ConfigRejected", "extraConf, line 1: Foo", id="broken"
        ),
        pytest.param(
            controller(configFileRefs=[{"name": "a"}]),
            {"a": config_map("a", big="x" * 1_000_000)},
            "ConfigTooLarge",
            "the configuration files have",
            id="too large",
        ),
    ],
)
def test_a_configuration_that_cannot_be_used_leaves_the_last_one_in_force(
    one: Any, maps: dict[str, Any], code: str, sentence: str
) -> None:
    files = wanted(observed()).files
    last = config_map("slurm-config", **{name: str(text) for name, text in files.items()})
    made = plan(running(one, config_maps=maps, config=last, report=None))

    names = [body["metadata"]["name"] for body in applied(made, CONFIG_MAP)]
    assert names == ["slurm-programs"]
    degraded = condition(made, "Degraded")
    assert (degraded["status"], degraded["reason"]) == ("True", code)
    assert degraded["message"].startswith(sentence)
    assert degraded["message"].endswith("the last good configuration stays in force")
    assert condition(made, "Available")["status"] == "True"
    assert stateful_set(made) == stateful_set(plan(running()))
    (told,) = of(made, Tell)
    assert (told.warning, told.reason.code) == (True, code)


def test_with_no_configuration_at_all_no_pod_is_made() -> None:
    made = plan(observed(controller(extraConf="Foo")))
    assert applied(made, STATEFUL_SET) == []
    assert len(applied(made, SERVICE)) == 2


def test_an_optional_key_set_may_be_absent() -> None:
    one = controller(jwksKeyRef={"name": "a", "key": "b", "optional": True})
    made = plan(observed(one, config_maps={"a": None}))
    volumes = stateful_set(made)["spec"]["template"]["spec"]["volumes"]
    (projected,) = [each["projected"] for each in volumes if "projected" in each]
    assert not [each for each in projected["sources"] if each.get("configMap", {}).get("items")]


# --- the pod ------------------------------------------------------------------------------------


def test_a_pod_that_blocks_its_own_repair_is_deleted() -> None:
    seen = running(pods=(pod(ready=False, revision="old"),))
    (gone,) = of(plan(seen), Delete)
    assert (gone.kind, gone.key.name, gone.uid) == (
        POD,
        "slurm-controller-0",
        "uid-of-slurm-controller-0",
    )


@pytest.mark.parametrize(
    ("seen_by_its_controller", "ready", "revision"),
    [(True, True, "old"), (False, False, "old"), (True, False, "slurm-controller-1")],
)
def test_other_pods_are_left_to_the_stateful_set(
    seen_by_its_controller: bool, ready: bool, revision: str
) -> None:
    live = RUNNING_SET if seen_by_its_controller else {**RUNNING_SET, "metadata": {"generation": 9}}
    assert (
        of(plan(running(pods=(pod(ready=ready, revision=revision),), stateful_set=live)), Delete)
        == []
    )


HA = controller(ha={"enabled": True}, persistence={"existingClaim": "shared"})
STARTED = [{"name": "slurmctld", "started": True}]


def backup(revision: str, **status: Any) -> Any:
    return pod("slurm-controller-1", ready=False, revision=revision, **status)


@pytest.mark.parametrize(
    ("pods", "gone"),
    [
        pytest.param(
            (pod(revision="old", containerStatuses=STARTED), backup("old")),
            ["slurm-controller-1"],
            id="the one that waits goes first",
        ),
        pytest.param(
            (pod(revision="old", containerStatuses=STARTED), backup("slurm-controller-1")),
            [],
            id="until it waits again nothing happens",
        ),
        pytest.param(
            (
                pod(revision="old", containerStatuses=STARTED),
                backup("slurm-controller-1", containerStatuses=STARTED),
            ),
            ["slurm-controller-0"],
            id="then the active one",
        ),
        pytest.param(
            (pod(revision="old", containerStatuses=STARTED),), [], id="never the only one"
        ),
    ],
)
def test_with_backups_the_active_slurmctld_is_replaced_last(
    pods: tuple[Any, ...], gone: list[str]
) -> None:
    made = plan(running(HA, pods=pods))
    assert [action.key.name for action in of(made, Delete)] == gone


def test_a_stateful_set_whose_fixed_fields_differ_is_made_anew() -> None:
    live = {**RUNNING_SET, "spec": stateful_set(plan(observed()))["spec"]}
    assert of(plan(running(stateful_set=live)), Replace) == []

    old = {**live, "spec": {**live["spec"], "serviceName": "slurm-controller"}}
    assert [action.kind for action in of(plan(running(stateful_set=old)), Replace)] == [
        STATEFUL_SET
    ]
    moved = controller(persistence={"existingClaim": "mine"})
    assert len(of(plan(running(moved, stateful_set=live)), Replace)) == 1


def test_what_the_server_writes_its_own_way_is_no_difference() -> None:
    one = controller(persistence={"resources": {"requests": {"storage": "4096Mi"}}})
    spec = stateful_set(plan(observed()))["spec"]
    (claim,) = spec["volumeClaimTemplates"]
    defaulted = {**claim, "spec": {**claim["spec"], "volumeMode": "Filesystem"}, "status": {}}
    live = {**RUNNING_SET, "spec": {**spec, "volumeClaimTemplates": [defaulted]}}
    assert of(plan(running(one, stateful_set=live)), Replace) == []


def test_a_claim_without_a_storage_class_stays_without() -> None:
    one = controller(persistence={"storageClassName": ""})
    (claim,) = stateful_set(plan(observed(one)))["spec"]["volumeClaimTemplates"]
    assert claim["spec"]["storageClassName"] == ""


# --- monitors and events ------------------------------------------------------------------------


def test_a_monitor_that_is_not_wanted_any_more_is_deleted() -> None:
    monitor = {"metadata": {"namespace": "lab", "name": "slurm-controller", "uid": "u"}}
    (gone,) = of(plan(running(monitor=monitor)), Delete)
    assert (gone.kind, gone.uid) == (SERVICE_MONITOR, "u")


def test_without_its_kind_no_monitor_is_made() -> None:
    assert applied(plan(replace(EVERYTHING, setting=SETTING)), SERVICE_MONITOR) == []


def test_a_configuration_newly_in_force_is_told() -> None:
    one = with_status(controller(), configHash="0" * 64)
    seen = running(one)
    (told,) = of(plan(seen), Tell)
    assert (told.warning, told.reason.code) == (False, "Reconfigured")
    same = with_status(controller(), configHash=wanted(seen).fingerprint)
    assert of(plan(running(same)), Tell) == []


def test_a_report_of_other_files_is_waited_for() -> None:
    made = plan(running(report=report("0" * 64)))
    assert made.again == 0.5
    assert plan(running(report=None)).again == 3.0
    assert plan(running(pods=())).again == 60.0
    assert plan(running(pods=(pod(deleted=True),))).again == 10.0
