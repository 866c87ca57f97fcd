"""The custom resources of a Slurm that runs elsewhere, and what they refer to."""

import base64
from collections.abc import Iterator
from typing import Any, Final

from windlass.testing.slurm import RealSlurm

CLUSTER: Final = "slurm"
WORKERS: Final = "w"
GROUP: Final = "slinky.slurm.net/v1beta1"
LIMITS: Final = {"cpu": "4", "memory": "8Gi"}


def of_slurm(namespace: str, slurm: RealSlurm, port: int) -> Iterator[dict[str, Any]]:
    """A Controller whose slurmrestd is asked at this port of the machine."""
    keys = slurm.folder / "etc"
    data = {
        "slurm.key": base64.b64encode((keys / "slurm.key").read_bytes()).decode(),
        "jwt.key": base64.b64encode(slurm.jwt_key.read_bytes()).decode(),
    }
    yield {"apiVersion": "v1", "kind": "Secret", **_named("keys", namespace), "data": data}
    outside = {
        "external": True,
        "externalConfig": {"host": "127.0.0.1", "port": slurm.slurmctld_port},
        "slurmKeyRef": {"name": "keys", "key": "slurm.key"},
        "jwtKeyRef": {"name": "keys", "key": "jwt.key"},
    }
    yield _resource("Controller", CLUSTER, namespace, outside)
    rest = {"controllerRef": {"name": CLUSTER}, "service": {"port": port}}
    yield _resource("RestApi", CLUSTER, namespace, rest)


def workers(namespace: str, replicas: int, *, alone: bool = True) -> dict[str, Any]:
    """A NodeSet; `alone`: no two workers share a node."""
    spec = {
        "controllerRef": {"name": CLUSTER},
        "replicas": replicas,
        "oversubscribeNode": not alone,
        "slurmd": {"resources": {"limits": LIMITS}},
        # Fake nodes are tainted, and nobody takes away the taint of a new node here.
        "template": {"spec": {"tolerations": [{"operator": "Exists"}]}},
    }
    return _resource("NodeSet", WORKERS, namespace, spec)


def namespace(name: str) -> Iterator[dict[str, Any]]:
    """With the service account that a controller manager would make."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", **_named("default", name)}


def like(pod: dict[str, Any], name: str, namespace: str) -> dict[str, Any]:
    """A pod of the same weight that belongs to nobody."""
    spec = {key: value for key, value in pod["spec"].items() if key not in ("nodeName", "priority")}
    labels = pod["metadata"]["labels"]
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    metadata["annotations"] = pod["metadata"].get("annotations") or {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**spec, "hostname": name},
    }


def _named(name: str, namespace: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}}


def _resource(kind: str, name: str, namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": GROUP, "kind": kind, **_named(name, namespace), "spec": spec}
