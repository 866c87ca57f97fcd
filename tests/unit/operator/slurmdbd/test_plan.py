import base64
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.unit.operator.printing import printed
from tests.unit.operator.slurmdbd.accountings import (
    STORAGE,
    accounting,
    content,
    controller,
    secret,
    seen,
)
from windlass.api import labels
from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.objects import Pod
from windlass.operator.plan import Apply, Body, Create, Plan, Replace, Tell
from windlass.operator.slurmdbd.observe import Observed
from windlass.operator.slurmdbd.plan import plan
from windlass.slurm.key_set import KeySet

SEVERAL = str(KeySet.of(b"k" * 32, "1"))
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def applied(done: Plan, kind: Kind) -> Body:
    (found,) = (
        each.body for each in done.actions if isinstance(each, Apply | Replace) if each.kind == kind
    )
    return found


def kinds_of(done: Plan) -> list[str]:
    return [
        "Event" if isinstance(each, Tell) else each.kind.kind
        for each in done.actions
        if isinstance(each, Apply | Replace | Tell)
    ]


def shown(done: Plan) -> dict[str, tuple[str, str, str]]:
    assert done.status is not None
    return {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in done.status["conditions"]
    }


def container(done: Plan, group: str = "containers") -> dict[str, Any]:
    spec = applied(done, kinds.STATEFUL_SET)["spec"]["template"]["spec"]
    found: dict[str, Any] = spec[group][0]
    return found


def pod(*, init: dict[str, Any] | None = None, daemon: dict[str, Any] | None = None) -> Pod:
    body = {
        "metadata": {"name": "slurm-accounting-0", "namespace": "hpc"},
        "status": {
            "initContainerStatuses": [{"name": "database", **(init or {})}],
            "containerStatuses": [{"name": "slurmdbd", **(daemon or {})}],
        },
    }
    return msgspec.convert(body, Pod)


def live(ready: int = 1, generation: int = 1) -> dict[str, Any]:
    wanted = applied(plan(seen(), NOON), kinds.STATEFUL_SET)
    return {
        "metadata": {"generation": generation},
        "spec": dict(wanted["spec"]),
        "status": {"observedGeneration": 1, "readyReplicas": ready, "updatedReplicas": 1},
    }


# --- what is made --------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Service", "Secret", "ConfigMap", "StatefulSet"])
def test_what_a_plain_accounting_owns(kind: str, golden: Callable[[str, str], None]) -> None:
    done = plan(seen(), NOON)
    assert kinds_of(done) == ["Service", "Secret", "ConfigMap", "StatefulSet"]
    (body,) = (
        each.body for each in done.actions if isinstance(each, Apply) if each.kind.kind == kind
    )
    golden(f"plain-{kind.lower()}.yaml", printed(body))


def test_a_template_reaches_the_pods(golden: Callable[[str, str], None]) -> None:
    world = seen(
        accounting=accounting(
            jwksKeyRef={"name": "jwks", "key": "keys"},
            storageConfig={
                **STORAGE,
                "tls": {
                    "caSecretRef": {"name": "ca", "key": "root.pem"},
                    "certificateRef": {"name": "pair"},
                },
            },
            slurmdbd={"image": "mine:1", "args": ["-v"], "resources": {"limits": {"cpu": "1"}}},
            template={
                "metadata": {"labels": {"tier": "db"}, "annotations": {"scrape": "no"}},
                "spec": {"nodeSelector": {"disk": "ssd"}, "automountServiceAccountToken": True},
            },
            service={"port": 7000, "spec": {"type": "NodePort"}},
        ),
        content={
            **content(ca=secret(root_pem="CA"), pair=secret(tls_crt="CERT", tls_key="KEY")),
            (kinds.CONFIG_MAP, "jwks"): {"data": {"keys": "{}"}},
        },
    )
    done = plan(world, NOON)
    golden(
        "templated-statefulset.yaml",
        printed(applied(done, kinds.STATEFUL_SET)),
    )
    assert (done.status or {})["address"] == "slurm-accounting.hpc:7000"


def test_an_external_slurmdbd_is_not_made_and_is_ready() -> None:
    away = accounting(external=True, externalConfig={"host": "dbd.example.org", "port": 6819})
    done = plan(seen(accounting=away), NOON)
    assert done.actions == ()
    assert (done.status or {})["address"] == "dbd.example.org:6819"
    assert shown(done)["Ready"][:2] == ("True", "External")
    assert done.again is None


@pytest.mark.parametrize(
    ("change", "hashed"),
    [
        ({"mariadb_password": secret(password="anders")}, labels.SLURMDBD_CONF_HASH),
        ({"slurm_auth_slurm": secret(slurm_key=b"n" * 32)}, labels.SLURM_KEY_HASH),
        (
            {"slurm_auth_slurm": secret(slurm_key=b"s" * 32, slurm_jwks=SEVERAL)},
            labels.SLURM_KEY_HASH,
        ),
        ({"slurm_auth_jwt": secret(jwt_key=b"n" * 32)}, labels.JWT_KEY_HASH),
    ],
)
def test_slurmdbd_starts_again_when_what_it_reads_once_changes(
    change: dict[str, Any], hashed: str
) -> None:
    def hashes(world: Observed) -> dict[str, str]:
        body = applied(plan(world, NOON), kinds.STATEFUL_SET)
        found: dict[str, str] = body["spec"]["template"]["metadata"]["annotations"]
        return found

    before, after = hashes(seen()), hashes(seen(content=content(**change)))
    assert {name for name in before if before[name] != after[name]} == {hashed}


@pytest.mark.parametrize("field", ["serviceName", "podManagementPolicy"])
def test_a_stateful_set_with_another_immutable_field_is_made_anew(field: str) -> None:
    changed = live()
    changed["spec"][field] = "another"
    done = plan(seen(stateful_set=changed), NOON)
    assert isinstance(done.actions[-1], Replace)
    assert isinstance(plan(seen(stateful_set=live()), NOON).actions[-1], Apply)


def test_a_line_break_after_the_password_is_not_part_of_it() -> None:
    plain, broken = (
        plan(seen(content=content(mariadb_password=secret(password=text))), NOON)
        for text in ("geheim", "geheim\r\n")
    )
    assert applied(plain, kinds.SECRET) == applied(broken, kinds.SECRET)


# --- what is missing -----------------------------------------------------------------------

TLS = {**STORAGE, "tls": {"caRef": {"name": "ca", "key": "ca.crt"}}}
PAIR = {**STORAGE, "tls": {"certificateRef": {"name": "pair"}}}


@pytest.mark.parametrize(
    ("world", "code", "degraded"),
    [
        (seen(controllers=()), "WaitingForController", "False"),
        (seen(content={}), "KeyMissing", "False"),
        (
            seen(accounting=accounting(slurmKeyRef={"name": "typo", "key": "k"})),
            "KeyMissing",
            "True",
        ),
        (
            seen(accounting=accounting(jwksKeyRef={"name": "typo", "key": "k"})),
            "KeyMissing",
            "True",
        ),
        (
            seen(content=content(slurm_auth_slurm=secret(slurm_key="k", slurm_jwks="{}"))),
            "BadKey",
            "True",
        ),
        (seen(content=content(mariadb_password={})), "PasswordMissing", "True"),
        (
            seen(content=content(mariadb_password=secret(password=b"\xff"))),
            "BadConfiguration",
            "True",
        ),
        (seen(accounting=accounting(storageConfig=TLS)), "CertificateMissing", "True"),
        (seen(accounting=accounting(storageConfig=PAIR)), "CertificateMissing", "True"),
        (seen(accounting=accounting(storageConfig=None)), "NoDatabase", "True"),
        (seen(accounting=accounting(extraConf="Nonsense=1")), "BadConfiguration", "True"),
    ],
)
def test_what_is_missing_is_named_and_what_runs_is_left_alone(
    world: Observed, code: str, degraded: str
) -> None:
    done = plan(world, NOON)
    assert kinds_of(done) == (["Service", "Event"] if degraded == "True" else ["Service"])
    assert shown(done)["Ready"][:2] == ("False", code)
    assert shown(done)["Degraded"][0] == degraded
    assert done.again == 30

    running = plan(replace(world, stateful_set=live()), NOON)
    assert shown(running)["Available"][0] == "True"


def test_a_second_controller_with_another_key_is_named() -> None:
    world = seen(
        controllers=(controller(), controller("second")),
        content=content(second_auth_slurm=secret(slurm_key=b"x" * 32)),
        stateful_set=live(),
    )
    status, code, message = shown(plan(world, NOON))["Degraded"]
    assert (status, code) == ("True", "KeysDiffer")
    assert "Controller second" in message

    same = replace(world, content=content(second_auth_slurm=secret(slurm_key=b"s" * 32)))
    assert shown(plan(same, NOON))["Degraded"][0] == "False"


# --- what it waits for ---------------------------------------------------------------------

REFUSED = {"terminated": {"exitCode": 1, "message": "mariadb:3306 does not answer: refused"}}


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"state": {}}, "slurmdbd waits for mariadb:3306"),
        (
            {"state": {}, "lastState": REFUSED, "restartCount": 1},
            "slurmdbd waits for mariadb:3306: mariadb:3306 does not answer: refused",
        ),
        (
            {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": REFUSED},
            "slurmdbd waits for mariadb:3306: mariadb:3306 does not answer: refused",
        ),
    ],
)
def test_it_waits_for_the_database_and_says_so(init: dict[str, Any], message: str) -> None:
    done = plan(seen(stateful_set=live(ready=0), pods=(pod(init=init),)), NOON)
    assert shown(done)["Ready"] == ("False", "WaitingForDatabase", message)
    assert shown(done)["Progressing"][0] == "True"


DONE = {"state": {"terminated": {"exitCode": 0}}}


@pytest.mark.parametrize(
    ("world", "ready", "code"),
    [
        ({}, "False", "Creating"),
        ({"stateful_set": live(ready=0)}, "False", "Starting"),
        ({"stateful_set": live(generation=2)}, "False", "Starting"),
        ({"stateful_set": live()}, "True", "Serving"),
        ({"stateful_set": live(ready=0), "pods": (pod(init=DONE),)}, "False", "Starting"),
        (
            {
                "stateful_set": live(ready=0),
                "pods": (
                    pod(
                        init=DONE,
                        daemon={
                            "restartCount": 2,
                            "lastState": {"terminated": {"message": "no such database"}},
                        },
                    ),
                ),
            },
            "False",
            "Crashing",
        ),
        (
            {
                "stateful_set": live(ready=0),
                "pods": (
                    pod(
                        init={"state": {"waiting": {"reason": "ImagePullBackOff", "message": "no"}}}
                    ),
                ),
            },
            "False",
            "ImageMissing",
        ),
    ],
)
def test_the_status_follows_the_pod(world: dict[str, Any], ready: str, code: str) -> None:
    assert shown(plan(seen(**world), NOON))["Ready"][:2] == (ready, code)


def test_what_is_wrong_is_told_once() -> None:
    world = seen(accounting=accounting(extraConf="Nonsense=1"))
    done = plan(world, NOON)
    assert kinds_of(done)[-1] == "Event"
    known = accounting(done.status, extraConf="Nonsense=1")
    assert kinds_of(plan(replace(world, accounting=known), NOON)) == ["Service"]


def test_the_one_who_waits_has_the_image_and_the_resources_of_slurmdbd() -> None:
    given = {"image": "mine:1", "imagePullPolicy": "Always", "resources": {"limits": {"cpu": 1}}}
    waits = container(plan(seen(accounting=accounting(slurmdbd=given)), NOON), "initContainers")
    assert {name: waits[name] for name in given} == given
    assert waits["args"] == ["mariadb", "3306"]


def test_a_password_that_nobody_chose_is_made_once_and_outlives_the_accounting() -> None:
    unchosen = accounting(storageConfig={"host": "mariadb", "username": "slurm"})
    observed = seen(accounting=unchosen, fresh_password="made")

    (made,) = (each for each in plan(observed, NOON).actions if isinstance(each, Create))

    assert made.body["metadata"]["name"] == "slurm-accounting-password"
    assert made.body["stringData"] == {"password": "made"}
    assert "ownerReferences" not in made.body["metadata"]
    assert shown(plan(observed, NOON))["Progressing"][:2] == ("True", "PasswordMissing")

    kept = content(slurm_accounting_password=secret(password="made"))
    done = plan(replace(observed, content=kept, fresh_password="another"), NOON)
    assert not [each for each in done.actions if isinstance(each, Create)]
    conf = base64.b64decode(applied(done, kinds.SECRET)["data"]["slurmdbd.conf"])
    assert b"StoragePass=made\n" in conf
