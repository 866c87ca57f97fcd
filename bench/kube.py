"""What `windlass.kube` costs beside the floor for the same work: `python -m bench.kube`.

5,000 pods of about 9 KB are served from memory by a second process on loopback, so that what is
measured is ours: list, cache and a pass over each against decoding the same bytes into the same
structs; watch events a second of one core; a request against the same request by bare aiohttp.
CPU times are of this process; the best of a few runs counts, since the machine is shared.
"""

import asyncio
import gc
import os
import resource
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import aiohttp
import msgspec
from aiohttp import web

from windlass.kube import kinds, requests, wire
from windlass.kube.access import Access
from windlass.kube.client import Client
from windlass.kube.credentials import FixedToken
from windlass.kube.memory import keep_buffers
from windlass.kube.objects import ConfigMap, Pod
from windlass.kube.reflector import Mirror
from windlass.kube.requests import Selection
from windlass.kube.watch import Watched
from windlass.kube.wire import Page
from windlass.values.key import Key

PODS, PAGE, EVENTS, REQUESTS, RUNS = 5000, 500, 20_000, 1500, 3


# --- the server ----------------------------------------------------------------------------


def pod(number: int, version: int) -> bytes:
    """A slurmd pod as an API server shows it, managedFields and all."""
    name = f"slurm-worker-{number:05d}"
    labels = {f"slinky.slurm.net/label-{i}": f"value-{i}" for i in range(8)}
    fields: dict[str, Any] = {
        f"f:field-{i}": {f"f:part-{j}": {} for j in range(15)} for i in range(24)
    }
    container = {
        "name": "slurmd",
        "image": "slurmd:26.05",
        "resources": {"limits": {"cpu": "8", "memory": "32Gi"}, "requests": {"cpu": "8"}},
        "ports": [{"containerPort": 6818, "protocol": "TCP", "name": "slurmd"}],
        "env": [{"name": f"VARIABLE_{i}", "value": f"value-{i}"} for i in range(10)],
        "volumeMounts": [{"name": f"v-{i}", "mountPath": f"/mnt/{i}"} for i in range(8)],
    }
    return msgspec.json.encode(
        {
            "metadata": {
                "name": name,
                "namespace": "slurm",
                "uid": f"8b0c7f1e-0000-4000-8000-{number:012d}",
                "resourceVersion": str(version),
                "creationTimestamp": "2026-01-02T03:04:05Z",
                "labels": {**labels, "statefulset.kubernetes.io/pod-name": name},
                "annotations": {f"slinky.slurm.net/note-{i}": "x" * 40 for i in range(4)},
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "NodeSet", "name": "w", "controller": True}
                ],
                "managedFields": [
                    {"manager": "windlass", "operation": "Apply", "fieldsV1": fields}
                ],
            },
            "spec": {
                "nodeName": f"node-{number % 500}",
                "hostname": name,
                "schedulerName": "default-scheduler",
                "tolerations": [{"key": f"k-{i}", "operator": "Exists"} for i in range(4)],
                "containers": [container],
                "volumes": [{"name": f"v-{i}", "secret": {"secretName": "s"}} for i in range(8)],
            },
            "status": {
                "phase": "Running",
                "podIP": f"10.1.{number // 250}.{number % 250}",
                "conditions": [
                    {"type": t, "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}
                    for t in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
                ],
                "containerStatuses": [
                    {"name": "slurmd", "ready": True, "restartCount": 0, "imageID": "sha256:0"}
                ],
            },
        }
    )


def pages() -> list[bytes]:
    made = []
    for start in range(0, PODS, PAGE):
        items = b",".join(pod(number, number + 1) for number in range(start, start + PAGE))
        more = str(start + PAGE) if start + PAGE < PODS else ""
        metadata = msgspec.json.encode({"resourceVersion": "9", "continue": more})
        made.append(b'{"metadata":%s,"items":[%s]}' % (metadata, items))
    return made


def watch_lines() -> list[bytes]:
    """Two versions of 500 pods in turn, so that each is a change however often they are sent."""
    lines = [
        b'{"type":"MODIFIED","object":%s}\n' % pod(number % 500, 10_000 + number)
        for number in range(1000)
    ]
    return [b"".join(lines[start : start + 50]) for start in range(0, len(lines), 50)]


class Canned:
    """An API server that has its answers ready."""

    def __init__(self) -> None:
        self._pages, self._changes = pages(), watch_lines()
        self._small = msgspec.json.encode({"metadata": {"name": "a"}, "data": {"k": "v"}})

    async def pods(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("watch") == "true":
            return await self._watch(request)
        start = int(request.query.get("continue") or 0)
        return web.Response(body=self._pages[start // PAGE], content_type="application/json")

    async def busy_pods(self, request: web.Request) -> web.StreamResponse:
        if request.query.get("watch") == "true":
            return await self._watch(request, self._changes * (EVENTS // 1000))
        return web.json_response({"metadata": {"resourceVersion": "1"}, "items": []})

    async def config_map(self, _: web.Request) -> web.Response:
        return web.Response(body=self._small, content_type="application/json")

    async def _watch(self, request: web.Request, lines: Sequence[bytes] = ()) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for chunk in lines:
            await response.write(chunk)
        await asyncio.Event().wait()
        return response

    async def run(self) -> None:
        application = web.Application()
        application.router.add_get("/api/v1/pods", self.pods)
        application.router.add_get("/api/v1/namespaces/busy/pods", self.busy_pods)
        application.router.add_get("/api/v1/namespaces/b/configmaps/a", self.config_map)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(runner.addresses[0][1], flush=True)
        await asyncio.Event().wait()


# --- the measurements ----------------------------------------------------------------------


def nodes(item: Pod) -> list[str]:
    return [item.spec.node_name]


PODS_WATCHED = Watched(kinds.POD, Pod, indexes={"node": nodes})
BUSY = Watched(kinds.POD, Pod, Selection("busy"), {"node": nodes})


async def cpu_of(work: Callable[[], Awaitable[object]]) -> float:
    """The CPU seconds of this process for a piece of work."""
    gc.collect()
    started = time.process_time()
    await work()
    return time.process_time() - started


async def best(work: Callable[[], Awaitable[object]], runs: int = RUNS) -> float:
    return min([await cpu_of(work) for _ in range(runs)])


async def filled(client: Client) -> int:
    """List into a store, then look at each object once."""
    mirror = Mirror(client, (PODS_WATCHED,))
    task = asyncio.create_task(mirror.run())
    await mirror.synced()
    seen = sum(1 for item in mirror.store(PODS_WATCHED) if item.status.phase == "Running")
    task.cancel()
    await asyncio.wait([task])
    assert seen == PODS
    return seen


async def fetched(server: str) -> list[bytes]:
    bodies: list[bytes] = []
    token = ""
    async with aiohttp.ClientSession() as session:
        while not bodies or token:
            url = f"{server}/api/v1/pods?limit={PAGE}&continue={token}"
            async with session.get(url) as answer:
                bodies.append(await answer.read())
            token = msgspec.json.decode(bodies[-1], type=Page[wire.Anything]).metadata.continue_
    return bodies


async def decoded(bodies: list[bytes]) -> list[Page[Pod]]:
    decode = wire.decoder(Page[Pod]).decode
    return [decode(body) for body in bodies]


async def followed(client: Client) -> None:
    """Events from the socket into a store, its indexes and a subscriber."""
    count, done = 0, asyncio.Event()

    def heard(old: Pod | None, new: Pod | None) -> None:
        nonlocal count
        count += new is not old
        if count == EVENTS:
            done.set()

    mirror = Mirror(client, (BUSY,))
    mirror.store(BUSY).subscribe(heard)
    task = asyncio.create_task(mirror.run())
    await done.wait()
    task.cancel()
    await asyncio.wait([task])


async def asked(client: Client) -> None:
    request = requests.get(kinds.CONFIG_MAP, Key("b", "a"), ConfigMap)
    for _ in range(REQUESTS):
        await client.send(request)


async def asked_barely(server: str) -> None:
    decode = msgspec.json.Decoder(ConfigMap).decode
    url = f"{server}/api/v1/namespaces/b/configmaps/a"
    async with aiohttp.ClientSession() as session:
        for _ in range(REQUESTS):
            async with session.get(url) as answer:
                decode(await answer.read())


def show(what: str, value: str, limit: str, floor: str = "") -> None:
    print(f"{what:<44}{value:>22}  limit {limit:<16}{floor}", flush=True)


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def measure(server: str) -> None:
    keep_buffers()
    async with Client(Access(server, FixedToken())) as client:
        listing = await best(lambda: filled(client))
        show("5,000 pods listed and cached: peak memory", f"{peak_megabytes():.0f} MB", "100 MB")
        streaming = await best(lambda: followed(client))
        rate = EVENTS / streaming
        asking = await best(lambda: asked(client))
    bodies = await fetched(server)
    decoding = await best(lambda: decoded(bodies))
    bare = await best(lambda: asked_barely(server))
    megabytes = sum(map(len, bodies)) / 1e6
    work = f"floor {decoding * 1e3:.0f} ms to decode {megabytes:.0f} MB"
    show(
        "list, cache, one pass: CPU to decoding",
        f"{listing * 1e3:.0f} ms, ratio {listing / decoding:.2f}",
        "1.5",
        work,
    )
    show("watch events a second of one core", f"{rate:,.0f}", "10,000 at least")
    show(
        "a request beside bare aiohttp",
        f"{asking / REQUESTS * 1e6:.0f} us, ratio {asking / bare:.2f}",
        "1.3",
        f"floor {bare / REQUESTS * 1e6:.0f} us",
    )


def main() -> None:
    if sys.argv[1:] == ["serve"]:
        asyncio.run(Canned().run())
        return
    argv = [sys.executable, "-m", "bench.kube", "serve"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, env=os.environ) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            asyncio.run(measure(f"http://127.0.0.1:{port}"))
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
