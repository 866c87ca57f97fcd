from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.unit.operator.conftest import Golden
from tests.unit.operator.documents import made
from tests.unit.operator.logins.observed import login_set, membership, observed
from windlass.api import labels
from windlass.kube.kinds import DEPLOYMENT
from windlass.kube.meta import Meta
from windlass.kube.objects import Deployment, Pod
from windlass.operator.logins.plan import plan
from windlass.operator.plan import Annotate, Apply, Create, Plan, Tell

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)

FULL: dict[str, Any] = {
    "replicas": 2,
    "login": {
        "image": "registry.example/slinkyproject/login:26.05-ubuntu24.04",
        "resources": {"limits": {"cpu": 2, "memory": "4Gi"}},
        "env": [{"name": "SACKD_OPTIONS", "value": "-vvv"}],
        "securityContext": {"privileged": False},
    },
    "initconf": {"resources": {"limits": {"memory": "64Mi"}}},
    "rootSshAuthorizedKeys": "ssh-ed25519 AAAA admin\n",
    "extraSshdConfig": "LoginGraceTime 600\n",
    "sssdConfRef": {"name": "sssd", "key": "sssd.conf"},
    "strategy": {"type": "Recreate"},
    "template": {
        "metadata": {"labels": {"team": "a"}},
        "spec": {
            "tolerations": [{"key": "login", "operator": "Exists"}],
            "volumes": [{"name": "home", "nfs": {"server": "nfs", "path": "/home"}}],
        },
    },
    "service": {"spec": {"type": "LoadBalancer"}, "port": 2222},
}


def template(done: Plan) -> dict[str, Any]:
    (body,) = [
        action.body
        for action in done.actions
        if isinstance(action, Apply) and action.kind == DEPLOYMENT
    ]
    found: dict[str, Any] = body["spec"]["template"]
    return found


def verdicts(done: Plan) -> dict[str, tuple[str, str]]:
    assert done.status is not None
    return {each["type"]: (each["status"], each["reason"]) for each in done.status["conditions"]}


def deployment(
    replicas: int, ready: int, conditions: list[dict[str, str]] | None = None
) -> Deployment:
    body = {
        "metadata": {"name": "login", "namespace": "hpc", "generation": 2},
        "spec": {"replicas": replicas},
        "status": {
            "observedGeneration": 2,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "conditions": conditions,
        },
    }
    return msgspec.convert(body, Deployment)


def test_a_login_set_with_nothing_said_becomes_these_objects(golden: Golden) -> None:
    golden("plain.yaml", made(plan(observed(), NOW)))


def test_a_login_set_with_everything_said_becomes_these_objects(golden: Golden) -> None:
    golden("full.yaml", made(plan(observed(login_set(**FULL), sssd_conf=b"[sssd]"), NOW)))


def test_host_keys_are_made_once_and_before_the_pods_that_show_them() -> None:
    new = plan(observed(host_keys_kept=False), NOW)
    kept = plan(observed(), NOW)

    (secret,) = [action.body for action in new.actions if isinstance(action, Create)]
    assert secret["metadata"]["name"] == "login-ssh-host-keys"
    assert not [action for action in new.actions if getattr(action, "kind", None) == DEPLOYMENT]
    assert verdicts(new)["Progressing"] == ("True", "HostKeysNew")
    assert not [action for action in kept.actions if isinstance(action, Create)]


@pytest.mark.parametrize(
    ("before", "after", "rolls"),
    [
        (observed(), observed(membership=membership(b"new")), True),
        (observed(), observed(login_set(extraSshdConfig="LoginGraceTime 1")), True),
        (observed(), observed(login_set(rootSshAuthorizedKeys="ssh-ed25519 AAAA")), False),
        (
            observed(login_set(sssdConfRef={"name": "s", "key": "k"}), sssd_conf=b"a"),
            observed(login_set(sssdConfRef={"name": "s", "key": "k"}), sssd_conf=b"b"),
            True,
        ),
        (observed(), observed(host_keys={"ssh_host_rsa_key": b"x"}), True),
    ],
    ids=["slurm.key", "sshd_config", "root's keys", "sssd.conf", "host keys"],
)
def test_pods_are_replaced_only_for_what_they_cannot_notice(
    before: Any, after: Any, rolls: bool
) -> None:
    assert (template(plan(before, NOW)) != template(plan(after, NOW))) is rolls


def test_a_changed_key_of_root_is_brought_into_pods_that_run() -> None:
    keyed = login_set(rootSshAuthorizedKeys="ssh-ed25519 AAAA")
    running = Pod(metadata=Meta(name="login-1", namespace="hpc"))
    done = plan(observed(keyed, pods=(running,)), NOW)

    (told,) = [action for action in done.actions if isinstance(action, Annotate)]
    assert told.key.name == "login-1"
    seen = msgspec.structs.replace(running.metadata, annotations=dict(told.annotations))
    again = plan(observed(keyed, pods=(Pod(metadata=seen),)), NOW)
    assert not [action for action in again.actions if isinstance(action, Annotate)]
    gone = plan(observed(pods=(Pod(metadata=seen),)), NOW)
    assert [action for action in gone.actions if isinstance(action, Annotate)]


def test_a_missing_controller_is_told_once_and_pods_that_run_are_left() -> None:
    lost = plan(observed(membership=None), NOW)

    told = [action for action in lost.actions if isinstance(action, Tell)]
    assert [(tell.warning, tell.reason.code) for tell in told] == [(True, "ControllerRefFailed")]
    assert not [action for action in lost.actions if getattr(action, "kind", None) == DEPLOYMENT]
    assert verdicts(lost)["Ready"] == ("False", "ControllerMissing")
    assert verdicts(lost)["Degraded"] == ("True", "ControllerMissing")

    known = login_set(status=lost.status)
    again = plan(observed(known, membership=None), NOW)
    assert not [action for action in again.actions if isinstance(action, Tell)]


def test_a_controller_of_another_namespace_cannot_be_joined() -> None:
    elsewhere = login_set(controllerRef={"name": "slurm", "namespace": "other"})

    done = plan(observed(elsewhere, membership=None), NOW)

    assert done.status is not None
    assert "Controller slurm is in namespace other" in done.status["conditions"][0]["message"]


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (observed(membership=membership(None)), "KeyMissing"),
        (observed(login_set(sssdConfRef={"name": "s", "key": "k"})), "SssdConfMissing"),
        (observed(host_keys={}), "HostKeysMissing"),
    ],
)
def test_pods_wait_for_what_they_mount(seen: Any, reason: str) -> None:
    done = plan(seen, NOW)

    assert verdicts(done)["Ready"] == ("False", reason)
    assert not [action for action in done.actions if getattr(action, "kind", None) == DEPLOYMENT]
    assert done.again


def test_a_key_that_the_operator_makes_is_awaited_and_one_of_the_user_is_missed() -> None:
    made = plan(observed(membership=membership(None)), NOW)
    given = {"slurmKeyRef": {"name": "mine", "key": "slurm.key"}}
    named = plan(observed(membership=membership(None, **given)), NOW)

    assert verdicts(made)["Degraded"][0] == "False"
    assert verdicts(named)["Degraded"] == ("True", "KeyMissing")


def test_an_optional_sssd_conf_that_is_absent_is_not_mounted() -> None:
    optional = login_set(sssdConfRef={"name": "s", "key": "k", "optional": True})

    pod = template(plan(observed(optional), NOW))

    assert "sssd-conf" not in [volume["name"] for volume in pod["spec"]["volumes"]]
    assert labels.SSSD_CONF_HASH not in pod["metadata"]["annotations"]


LATE = [{"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}]


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        (None, ("False", "False", "True", "False")),
        (deployment(2, 2), ("True", "True", "False", "False")),
        (deployment(2, 1), ("False", "True", "True", "False")),
        (deployment(2, 0, LATE), ("False", "False", "False", "True")),
        (deployment(3, 3), ("False", "True", "True", "False")),
    ],
    ids=["not made", "all ready", "one ready", "late", "being scaled"],
)
def test_status_says_how_the_deployment_is(
    live: Deployment | None, expected: tuple[str, ...]
) -> None:
    done = plan(observed(login_set(replicas=2), deployment=live), NOW)

    said = verdicts(done)
    types = ("Ready", "Available", "Progressing", "Degraded")
    assert tuple(said[each][0] for each in types) == expected
    assert done.status is not None
    assert done.status["observedGeneration"] == 3
    assert (
        done.status["selector"] == "app.kubernetes.io/name=login,app.kubernetes.io/instance=login"
    )


def test_workers_are_found_by_their_short_names() -> None:
    searches = template(plan(observed(), NOW))["spec"]["dnsConfig"]

    assert searches == {"searches": ["slurm-workers-slurm.hpc.svc.cluster.local"]}
