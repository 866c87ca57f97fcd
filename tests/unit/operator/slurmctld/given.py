"""Custom resources as users write them, and what the operator sees around them."""

from dataclasses import replace
from typing import Any

import msgspec

from windlass.api.accounting import Accounting
from windlass.api.controller import Controller, ControllerStatus
from windlass.api.node_set import NodeSet
from windlass.kube.meta import Meta
from windlass.kube.objects import ConfigMap, Pod
from windlass.operator.slurmctld.configuration import Configuration, configuration
from windlass.operator.slurmctld.observe import FreshKeys, Observed, Setting
from windlass.operator.slurmctld.report import Report
from windlass.operator.slurmctld.stateful_set import stateful_set
from windlass.values.reason import Reason


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


def with_status(one: Controller, **status: Any) -> Controller:
    return msgspec.structs.replace(one, status=msgspec.convert(status, ControllerStatus))


# --- what is seen around it ---------------------------------------------------------------------

SETTING = Setting(
    programs={"keeper.py": "# keeps\n", "logs.py": "# logs\n", "reload.py": "# reloads\n"}
)
FRESH = FreshKeys(b"s" * 8, b"j" * 8)
SLURM_SECRET = {"data": {"slurm.key": "a2V5"}}
JWT_SECRET = {"data": {"jwt.key": "and0"}}
SLURM_SERVICE = {"metadata": {"name": "slurm-controller"}, "spec": {"clusterIP": "10.96.3.4"}}
REVISION = "slurm-controller-1"
RUNNING_SET = {
    "metadata": {"generation": 2},
    "status": {"observedGeneration": 2, "updateRevision": REVISION},
}


def observed(one: Controller | None = None, **more: Any) -> Observed:
    """A Controller whose keys and Service are there, before anything else is."""
    fields: dict[str, Any] = {
        "controller": one or controller(),
        "setting": SETTING,
        "fresh": FRESH,
        "slurm_secret": SLURM_SECRET,
        "jwt_secret": JWT_SECRET,
        "service": SLURM_SERVICE,
    }
    return Observed(**{**fields, **more})


def running(one: Controller | None = None, **more: Any) -> Observed:
    """The same once slurmctld serves; without a report of its own it has what is wanted."""
    seen = observed(one, **{"pods": (pod(),), **more})
    if "stateful_set" not in more:
        seen = replace(seen, stateful_set=live_set(seen))
    made = configuration(seen)
    if "report" in more or isinstance(made, Reason):
        return seen
    return replace(seen, report=report(made.fingerprint))


def live_set(seen: Observed) -> dict[str, Any]:
    """The StatefulSet as this one would have it."""
    return {**RUNNING_SET, "spec": stateful_set(seen, Configuration({}))["spec"]}


def report(fingerprint: str, **more: Any) -> Report:
    fields = {"candidate": fingerprint, "inForce": fingerprint, "ok": True, "slurm": "26.05.5"}
    return msgspec.convert({**fields, **more}, Report)


def pod(
    name: str = "slurm-controller-0",
    *,
    ready: bool = True,
    deleted: bool = False,
    revision: str = REVISION,
    annotations: dict[str, str] | None = None,
    **status: Any,
) -> Pod:
    metadata = {
        **_metadata(name),
        "labels": {"controller-revision-hash": revision},
        "annotations": annotations or {},
        "deletionTimestamp": "2026-01-01T00:00:00Z" if deleted else None,
    }
    fields = {
        "phase": "Running",
        "podIP": "10.0.0.7",
        "conditions": [{"type": "Ready", "status": str(ready)}],
        **status,
    }
    return msgspec.convert({"metadata": metadata, "status": fields}, Pod)
