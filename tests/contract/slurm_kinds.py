"""Our kinds on a real API server, and manifests of them."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from windlass.api.definitions import GROUP, KINDS
from windlass.kube.crd import printed
from windlass.local.errors import CommandFailed
from windlass.local.kubectl import Kubectl
from windlass.local.waiting import wait_for
from windlass.testing.kube import RealKube

KEY = {"name": "keys", "key": "key"}
STORAGE = {"host": "mariadb", "passwordKeyRef": {"name": "db", "key": "password"}}
# The least that each kind needs.
LEAST: dict[str, dict[str, Any]] = {
    "Controller": {},
    "Accounting": {"storageConfig": STORAGE},
    "RestApi": {"controllerRef": {"name": "slurm"}},
    "LoginSet": {"controllerRef": {"name": "slurm"}},
    "NodeSet": {"controllerRef": {"name": "slurm"}},
    "Token": {"username": "alice", "jwtKeyRef": KEY},
}
SLINKY = {
    manifest["kind"]: manifest
    for file in sorted((Path(__file__).parent / "slinky").glob("*.yaml"))
    for manifest in [yaml.safe_load(file.read_text())]
}


def install(kube: RealKube) -> Kubectl:
    """Have the server know our kinds, and serve them."""
    kubectl = kube.kubectl
    for kind in KINDS:
        kubectl("apply", "--server-side", "-f", "-", text=printed(kind))
        wait_for(partial(_served, kubectl, kind.plural), f"{kind.plural} are served", within=30)
    return kubectl


def _served(kubectl: Kubectl, plural: str) -> bool:
    try:
        kubectl("get", f"--raw=/apis/{GROUP}/v1beta1/{plural}")
    except CommandFailed:
        return False
    return True


def manifest(kind: str, name: str, namespace: str, **spec: Any) -> dict[str, Any]:
    """An object with the least that it needs, and this."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**LEAST[kind], **spec},
    }


def create(kubectl: Kubectl, body: dict[str, Any]) -> Any:
    """As the server has it then; what it does not know is an error."""
    words = ("create", "--validate=strict", "-o", "json", "-f", "-")
    return json.loads(kubectl(*words, text=json.dumps(body)))
