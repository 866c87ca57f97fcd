"""The real API server takes what is rendered for login pods and workers, and their status."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.unit.operator.logins.observed import login_set
from tests.unit.operator.logins.observed import observed as observed_logins
from tests.unit.operator.workers.observed import node_set, pod
from tests.unit.operator.workers.observed import observed as observed_workers
from tests.unit.operator.workers.phases.courses import host, hosts
from windlass.api.definitions import LOGIN_SET, NODE_SET
from windlass.kube.crd import printed
from windlass.local.kubectl import Kubectl
from windlass.operator.logins.plan import plan as plan_logins
from windlass.operator.workers.plan import plan as plan_workers
from windlass.testing.kube import RealKube

NOW = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
ROOMS = Path(__file__).parent.parent / "unit" / "operator"
GOLDEN = sorted([*ROOMS.glob("logins/golden/*.yaml"), *ROOMS.glob("workers/golden/*.yaml")])


@pytest.fixture(scope="module")
def kubectl(kube: RealKube) -> Kubectl:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hpc"}}
    account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": "hpc"},
    }
    for body in (namespace, account):
        kube.kubectl.apply(json.dumps(body))
    for definition in (LOGIN_SET, NODE_SET):
        kube.kubectl.apply(printed(definition))
        crd = f"crd/{definition.name}"
        kube.kubectl("wait", "--for=condition=Established", "--timeout=30s", crd)
    return kube.kubectl


@pytest.mark.parametrize("file", GOLDEN, ids=lambda file: f"{file.parent.parent.name}/{file.name}")
def test_every_field_is_known_and_valid(kubectl: Kubectl, file: Path) -> None:
    answer = kubectl("create", "--dry-run=server", "--validate=strict", "-f", str(file))

    assert answer.count("created") == file.read_text().count("\nkind: ")


def kept_status(kubectl: Kubectl, kind: str, body: dict[str, Any]) -> dict[str, Any]:
    """The status of an object after the server has taken it."""
    named = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": kind}
    metadata = {"name": body["metadata"]["name"], "namespace": "hpc"}
    made = {**named, "metadata": metadata, "spec": body["spec"]}
    kubectl("create", "--validate=strict", "-f", "-", text=json.dumps(made))
    patch = json.dumps({"status": body["status"]}, default=str)
    words = ("-n", "hpc", "patch", f"{kind.lower()}/{metadata['name']}", "--subresource=status")
    kubectl(*words, "--type=merge", "-p", patch)
    found = kubectl.get("-n", "hpc", kind.lower(), metadata["name"])["status"]
    assert isinstance(found, dict)
    return found


def test_the_status_of_a_login_set_is_kept_whole(kubectl: Kubectl) -> None:
    wanted = login_set(replicas=2)
    status = plan_logins(observed_logins(wanted), NOW).status

    body = {**msgspec.to_builtins(wanted), "status": status}
    assert kept_status(kubectl, "LoginSet", body) == status


def test_the_status_of_a_node_set_is_kept_whole(kubectl: Kubectl) -> None:
    wanted = node_set(replicas=2, pinToNode=True)
    seen = observed_workers(wanted, pods=(pod(0),), hosts=hosts(host("n0")))
    status = plan_workers(seen, NOW).status

    body = {**msgspec.to_builtins(wanted), "status": status}
    assert kept_status(kubectl, "NodeSet", body) == status
