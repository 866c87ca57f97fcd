"""The charts on a real API server: it takes every object, and rights are as few as they say."""

import asyncio
import json
from typing import Any

import pytest

from tests.contract.helm import CHARTS, Body, Helm, nested, parsed
from tests.contract.kube_access import as_user
from tests.contract.test_charts import VALUES
from windlass.kube import kinds
from windlass.kube.certificate_store import ClientStore, Webhooks
from windlass.kube.certificates import Terms
from windlass.kube.client import Client
from windlass.kube.rotation import Rotation
from windlass.kube.serving import Serving
from windlass.local.errors import CommandFailed
from windlass.local.kubectl import Kubectl
from windlass.mains import windlass
from windlass.testing.kube import RealKube
from windlass.values.key import Key

OTHERS = {"cert-manager.io/v1"}  # kinds that are not ours and not on this server
NAMESPACES = ("charts", "charts-a", "charts-b", "charts-restricted", "charts-moved")


@pytest.fixture(scope="module")
def kubectl(slurm_kinds: Kubectl) -> Kubectl:
    for name in NAMESPACES:
        slurm_kinds("create", "namespace", name)
        slurm_kinds("create", "serviceaccount", "default", f"--namespace={name}")
    enforce = "pod-security.kubernetes.io/enforce=restricted"
    slurm_kinds("label", "namespace", "charts-restricted", enforce)
    return slurm_kinds


def dry_run(kubectl: Kubectl, *objects: Body) -> str:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    return kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", text=text)


@pytest.mark.parametrize(("chart", "name"), VALUES, ids=["-".join(key) for key in VALUES])
def test_the_server_takes_every_object(helm: Helm, kubectl: Kubectl, chart: str, name: str) -> None:
    values = dict(VALUES[chart, name] or {})
    if name == "chosen-namespaces":
        values["operator"] = {"namespaces": "charts-a,charts-b"}
    found = helm.template(chart, {**values, "namespaceOverride": "charts"})
    ours = [body for body in found.objects if body["apiVersion"] not in OTHERS]
    for body in ours:
        body["metadata"]["namespace"] = (
            body["metadata"].get("namespace", "").replace("here", "charts")
        )
    answer = dry_run(kubectl, *ours)
    assert answer.count("created (server dry run)") == len(ours)


# --- Pod security ----------------------------------------------------------------------------


def pod(template: Body, name: str) -> Body:
    spec = {**template["spec"], "serviceAccountName": "default"}
    metadata = {"name": name, "namespace": "charts-restricted"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_pods_of_the_operator_live_under_the_restricted_standard(
    helm: Helm, kubectl: Kubectl
) -> None:
    found = helm.template("windlass-operator", {"webhook": {"metricsPort": 8080}})
    templates = [made["spec"]["template"] for made in found.of("Deployment").values()]
    templates += list(found.of("Pod").values())
    assert len(templates) == 4
    for number, template in enumerate(templates):
        assert "created" in dry_run(kubectl, pod(template, f"restricted-{number}"))


def test_the_pod_of_mariadb_lives_under_the_restricted_standard(
    helm: Helm, kubectl: Kubectl
) -> None:
    found = helm.template("slurm", VALUES["slurm", "mariadb"])
    template = found.one("StatefulSet")["spec"]["template"]
    template["spec"]["volumes"].append({"name": "data", "emptyDir": {}})
    assert "created" in dry_run(kubectl, pod(template, "mariadb"))


def test_the_standard_is_enforced_here(helm: Helm, kubectl: Kubectl) -> None:
    found = helm.template(
        "windlass-operator", nested("operator.securityContext.capabilities.drop", [])
    )
    template = found.of("Deployment")["windlass-operator"]["spec"]["template"]
    with pytest.raises(CommandFailed, match="violates PodSecurity"):
        dry_run(kubectl, pod(template, "privileged"))


# --- Installed -------------------------------------------------------------------------------


class Release:
    """A release on the server, whose webhook is asked about one namespace only."""

    def __init__(self, helm: Helm, kube: RealKube, chart: str, name: str, namespace: str) -> None:
        self.helm = helm
        self.chart = chart
        self.name = name
        self.where = (f"--namespace={namespace}", f"--kubeconfig={kube.kubeconfig}")

    def upgrade(self, values: Body) -> str:
        """Install it, or bring it to these values; what Helm says then."""
        words = ("upgrade", "--install", self.name, str(CHARTS / self.chart))
        return self.helm(*words, *self.where, *self.helm.values(values))

    def uninstall(self) -> str:
        return self.helm("uninstall", self.name, *self.where)


@pytest.fixture
def operator(helm: Helm, kube: RealKube, kubectl: Kubectl) -> Any:
    release = Release(helm, kube, "windlass-operator", "windlass-operator", "charts")
    yield release
    release.uninstall()


CHOSEN: Body = {"operator": {"namespaces": "charts-a"}}


def can(kubectl: Kubectl, part: str, verb: str, resource: str, *where: str) -> bool:
    """Whether a part may; `where` is a namespace, and the subresource if it is about one."""
    namespace, *more = where
    account = f"--as=system:serviceaccount:charts:{part}"
    words = (account, verb, resource, f"--namespace={namespace or 'default'}", *more)
    try:
        return "yes" in kubectl("auth", "can-i", *words)
    except CommandFailed:
        return False


OPERATOR, WEBHOOK = "windlass-operator", "windlass-operator-webhook"


@pytest.mark.parametrize("namespaces", ["", "charts-a"])
def test_rights_are_given_where_they_are_needed_and_nowhere_else(
    operator: Release, kubectl: Kubectl, namespaces: str
) -> None:
    operator.upgrade(
        {"operator": {"namespaces": namespaces}, "webhook": {"namespaces": "charts-a"}}
    )
    everywhere = not namespaces
    ours = "slinky.slurm.net"
    asked = {
        (OPERATOR, "create", "secrets", "charts-a"): True,
        (OPERATOR, "patch", f"controllers.{ours}", "charts-a", "--subresource=status"): True,
        (OPERATOR, "update", f"controllers.{ours}", "charts-a", "--subresource=finalizers"): True,
        (OPERATOR, "patch", f"controllers.{ours}", "charts-a"): False,
        (OPERATOR, "delete", f"nodesets.{ours}", "charts-a"): False,
        (OPERATOR, "patch", "statefulsets.apps", "charts-a"): True,
        (OPERATOR, "create", "events.events.k8s.io", "charts-a"): True,
        (OPERATOR, "get", "secrets", "charts-b"): everywhere,
        (OPERATOR, "list", "secrets", "charts-b"): everywhere,
        (OPERATOR, "watch", "nodes", ""): True,
        (OPERATOR, "patch", "nodes", ""): False,
        (OPERATOR, "create", "pods", "charts-a", "--subresource=exec"): False,
        (OPERATOR, "update", f"leases.coordination.k8s.io/{OPERATOR}", "charts"): True,
        (OPERATOR, "update", "leases.coordination.k8s.io/other", "charts"): False,
        (WEBHOOK, "get", "configmaps", "charts-a"): True,
        (WEBHOOK, "get", "configmaps", "charts-b"): False,
        (WEBHOOK, "get", "secrets", "charts-a"): False,
        (WEBHOOK, "patch", f"secrets/{WEBHOOK}-ca", "charts"): True,
        (WEBHOOK, "create", "secrets", "charts"): False,
        (WEBHOOK, "patch", f"validatingwebhookconfigurations/{WEBHOOK}", ""): True,
        (WEBHOOK, "patch", "validatingwebhookconfigurations/other", ""): False,
    }
    assert {words: can(kubectl, *words) for words in asked} == asked


def test_the_webhook_keeps_its_certificate_with_its_own_rights_and_upgrades_leave_it(
    operator: Release, kube: RealKube, kubectl: Kubectl
) -> None:
    operator.upgrade(CHOSEN)
    asyncio.run(look_after_certificate(kube))
    before = trusted(kubectl)
    assert len(before) == 7
    assert all(before)
    secret = kubectl.get("secret", f"{WEBHOOK}-ca", "--namespace=charts")["data"]
    assert {"ca.crt", "ca.key", "tls.crt", "tls.key"} <= set(secret)

    operator.upgrade({**CHOSEN, "webhook": {"timeoutSeconds": 7}})
    found = kubectl.get("validatingwebhookconfiguration", WEBHOOK)["webhooks"]
    assert {webhook["timeoutSeconds"] for webhook in found} == {7}
    assert trusted(kubectl) == before
    assert kubectl.get("secret", f"{WEBHOOK}-ca", "--namespace=charts")["data"] == secret


async def look_after_certificate(kube: RealKube) -> None:
    access = as_user(kube, f"system:serviceaccount:charts:{WEBHOOK}")
    async with Client(access) as client:
        webhooks = (Webhooks(kinds.VALIDATING_WEBHOOKS, WEBHOOK),)
        store = ClientStore(client, Key("charts", f"{WEBHOOK}-ca"), webhooks)
        terms = Terms(names=(f"{WEBHOOK}.charts.svc",))
        await Rotation(store, Serving(), terms, windlass.now).look()


def trusted(kubectl: Kubectl) -> list[str]:
    webhooks = kubectl.get("validatingwebhookconfiguration", WEBHOOK)["webhooks"]
    return [webhook["clientConfig"].get("caBundle", "") for webhook in webhooks]


def test_a_cluster_installs_says_how_to_use_it_and_leaves_when_told(
    helm: Helm, kube: RealKube, kubectl: Kubectl
) -> None:
    release = Release(helm, kube, "slurm", "slurm", "charts-a")
    said = release.upgrade(dict(VALUES["slurm", "mariadb"] or {}))
    login = "deployment/slurm-login-slinky"
    assert f"kubectl --namespace charts-a exec {login} -- sbatch --wrap hostname" in said
    assert f"kubectl --namespace charts-a exec {login} -- sacct" in said
    assert "ssh -p 2222" in said
    assert "PersistentVolumeClaim statesave-slurm-controller-0" in said
    assert "PersistentVolumeClaim data-slurm-mariadb-0" in said
    made = kubectl("get", "slurm", "--namespace=charts-a", "--output=name").split()
    assert made == [
        "accounting.slinky.slurm.net/slurm",
        "controller.slinky.slurm.net/slurm",
        "loginset.slinky.slurm.net/slurm-login-slinky",
        "nodeset.slinky.slurm.net/slurm-worker-slinky",
        "restapi.slinky.slurm.net/slurm",
    ]
    release.uninstall()
    assert kubectl("get", "slurm", "--namespace=charts-a", "--output=name") == ""


def test_a_key_that_came_with_slinkys_chart_outlives_the_move_to_this_one(
    helm: Helm, kube: RealKube, kubectl: Kubectl
) -> None:
    """Helm deletes what a new chart does not name: here, the key of a running cluster."""
    release = Release(helm, kube, "slurm", "slurm", "charts-moved")
    release.upgrade({})
    kubectl("create", "-f", "-", text=json.dumps(slinkys_key()))
    for _ in range(2):
        release.upgrade({"clusterName": ""})
        found = kubectl.get("secret", "slurm-auth-slurm", "--namespace=charts-moved")
        assert found["data"] == slinkys_key()["data"]
        manifest = parsed(helm("get", "manifest", "slurm", *release.where))
        assert manifest.of("Secret")["slurm-auth-slurm"]["data"] == slinkys_key()["data"]
        assert manifest.one("Controller")["spec"]["slurmKeyRef"]["name"] == "slurm-auth-slurm"
    release.uninstall()
    assert kubectl.get("secret", "slurm-auth-slurm", "--namespace=charts-moved") is not None


def slinkys_key() -> Body:
    by_helm = {
        "meta.helm.sh/release-name": "slurm",
        "meta.helm.sh/release-namespace": "charts-moved",
    }
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "slurm-auth-slurm",
            "namespace": "charts-moved",
            "labels": {"app.kubernetes.io/managed-by": "Helm"},
            "annotations": by_helm,
        },
        "immutable": True,
        "data": {"slurm.key": "c2VjcmV0"},
    }
