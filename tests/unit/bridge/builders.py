"""Pods and workloads for these tests, with no more said of them than a test needs."""

from typing import Any

import msgspec

from windlass.bridge.workloads import objects
from windlass.bridge.workloads.surroundings import Around, Owner, Surroundings
from windlass.kube.meta import PartialObject
from windlass.kube.objects import Pod

SLURM = "slurmjob.slinky.slurm.net/"


def slurm(**wishes: str) -> dict[str, str]:
    """Job annotations; `_` stands for `-`."""
    return {SLURM + name.replace("_", "-"): text for name, text in wishes.items()}


def pod(name: str = "p", **given: Any) -> Pod:
    """`cpus` is a request; `labels`, `annotations`, `spec` and `phase` are as in a manifest."""
    meta = {
        "name": name,
        "namespace": given.get("namespace", "team"),
        "uid": given.get("uid", f"uid-{name}"),
        "labels": given.get("labels"),
        "annotations": given.get("annotations"),
    }
    if given.get("leaving"):
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec = {**pod_spec(given.get("cpus", 1)), **given.get("spec", {})}
    body = {"metadata": meta, "spec": spec, "status": {"phase": given.get("phase", "Pending")}}
    return msgspec.convert(body, Pod)


def pod_spec(cpus: int = 1) -> dict[str, Any]:
    return {"containers": [{"resources": {"requests": {"cpu": str(cpus)}}}]}


def indexed(name: str, index: int, **given: Any) -> Pod:
    labels = {"batch.kubernetes.io/job-completion-index": str(index), **given.pop("labels", {})}
    return pod(f"{name}-{index}", labels=labels, **given)


def _meta(name: str, given: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": "team",
        "uid": f"uid-{name}",
        "annotations": given.get("annotations"),
    }


def job(name: str = "train", **given: Any) -> objects.Job:
    spec = {k: v for k, v in given.items() if k not in ("annotations", "succeeded")}
    status = {"succeeded": given.get("succeeded", 0)}
    body = {"metadata": _meta(name, given), "spec": spec, "status": status}
    return msgspec.convert(body, objects.Job)


def gang_job(size: int, **given: Any) -> objects.Job:
    return job(parallelism=size, completions=size, completionMode="Indexed", **given)


def job_set(*replicated: dict[str, Any], **given: Any) -> objects.JobSet:
    spec = {"replicatedJobs": list(replicated), **given.get("spec", {})}
    body = {"metadata": _meta("set", given), "spec": spec}
    return msgspec.convert(body, objects.JobSet)


def replicated(name: str, size: int, replicas: int = 1, **given: Any) -> dict[str, Any]:
    spec = {
        "parallelism": size,
        "completions": size,
        "completionMode": "Indexed",
        "template": {"spec": pod_spec(given.pop("cpus", 1))},
        **given.pop("spec", {}),
    }
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **given}


def leader_worker_set(size: int, **given: Any) -> objects.LeaderWorkerSet:
    template = {"size": size, "workerTemplate": {"spec": pod_spec(given.get("cpus", 1))}}
    spec = {"leaderWorkerTemplate": template, **given.get("spec", {})}
    body = {"metadata": _meta("lws", given), "spec": spec}
    return msgspec.convert(body, objects.LeaderWorkerSet)


def pod_group(least: int, **given: Any) -> objects.PodGroup:
    body = {"metadata": _meta("group", given), "spec": {"minMember": least}}
    return msgspec.convert(body, objects.PodGroup)


def core_pod_group(policy: dict[str, Any], **given: Any) -> objects.CorePodGroup:
    spec = {"schedulingPolicy": policy, **given.get("spec", {})}
    body = {"metadata": _meta("group", given), "spec": spec}
    return msgspec.convert(body, objects.CorePodGroup)


def other(kind: str, name: str = "it", **given: Any) -> Owner:
    """An owner of a kind that is not understood."""
    return Owner(kind, msgspec.convert({"metadata": _meta(name, given)}, PartialObject))


def alike(around: Surroundings) -> Around:
    """The same around every pod."""
    return lambda _: around
