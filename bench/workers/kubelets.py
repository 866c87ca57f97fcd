"""What a scheduler and kubelets would do, as fast as the API server takes it.

kube-scheduler and kwok take minutes for every thousand pods that keep apart; here each pod gets a
node of its own by one call, is ready by the next, and goes when it is told to.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec

from bench.workers.bare import CONNECTIONS, Bare, Call
from windlass.kube.objects import Pod
from windlass.kube.requests import MERGE_PATCH, Deletion
from windlass.kube.store import Store
from windlass.testing.kwok import fake_node

NOW: Final = "2026-01-02T03:04:05Z"
NODE_CONDITIONS: Final = {
    "Ready": ("True", "KubeletReady", "kubelet is posting ready status"),
    "MemoryPressure": ("False", "KubeletHasSufficientMemory", "kubelet has sufficient memory"),
    "DiskPressure": ("False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    "PIDPressure": ("False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    "NetworkUnavailable": ("False", "RouteCreated", "a route was created"),
}
POD_CONDITIONS: Final = ("PodScheduled", "Initialized", "ContainersReady", "Ready")


def ready_node(name: str) -> dict[str, Any]:
    """A fake node as kubelet would tell of it."""
    node: dict[str, Any] = fake_node(name)
    moments = {"lastHeartbeatTime": NOW, "lastTransitionTime": NOW}
    conditions = [
        {"type": type_, "status": status, "reason": reason, "message": message, **moments}
        for type_, (status, reason, message) in NODE_CONDITIONS.items()
    ]
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}]
    return {**node, "status": {**node["status"], "conditions": conditions, "addresses": addresses}}


class Kubelets:
    """One for all nodes."""

    def __init__(self, nodes: list[str], sending: Bare) -> None:
        self._free = nodes
        self._sending = sending
        self._calls: asyncio.Queue[Call] = asyncio.Queue()
        self._started = 0

    def hear(self, old: Pod | None, new: Pod | None) -> None:
        """Do once what a pod newly needs."""
        if new is None:
            if old is not None and old.spec.node_name:
                self._free.append(old.spec.node_name)
        elif old is None:
            self._calls.put_nowait(_bound(new, self._free.pop()))
        elif new.spec.node_name != old.spec.node_name:
            self._started += 1
            self._calls.put_nowait(_started(new, self._started))
        elif _going(new) and not _going(old):
            self._calls.put_nowait(_ended(new))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(CONNECTIONS):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            await self._sending.one(await self._calls.get())


@asynccontextmanager
async def kubelets(nodes: list[str], sending: Bare, pods: Store[Pod]) -> AsyncIterator[None]:
    all_of_them = Kubelets(nodes, sending)
    pods.subscribe(all_of_them.hear)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(all_of_them.run())
        yield
        running.cancel()


def _going(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def _path(pod: Pod) -> str:
    return f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}"


def _bound(pod: Pod, node: str) -> Call:
    named = {"name": pod.metadata.name, "namespace": pod.metadata.namespace}
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": named, "target": target}
    return Call("POST", f"{_path(pod)}/binding", msgspec.json.encode(body))


def _started(pod: Pod, number: int) -> Call:
    address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
    conditions = [
        {"type": type_, "status": "True", "lastTransitionTime": NOW} for type_ in POD_CONDITIONS
    ]
    status = {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": "10.0.0.1",
        "hostIPs": [{"ip": "10.0.0.1"}],
        "startTime": NOW,
        "conditions": conditions,
        "initContainerStatuses": [_running(each.name) for each in pod.spec.init_containers or ()],
        "containerStatuses": [_running(each.name) for each in pod.spec.containers or ()],
    }
    return Call(
        "PATCH", f"{_path(pod)}/status", msgspec.json.encode({"status": status}), MERGE_PATCH
    )


def _running(name: str) -> dict[str, Any]:
    state = {"running": {"startedAt": NOW}}
    image = {"image": f"{name}:1", "imageID": f"sha256:{'0' * 64}", "restartCount": 0}
    return {"name": name, "ready": True, "started": True, "state": state, **image}


def _ended(pod: Pod) -> Call:
    how = Deletion(uid=pod.metadata.uid, grace_seconds=0)
    return Call("DELETE", _path(pod), how.body)
