"""Custom resources as users write them."""

from typing import Any

import msgspec

from windlass.api.accounting import Accounting
from windlass.api.controller import Controller
from windlass.api.node_set import NodeSet
from windlass.kube.meta import Meta
from windlass.kube.objects import ConfigMap


def controller(name: str = "slurm", **spec: Any) -> Controller:
    return msgspec.convert({"metadata": _metadata(name), "spec": spec}, Controller)


def accounting(name: str = "slurm", **spec: Any) -> Accounting:
    return msgspec.convert({"metadata": _metadata(name), "spec": spec}, Accounting)


def node_set(name: str, **spec: Any) -> NodeSet:
    whole = {"controllerRef": {"name": "slurm"}, **spec}
    return msgspec.convert({"metadata": _metadata(name), "spec": whole}, NodeSet)


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=msgspec.convert(_metadata(name), Meta), data=data)


def _metadata(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": "lab",
        "uid": f"uid-of-{name}",
        "generation": 3,
        "resourceVersion": "7",
    }
