"""The bridge's chart on a real API server: rights, whom its webhook concerns, and its answers."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest

from tests.contract.helm import Body, Helm
from tests.contract.kube_access import as_admin, as_user
from tests.contract.plain_api import run
from tests.contract.test_charts_on_a_server import Release
from windlass.bridge import configuration, words
from windlass.bridge.webhooks import handlers, looking
from windlass.kube import kinds
from windlass.kube.admission import AdmissionServer
from windlass.kube.certificate_store import ClientStore, Webhooks
from windlass.kube.certificates import Store, Terms, decide
from windlass.kube.client import Client
from windlass.kube.rotation import Rotation
from windlass.kube.serving import Pair, Serving
from windlass.local.errors import CommandFailed
from windlass.local.kubectl import Kubectl
from windlass.local.waiting import wait_for
from windlass.mains import windlass
from windlass.testing.kube import RealKube
from windlass.values.key import Key

HOME, TEAM, ELSEWHERE = "bridge-home", "bridge-team", "bridge-elsewhere"
CHART = "windlass-bridge"
BRIDGE, ADMISSION = "windlass-bridge", "windlass-bridge-admission"
VALUES: Body = {"admission": {"managedNamespaces": [TEAM], "timeoutSeconds": 1}}
BOTH = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")
LOCAL = "127.0.0.1"
DRY = ("create", "--dry-run=server", "-f", "-")


@pytest.fixture(scope="module")
def kubectl(slurm_kinds: Kubectl) -> Kubectl:
    for name in (HOME, TEAM, ELSEWHERE):
        slurm_kinds("create", "namespace", name)
        slurm_kinds("create", "serviceaccount", "default", f"--namespace={name}")
    return slurm_kinds


@pytest.fixture
def release(helm: Helm, kube: RealKube, kubectl: Kubectl) -> Iterator[Release]:
    found = Release(helm, kube, CHART, CHART, HOME)
    yield found
    found.uninstall()


def pod(name: str, namespace: str, scheduler: str = "", **metadata: object) -> Body:
    spec = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {**spec, **({"schedulerName": scheduler} if scheduler else {})},
    }


def refusal(kubectl: Kubectl, *words: str, text: str | None = None) -> str:
    """What the server says against it; nothing where it does it."""
    try:
        kubectl(*words, text=text)
    except CommandFailed as error:
        return str(error)
    return ""


# --- Rights ----------------------------------------------------------------------------------


def test_its_pods_live_under_the_restricted_standard(helm: Helm, kubectl: Kubectl) -> None:
    kubectl("label", "namespace", HOME, "pod-security.kubernetes.io/enforce=restricted")
    found = helm.template(CHART, {"admission": {"metricsPort": 8080}})
    templates = [made["spec"]["template"] for made in found.of("Deployment").values()]
    templates += list(found.of("Pod").values())
    assert len(templates) == 4
    for number, template in enumerate(templates):
        made = pod(f"restricted-{number}", HOME)
        made["spec"] = {**template["spec"], "serviceAccountName": "default"}
        assert not refusal(kubectl, *DRY, text=json.dumps(made))
    kubectl("label", "namespace", HOME, "pod-security.kubernetes.io/enforce-")


def test_the_token_of_somebody_else_is_left_alone(release: Release, kubectl: Kubectl) -> None:
    def made() -> bool:
        return kubectl.get("token", BRIDGE, f"--namespace={HOME}") is not None

    said = release.upgrade(VALUES)
    assert f"kubectl --namespace {HOME} get token {BRIDGE}" in said
    assert f"kubectl --namespace {TEAM} run first" in said
    assert made()
    release.uninstall()
    secret = ("secret", "generic", "slurm-bridge-token", f"--namespace={HOME}")
    kubectl("create", *secret, "--from-literal=auth-token=theirs")
    release.upgrade(VALUES)
    assert not made()
    kubectl("delete", "secret", "slurm-bridge-token", f"--namespace={HOME}")
    release.upgrade(VALUES)
    assert made()


def can(kubectl: Kubectl, part: str, verb: str, resource: str, *where: str) -> bool:
    """Whether a part may; `where` is a namespace, and the subresource if it is about one."""
    namespace, *more = where
    account = f"--as=system:serviceaccount:{HOME}:{part}"
    return not refusal(
        kubectl, "auth", "can-i", account, verb, resource, f"--namespace={namespace}", *more
    )


def test_rights_are_given_where_they_are_needed_and_nowhere_else(
    release: Release, kubectl: Kubectl
) -> None:
    release.upgrade(VALUES)
    asked = {
        (BRIDGE, "patch", "pods", TEAM): True,
        (BRIDGE, "delete", "pods", TEAM): True,
        (BRIDGE, "create", "pods", TEAM, "--subresource=binding"): True,
        (BRIDGE, "patch", "pods", TEAM, "--subresource=status"): True,
        (BRIDGE, "create", "pods", TEAM): False,
        (BRIDGE, "create", "pods", TEAM, "--subresource=exec"): False,
        (BRIDGE, "watch", "nodes", TEAM): True,
        (BRIDGE, "patch", "nodes", TEAM): False,
        (BRIDGE, "watch", "jobs.batch", TEAM): True,
        (BRIDGE, "delete", "jobs.batch", TEAM): False,
        (BRIDGE, "get", "secrets", HOME): False,
        (BRIDGE, "create", "events.events.k8s.io", TEAM): True,
        (BRIDGE, "update", f"leases.coordination.k8s.io/{BRIDGE}", HOME): True,
        (BRIDGE, "update", "leases.coordination.k8s.io/other", HOME): False,
        (ADMISSION, "get", "namespaces", TEAM): True,
        (ADMISSION, "list", "namespaces", TEAM): False,
        (ADMISSION, "get", "pods", TEAM): False,
        (ADMISSION, "patch", f"secrets/{ADMISSION}", HOME): True,
        (ADMISSION, "get", "secrets/slurm-bridge-token", HOME): False,
        (ADMISSION, "patch", f"mutatingwebhookconfigurations/{ADMISSION}", HOME): True,
        (ADMISSION, "patch", "validatingwebhookconfigurations/other", HOME): False,
    }
    assert {words: can(kubectl, *words) for words in asked} == asked


def test_the_webhook_keeps_its_certificate_with_its_own_rights_and_upgrades_leave_it(
    release: Release, kube: RealKube, kubectl: Kubectl
) -> None:
    release.upgrade(VALUES)
    asyncio.run(look_after_certificate(kube))
    before = trusted(kubectl)
    assert len(before) == 3
    assert all(before)
    release.upgrade({**VALUES, "scheduler": {"workers": 2}})
    assert trusted(kubectl) == before


async def look_after_certificate(kube: RealKube) -> None:
    access = as_user(kube, f"system:serviceaccount:{HOME}:{ADMISSION}")
    several = (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS)
    async with Client(access) as client:
        webhooks = tuple(Webhooks(kind, ADMISSION) for kind in several)
        store = ClientStore(client, Key(HOME, ADMISSION), webhooks)
        terms = Terms(names=(f"{ADMISSION}.{HOME}.svc",))
        await Rotation(store, Serving(), terms, windlass.now).look()


def trusted(kubectl: Kubectl) -> list[str]:
    webhooks = [each for kind in BOTH for each in kubectl.get(kind, ADMISSION)["webhooks"]]
    return [webhook["clientConfig"].get("caBundle", "") for webhook in webhooks]


# --- Whom it concerns ------------------------------------------------------------------------

DAEMON = {
    "apiVersion": "apps/v1",
    "kind": "DaemonSet",
    "name": "agent",
    "uid": "1",
    "controller": True,
}


def test_while_it_is_down_only_pods_of_slurm_cannot_be_made(
    release: Release, kubectl: Kubectl
) -> None:
    """Nobody answers here: whoever would be asked about is refused."""
    release.upgrade(VALUES)
    wait_for(
        lambda: bool(refusal(kubectl, *DRY, text=json.dumps(pod("knock", TEAM)))),
        "the server asks the webhook",
        within=30,
    )
    asked = {
        "managed": (pod("p", TEAM), True),
        "named": (pod("p", ELSEWHERE, words.SCHEDULER), True),
        "of a DaemonSet": (pod("p", TEAM, ownerReferences=[DAEMON]), False),
        "of another scheduler": (pod("p", TEAM, "mine"), False),
        "elsewhere": (pod("p", ELSEWHERE), False),
        "its own": (pod("p", HOME), False),
        "of the system": (pod("p", "default"), False),
    }
    refused = {
        who: refusal(kubectl, *DRY, text=json.dumps(body)) for who, (body, _) in asked.items()
    }
    assert {who: "failed calling webhook" in said for who, said in refused.items()} == {
        who: wanted for who, (_, wanted) in asked.items()
    }


def test_while_it_is_down_only_what_a_job_was_told_cannot_be_changed(
    release: Release, kubectl: Kubectl
) -> None:
    placed = pod("placed", ELSEWHERE, words.SCHEDULER, finalizers=["a.example/b"])
    kubectl("create", "-f", "-", text=json.dumps(placed))
    release.upgrade(VALUES)

    def changing(who: str, change: Body) -> str:
        patch = ("patch", "pod", "placed", f"--namespace={ELSEWHERE}", "--type=merge")
        return refusal(
            kubectl, *patch, "--dry-run=server", f"--patch={json.dumps(change)}", *as_(who)
        )

    noted = {"metadata": {"labels": {words.JOB_ID: "7"}}}
    wait_for(lambda: bool(changing("", noted)), "the server asks the webhook", within=30)
    assert "failed calling webhook" in changing("", noted)
    assert "failed calling webhook" in changing("", {"metadata": {"annotations": {"a": "b"}}})
    assert not changing("", {"metadata": {"finalizers": []}})
    assert not changing("", {"spec": {"activeDeadlineSeconds": 9}})
    assert not changing(f"system:serviceaccount:{HOME}:{BRIDGE}", noted)
    kubectl("patch", "pod", "placed", f"--namespace={ELSEWHERE}", "--type=merge", FREED)
    kubectl("delete", "pod", "placed", f"--namespace={ELSEWHERE}", "--force")


FREED = '--patch={"metadata": {"finalizers": null}}'


def as_(who: str) -> tuple[str, ...]:
    return (f"--as={who}",) if who else ()


# --- Its answers -----------------------------------------------------------------------------


@asynccontextmanager
async def answering(kube: RealKube, release: Release, kubectl: Kubectl) -> AsyncIterator[None]:
    """The chart's configurations, which lead to a webhook of this process."""
    made = decide(None, Terms(names=(LOCAL,), overlap=timedelta(0)), datetime.now(UTC))
    assert isinstance(made, Store)
    serving = Serving()
    serving.show(Pair.from_secret(made.data))
    await asyncio.to_thread(release.upgrade, VALUES)
    config = kubectl.get("configmap", BRIDGE, f"--namespace={HOME}")["data"]["config.yaml"]
    rules = configuration.read(config).admission(f"system:serviceaccount:{HOME}:{BRIDGE}")
    async with Client(as_admin(kube)) as client, asyncio.TaskGroup() as tasks:
        server = AdmissionServer(handlers(looking(client), rules), time.monotonic)
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        task = tasks.create_task(server.serve(serving, LOCAL, 0, ready.set_result))
        port = await ready
        for kind in BOTH:
            await asyncio.to_thread(lead, kubectl, kind, port, made.data["ca.crt"])
        try:
            yield
        finally:
            task.cancel()


def lead(kubectl: Kubectl, kind: str, port: int, bundle: bytes) -> None:
    found = kubectl.get(kind, ADMISSION)
    for webhook in found["webhooks"]:
        path = webhook["clientConfig"]["service"]["path"]
        url, trust = f"https://{LOCAL}:{port}{path}", base64.b64encode(bundle).decode()
        webhook["clientConfig"] = {"url": url, "caBundle": trust}
    kubectl("replace", "-f", "-", text=json.dumps(found))


def test_pods_are_changed_and_refused_as_the_configuration_says(
    release: Release, kube: RealKube, kubectl: Kubectl
) -> None:
    def made(body: Body) -> Body:
        answer = kubectl(*DRY, "--output=json", text=json.dumps(body))
        return dict(json.loads(answer))

    def story() -> None:
        managed = made(pod("p", TEAM))["spec"]
        assert managed["schedulerName"] == words.SCHEDULER
        assert words.MANAGED_NODE in {each["key"] for each in managed["tolerations"]}
        assert made(pod("p", TEAM, "mine"))["spec"]["schedulerName"] == "mine"
        assert made(pod("p", ELSEWHERE))["spec"]["schedulerName"] == "default-scheduler"
        forged = pod("p", TEAM, annotations={f"{words.JOB_PREFIX}user-id": "root"})
        assert "no pod is root's" in refusal(kubectl, *DRY, text=json.dumps(forged))

    async def main() -> None:
        async with answering(kube, release, kubectl):
            await asyncio.to_thread(wait_for, heard, "the server asks the webhook", within=30)
            await asyncio.to_thread(story)

    def heard() -> bool:
        answer = refusal(kubectl, *DRY, text=json.dumps(pod("p", TEAM, labels={words.JOB_ID: "1"})))
        return "only the bridge writes this" in answer

    run(main())
