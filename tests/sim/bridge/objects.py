"""What people make in a simulated cluster, as manifests."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from windlass.bridge import words
from windlass.kube.kinds import Kind

Json = dict[str, Any]

NAMESPACE: Final = "team"
GPU: Final = "nvidia.com/gpu"
DRIVER: Final = "gpu.example.com"
CLASSED: Final = words.DEVICE_CLASS + DRIVER
"""Devices that drivers publish, and that pods have by claims."""
GANG: Final = "example.com/gang"
"""Label: which gang a pod is of, for the judge."""
RANK: Final = "example.com/rank"
LEAST: Final = "example.com/least"
ZONE: Final = "example.com/zone"
MEMORY: Final = 200
"""MiB that the bridge asks for where a pod names none."""
ENDED: Final = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Amount:
    cpus: int = 1
    gpus: int = 0
    classed: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.cpus + other.cpus, self.gpus + other.gpus, self.classed + other.classed)

    def within(self, other: "Amount") -> bool:
        less = self.cpus <= other.cpus and self.gpus <= other.gpus
        return less and self.classed <= other.classed

    def __str__(self) -> str:
        gpus = f" and {self.gpus} GPUs" if self.gpus else ""
        return f"{self.cpus} CPUs{gpus}" + (f" and {self.classed} devices" if self.classed else "")


NOTHING: Final = Amount(0)


def pod_spec(amount: Amount, **more: Any) -> Json:
    asked = {"cpu": str(amount.cpus)}
    asked |= {GPU: str(amount.gpus)} if amount.gpus else {}
    asked |= {CLASSED: str(amount.classed)} if amount.classed else {}
    resources = {"requests": asked, "limits": asked}
    container = {"name": "c", "image": "x", "resources": resources}
    return {"schedulerName": words.SCHEDULER, "containers": [container], **more}


def amount_of(pod: Json) -> Amount:
    asked = pod["spec"]["containers"][0]["resources"]["requests"]
    return Amount(int(asked["cpu"]), int(asked.get(GPU, 0)), int(asked.get(CLASSED, 0)))


def total(pods: Iterable[Json]) -> Amount:
    return sum((amount_of(pod) for pod in pods), NOTHING)


def wishes(**given: object) -> Json:
    """Annotations for Slurm; `_` stands for `-`."""
    return {words.JOB_PREFIX + name.replace("_", "-"): str(text) for name, text in given.items()}


def owned(kind: Kind, owner: Json) -> list[Json]:
    meta = owner["metadata"]
    reference = {"apiVersion": kind.api_version, "kind": kind.kind, "name": meta["name"]}
    return [{**reference, "uid": meta["uid"], "controller": True, "blockOwnerDeletion": True}]


# --- how a pod is ---------------------------------------------------------------------------


def host(pod: Json) -> str:
    return str(pod["spec"].get("nodeName", ""))


def leaving(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def ended(pod: Json) -> bool:
    return pod["status"].get("phase") in ENDED


def lives(pod: Json) -> bool:
    return not leaving(pod) and not ended(pod)


def label(pod: Json, name: str) -> str:
    return str((pod["metadata"].get("labels") or {}).get(name, ""))


def kept(pod: Json) -> bool:
    return words.FINALIZER in (pod["metadata"].get("finalizers") or ())
