"""Devices of a class, from a driver that kubelets really ask: each pod gets those of its job."""

import json
import re
from typing import Any

import pytest

from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged, job_of, node_of
from windlass.testing.device_driver import CLASS

POD = """
apiVersion: v1
kind: Pod
metadata:
  name: NAME
  annotations:
    slurmjob.slinky.slurm.net/timelimit: "10"
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 2
  nodeSelector: {kubernetes.io/hostname: NODE}
  containers:
    - name: main
      image: IMAGE
      command: [sh, -c, "env; until [ -e /tmp/enough ]; do sleep 0.2; done"]
      resources:
        requests: {cpu: 50m, memory: 16Mi}
        limits: {deviceclass.resource.kubernetes.io/gpu.example.com: 1}
"""
GIVEN = re.compile(r"\(IDX:(\d+)\)")


@pytest.fixture
def node(bridged: Bridged, gpus: None) -> str:
    """All pods of a story go to one node, so that no two may have the same device."""
    nodes = bridged.bridge.kubectl.get("nodes")["items"]
    return str(min(each["metadata"]["name"] for each in nodes))


def start(bridged: Bridged, name: str, node: str) -> None:
    bridged.apply(POD.replace("NAME", name).replace("NODE", node))


def running(bridged: Bridged, name: str) -> Any:
    def so() -> Any:
        pod = bridged.get("pod", name)
        return pod if pod["status"]["phase"] == "Running" else None

    return wait_for(so, f"pod {name} runs", within=90, every=0.3)


def given(bridged: Bridged, pod: Any) -> str:
    """The device that Slurm says the pod's job has."""
    number = job_of(pod)
    assert bridged.queue()[number]["tres_per_node"] == f"gres/gpu:{CLASS}:1"
    (index,) = GIVEN.findall(bridged.bridge.slurm.run("scontrol", "show", "job", "-d", number))
    return f"gpu-{index}"


def claim(bridged: Bridged, pod: Any) -> Any:
    name = pod["status"]["extendedResourceClaimStatus"]["resourceClaimName"]
    return bridged.get("resourceclaim", name)


def environment(bridged: Bridged, pod: Any) -> dict[str, str]:
    """What the container has, but for what is not of the driver."""
    where = ("-n", bridged.bridge.namespace)
    lines = bridged.bridge.kubectl("logs", pod["metadata"]["name"], *where).splitlines()
    every = dict(line.split("=", 1) for line in lines if "=" in line)
    return {name: value for name, value in every.items() if name.startswith("GPU_DEVICE_")}


def finish(bridged: Bridged, name: str) -> None:
    where = ("-n", bridged.bridge.namespace)
    bridged.bridge.kubectl("exec", name, *where, "--", "touch", "/tmp/enough")


def claims(bridged: Bridged) -> list[Any]:
    found = bridged.bridge.kubectl.get("resourceclaims", "-n", bridged.bridge.namespace)
    return list(found["items"]) if found else []


def configure_class(bridged: Bridged) -> None:
    sharing = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}}
    said = {"apiVersion": "gpu.resource.example.com/v1alpha1", "kind": "GpuConfig"}
    opaque = {"driver": CLASS, "parameters": {**said, "sharing": sharing}}
    change = json.dumps({"spec": {"config": [{"opaque": opaque}]}})
    bridged.bridge.kubectl("patch", "deviceclass", CLASS, "--type=merge", "-p", change)


def test_each_pod_has_the_device_that_slurm_gave_its_job(bridged: Bridged, node: str) -> None:
    seen = {}
    for name in ("first", "second"):
        start(bridged, name, node)
        pod = running(bridged, name)
        assert node_of(pod) == node
        device, found = given(bridged, pod), claim(bridged, pod)
        (result,) = found["status"]["allocation"]["devices"]["results"]
        assert (result["driver"], result["pool"], result["device"]) == (CLASS, node, device)

        number, uid = device.removeprefix("gpu-"), found["metadata"]["uid"]
        has = environment(bridged, pod)
        assert has[f"GPU_DEVICE_{number}"] == device
        assert has[f"GPU_DEVICE_GPU_{number}_RESOURCE_CLAIM"] == uid
        assert [value for value in has.values() if value.startswith("gpu-")] == [device]
        seen[device] = name
    assert sorted(seen) == ["gpu-0", "gpu-1"]

    # A third finds none left, and has the device of the one that ends, as its class says by then.
    configure_class(bridged)
    start(bridged, "third", node)
    assert bridged.wait_reason("third", "SlurmResources")
    finish(bridged, seen["gpu-1"])
    third = running(bridged, "third")
    assert given(bridged, third) == "gpu-1"
    has = environment(bridged, third)
    assert has["GPU_DEVICE_1"] == "gpu-1"
    assert has["GPU_DEVICE_1_TIMESLICE_INTERVAL"] == "Long"

    finish(bridged, seen["gpu-0"])
    bridged.delete("pod", "third")
    wait_for(lambda: not claims(bridged), "no claim is left", within=60, every=0.3)
    wait_for(lambda: not bridged.queue(), "no job is left", within=30)
