import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.unit.operator.printing import printed
from windlass.api import labels
from windlass.api.accounting import Accounting
from windlass.api.controller import Controller
from windlass.api.rest_api import RestApi
from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.objects import Pod
from windlass.operator.images import Images
from windlass.operator.plan import Apply, Body, Delete, Plan, Tell
from windlass.operator.pods.logged import PROGRAM
from windlass.operator.slurmrestd.agent import AGENT
from windlass.operator.slurmrestd.agent import FILES as AGENT_FILES
from windlass.operator.slurmrestd.observe import Observed
from windlass.operator.slurmrestd.plan import plan
from windlass.operator.slurmrestd.pod import PROXY
from windlass.slurm.key_set import KeySet

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CONF = """\
ClusterName=hpc
SlurmctldHost=slurm-controller-0(slurm-controller-0.slurm-controller-internal.hpc)
NodeSet=small Feature=small
PartitionName=small Nodes=small
"""
SEVERAL = str(KeySet.of(b"k" * 32, "1"))
METADATA = {
    "name": "slurm",
    "namespace": "hpc",
    "uid": "rest-uid",
    "generation": 2,
    "labels": {"team": "hpc"},
}


def rest_api(status: dict[str, Any] | None = None, /, **spec: Any) -> RestApi:
    body = {
        "metadata": METADATA,
        "spec": {"controllerRef": {"name": "slurm"}, **spec},
        "status": status or {},
    }
    return msgspec.convert(body, RestApi, strict=False)


def controller(**spec: Any) -> Controller:
    metadata = {"name": "slurm", "namespace": "hpc"}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Controller)


def secret(**data: str) -> dict[str, Any]:
    """Entries by name; an underscore stands for a dot."""
    return {
        "data": {
            name.replace("_", "."): base64.b64encode(text.encode()).decode()
            for name, text in data.items()
        }
    }


def seen(**fields: Any) -> Observed:
    plain: dict[str, Any] = {
        "rest_api": rest_api(),
        "controller": controller(),
        "conf": CONF,
        "slurm_key": secret(slurm_key="k" * 32),
        "images": Images(slurmrestd="slurmrestd:26.05"),
        "programs": {
            PROXY: "print('proxy')\n",
            PROGRAM: "print('logs')\n",
            **{file: f"print('{file}')\n" for file in AGENT_FILES},
        },
    }
    return Observed(**{**plain, **fields})


def applied(done: Plan, kind: Kind) -> Body:
    (found,) = (each.body for each in done.actions if isinstance(each, Apply) if each.kind == kind)
    return found


def shown(done: Plan) -> dict[str, tuple[str, str]]:
    assert done.status is not None
    return {each["type"]: (each["status"], each["reason"]) for each in done.status["conditions"]}


def container(done: Plan) -> dict[str, Any]:
    spec = applied(done, kinds.DEPLOYMENT)["spec"]["template"]["spec"]
    found: dict[str, Any] = spec["containers"][0]
    return found


def annotations(world: Observed) -> dict[str, str]:
    body = applied(plan(world, NOON), kinds.DEPLOYMENT)
    found: dict[str, str] = body["spec"]["template"]["metadata"]["annotations"]
    return found


def live(replicas: int = 1, ready: int = 1, generation: int = 1) -> dict[str, Any]:
    numbers = {"replicas": replicas, "updatedReplicas": replicas, "readyReplicas": ready}
    return {
        "metadata": {"generation": generation},
        "status": {"observedGeneration": 1, **numbers},
    }


# --- what is made --------------------------------------------------------------------------


def test_a_plain_rest_api(golden: Callable[[str, str], None]) -> None:
    done = plan(seen(), NOON)
    assert [type(each) for each in done.actions] == [Apply, Apply, Apply]
    golden("plain-service.yaml", printed(applied(done, kinds.SERVICE)))
    golden("plain-programs.yaml", printed(applied(done, kinds.CONFIG_MAP)))
    golden("plain-deployment.yaml", printed(applied(done, kinds.DEPLOYMENT)))


def test_several_behind_tls_with_accounting(golden: Callable[[str, str], None]) -> None:
    world = seen(
        rest_api=rest_api(
            replicas=3,
            tls={"secretRef": {"name": "rest-tls"}},
            slurmrestd={"image": "mine:1", "args": ["-v"]},
            service={"port": 443},
            template={"metadata": {"annotations": {"scrape": "no"}}},
        ),
        controller=controller(accountingRef={"name": "slurm"}),
        accounting=msgspec.convert(
            {
                "metadata": {"name": "slurm", "namespace": "hpc"},
                "spec": {"slurmKeyRef": {"name": "shared", "key": "the-key"}},
            },
            Accounting,
        ),
        slurm_key={"data": {"the-key": "a2s="}},
        tls=secret(tls_crt="CERT", tls_key="KEY"),
    )
    done = plan(world, NOON)
    golden("tls-deployment.yaml", printed(applied(done, kinds.DEPLOYMENT)))
    golden("tls-budget.yaml", printed(applied(done, kinds.POD_DISRUPTION_BUDGET)))
    golden("tls-programs.yaml", printed(applied(done, kinds.CONFIG_MAP)))
    assert (done.status or {})["address"] == "https://slurm-restapi.hpc:443"


def test_an_agent_beside_slurmrestd(golden: Callable[[str, str], None]) -> None:
    done = plan(seen(rest_api=rest_api(agent={"enabled": True})), NOON)
    golden("agent-service.yaml", printed(applied(done, kinds.SERVICE)))
    golden("agent-programs.yaml", printed(applied(done, kinds.CONFIG_MAP)))
    golden("agent-deployment.yaml", printed(applied(done, kinds.DEPLOYMENT)))


def test_an_agent_behind_tls_is_reached_through_it_alone() -> None:
    behind = rest_api(agent={"enabled": True}, tls={"secretRef": {"name": "rest-tls"}})
    done = plan(seen(rest_api=behind, tls=secret(tls_crt="CERT", tls_key="KEY")), NOON)
    pod = applied(done, kinds.DEPLOYMENT)["spec"]["template"]["spec"]
    (proxy,), (_, agent) = pod["initContainers"], pod["containers"]
    assert proxy["args"] == ["6820", "6822", "6821", "6823", "/etc/slurmrestd-tls"]
    assert [each["containerPort"] for each in proxy["ports"]] == [6820, 6821]
    assert agent["command"][-1] == "127.0.0.1:6823"
    assert "ports" not in agent
    assert sorted(applied(done, kinds.CONFIG_MAP)["data"]) == sorted([PROGRAM, PROXY, *AGENT_FILES])


def test_the_agent_has_no_key_and_a_pod_is_ready_without_it() -> None:
    done = plan(seen(rest_api=rest_api(agent={"enabled": True})), NOON)
    pod = applied(done, kinds.DEPLOYMENT)["spec"]["template"]["spec"]
    (agent,) = (each for each in pod["containers"] if each["name"] == AGENT)
    mounted = {each["name"] for each in agent["volumeMounts"]}
    (files,) = (each["projected"] for each in pod["volumes"] if each["name"] == AGENT)
    assert mounted == {AGENT, "programs"}
    assert [list(each) for each in files["sources"]] == [["configMap"]]
    assert not [field for field in agent if field.endswith("Probe")]


@pytest.mark.parametrize(
    ("spec", "args"),
    [
        ({}, ["-s", "openapi/slurmctld,openapi/util", "0.0.0.0:6820"]),
        ({"accountingRef": {"name": "slurm"}}, ["0.0.0.0:6820"]),
        ({"accountingRef": {"name": ""}}, ["-s", "openapi/slurmctld,openapi/util", "0.0.0.0:6820"]),
    ],
)
def test_accounting_is_served_only_where_there_is_some(
    spec: dict[str, Any], args: list[str]
) -> None:
    assert container(plan(seen(controller=controller(**spec)), NOON))["args"] == args


def test_a_users_arguments_come_before_the_address() -> None:
    world = seen(rest_api=rest_api(slurmrestd={"args": ["-v", "-v"]}))
    assert container(plan(world, NOON))["args"][-3:] == ["-v", "-v", "0.0.0.0:6820"]


@pytest.mark.parametrize(
    ("fields", "hashed"),
    [
        ({"conf": CONF + "AuthInfo=use_client_ids\n"}, {labels.SLURM_CONFIG_HASH}),
        ({"conf": CONF.replace("-0(", "-1(")}, {labels.SLURM_CONFIG_HASH}),
        ({"conf": "what is this"}, {labels.SLURM_CONFIG_HASH}),
        ({"slurm_key": secret(slurm_key="n" * 32)}, {labels.SLURM_KEY_HASH}),
        ({"slurm_key": secret(slurm_key="k" * 32, slurm_jwks=SEVERAL)}, {labels.SLURM_KEY_HASH}),
        ({"conf": CONF + "# said\nNodeSet=big Feature=big\n"}, set()),
        ({"slurm_key": secret(slurm_key="k" * 32, other="x")}, set()),
    ],
)
def test_slurmrestd_starts_again_only_for_what_it_reads_itself(
    fields: dict[str, Any], hashed: set[str]
) -> None:
    before, after = annotations(seen()), annotations(seen(**fields))
    assert {name for name in before if before[name] != after[name]} == hashed


def test_files_that_slurm_conf_includes_are_mounted_too() -> None:
    world = seen(controller=controller(configFileRefs=[{"name": "mine"}]))

    def sources(conf: str) -> list[dict[str, Any]]:
        body = applied(plan(replace(world, conf=conf), NOON), kinds.DEPLOYMENT)
        volume, _ = body["spec"]["template"]["spec"]["volumes"]
        found: list[dict[str, Any]] = volume["projected"]["sources"]
        return found

    assert len(sources(CONF)) == 3
    included = sources(CONF + "Include more.conf\n")
    assert included[0] == {"configMap": {"name": "mine", "optional": True}}


@pytest.mark.parametrize(("owner", "deleted"), [("rest-uid", True), ("another", False)])
def test_a_budget_for_one_is_taken_away_if_it_is_ours(owner: str, deleted: bool) -> None:
    references = [{"uid": owner, "controller": True}]
    metadata = {
        "name": "slurm-restapi",
        "namespace": "hpc",
        "uid": "b",
        "ownerReferences": references,
    }
    done = plan(seen(budget={"metadata": metadata}), NOON)
    assert any(isinstance(each, Delete) for each in done.actions) is deleted


# --- what is missing -----------------------------------------------------------------------

TLS = rest_api(tls={"secretRef": {"name": "rest-tls"}})


@pytest.mark.parametrize(
    ("fields", "code", "degraded"),
    [
        ({"controller": None}, "ControllerMissing", "True"),
        ({"slurm_key": None}, "KeyMissing", "False"),
        (
            {"controller": controller(slurmKeyRef={"name": "typo", "key": "k"})},
            "KeyMissing",
            "True",
        ),
        ({"slurm_key": secret(slurm_key="")}, "KeyMissing", "False"),
        ({"slurm_key": secret(slurm_key="k", slurm_jwks="{}")}, "BadKey", "True"),
        ({"conf": None}, "WaitingForConfiguration", "False"),
        ({"rest_api": TLS}, "CertificateMissing", "True"),
        ({"rest_api": TLS, "tls": secret(tls_crt="x")}, "CertificateMissing", "True"),
        (
            {"rest_api": rest_api(controllerRef={"name": "slurm", "namespace": "elsewhere"})},
            "ControllerElsewhere",
            "True",
        ),
    ],
)
def test_what_is_missing_is_named_and_what_runs_is_left_alone(
    fields: dict[str, Any], code: str, degraded: str
) -> None:
    done = plan(seen(**fields), NOON)
    assert not any(
        isinstance(each, Apply) and each.kind == kinds.DEPLOYMENT for each in done.actions
    )
    assert shown(done)["Ready"] == ("False", code)
    assert shown(done)["Degraded"][0] == degraded
    assert any(isinstance(each, Tell) for each in done.actions) is (degraded == "True")
    assert done.again == 30
    running = plan(seen(**fields, deployment=live()), NOON)
    assert shown(running)["Available"][0] == "True"


# --- what is shown -------------------------------------------------------------------------


def crashing() -> Pod:
    status = {"name": "slurmrestd", "restartCount": 1, "state": {}}
    body = {"metadata": {"name": "p"}, "status": {"containerStatuses": [status]}}
    return msgspec.convert(body, Pod)


def unplaced() -> Pod:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    body = {"metadata": {"name": "p"}, "status": {"conditions": [condition]}}
    return msgspec.convert(body, Pod)


@pytest.mark.parametrize(
    ("fields", "ready", "available", "code"),
    [
        ({}, "False", "False", "Creating"),
        ({"deployment": live(ready=0)}, "False", "False", "RollingOut"),
        ({"deployment": live(generation=2)}, "False", "True", "RollingOut"),
        ({"deployment": live(replicas=2)}, "False", "True", "RollingOut"),
        ({"deployment": live()}, "True", "True", "Serving"),
        ({"deployment": live(), "pods": (crashing(),)}, "True", "True", "Serving"),
        ({"deployment": live(ready=0), "pods": (crashing(),)}, "False", "False", "Crashing"),
        ({"deployment": live(replicas=2), "pods": (crashing(),)}, "False", "True", "Crashing"),
        ({"deployment": live(ready=0), "pods": (unplaced(),)}, "False", "False", "Unschedulable"),
        (
            {"deployment": live(0, 0), "rest_api": rest_api(replicas=0)},
            "False",
            "False",
            "Stopped",
        ),
    ],
)
def test_the_status_follows_the_deployment(
    fields: dict[str, Any], ready: str, available: str, code: str
) -> None:
    done = plan(seen(**fields), NOON)
    assert shown(done)["Ready"] == (ready, code)
    assert shown(done)["Available"] == (available, code)


def test_the_status_counts_and_says_where() -> None:
    done = plan(seen(deployment=live(replicas=2, ready=1)), NOON)
    assert done.status is not None
    assert {name: done.status[name] for name in done.status if name != "conditions"} == {
        "observedGeneration": 2,
        "replicas": 2,
        "readyReplicas": 1,
        "address": "http://slurm-restapi.hpc:6820",
    }
    assert done.again == 30
    assert plan(seen(deployment=live()), NOON).again is None


def test_an_external_controller_is_served_from_its_own_configuration() -> None:
    away = controller(
        external=True,
        externalConfig={"host": "ctl.example.org", "port": 6817},
        slurmKeyRef={"name": "theirs", "key": "slurm.key"},
        jwtKeyRef={"name": "theirs", "key": "jwt.key"},
    )
    body = applied(plan(seen(controller=away), NOON), kinds.DEPLOYMENT)
    volume, _ = body["spec"]["template"]["spec"]["volumes"]
    names = [next(iter(each.values()))["name"] for each in volume["projected"]["sources"]]
    assert names == ["slurm-config", "theirs", "theirs"]
