"""Pods for stories: small ones of the base image that do one thing."""

from typing import Any

IMAGE = "localhost/windlass/base:forky"


def pod(name: str, namespace: str, *command: str, **spec: Any) -> dict[str, Any]:
    """A pod that runs a command, and sleeps where none is given."""
    container = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": list(command) or ["sleep", "infinity"],
    }
    mounts = spec.pop("mounts", None)
    if mounts:
        container["volumeMounts"] = mounts
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        "spec": {
            "containers": [container],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            **spec,
        },
    }


def claim(name: str, namespace: str) -> dict[str, Any]:
    """A claim on the default storage class."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "10Mi"}},
        },
    }


def service(name: str, namespace: str, port: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"selector": {"app": name}, "ports": [{"port": port}]},
    }
