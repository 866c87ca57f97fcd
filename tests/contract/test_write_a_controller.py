"""The example of docs/howto/write-a-controller.md, run as it stands, with the rights it names."""

import asyncio
import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.contract.kube_access import as_admin, as_user, make_namespace
from windlass.kube import kinds, requests
from windlass.kube.client import Client
from windlass.kube.errors import NotFound
from windlass.kube.manager import Settings
from windlass.kube.objects import ConfigMap, Lease
from windlass.kube.wire import Anything
from windlass.testing.kube import RealKube
from windlass.values.key import Key

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "write-a-controller.md"
NS = "how-to"
COPY = Key(NS, "greeting-copy")


def example() -> dict[str, Any]:
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    module: dict[str, Any] = {"__name__": "example"}
    exec(compile(code, str(PAGE), "exec"), module)
    return module


async def shows(client: Client, data: dict[str, str]) -> None:
    """Wait until the copy holds this."""
    async with asyncio.timeout(20):
        while True:
            try:
                found = await client.send(requests.get(kinds.CONFIG_MAP, COPY, ConfigMap))
                if found.data == data:
                    return
            except NotFound:
                pass
            await asyncio.sleep(0.02)


def rule(group: str, plural: str, *verbs: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [plural], "verbs": verbs}


async def give_rights(client: Client) -> None:
    """Those that the page names, and no others."""
    group = "rbac.authorization.k8s.io"
    rules = [
        rule("", "configmaps", "list", "watch", "patch", "create"),
        rule("coordination.k8s.io", "leases", "get", "create", "update"),
    ]
    role = {"metadata": {"name": NS}, "rules": rules}
    binding = {
        "metadata": {"name": NS},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": NS},
        "subjects": [{"apiGroup": group, "kind": "User", "name": NS}],
    }
    await client.send(requests.create(kinds.CLUSTER_ROLE, "", role, Anything))
    await client.send(requests.create(kinds.CLUSTER_ROLE_BINDING, "", binding, Anything))


def patch(key: Key, data: dict[str, str]) -> requests.Request[Anything]:
    return requests.merge_patch(kinds.CONFIG_MAP, key, {"data": data}, Anything)


def test_the_page_shows_a_controller_that_works(kube: RealKube) -> None:
    run: Callable[..., Any] = example()["main"]
    access = as_user(kube, NS)

    async def main() -> None:
        async with Client(as_admin(kube)) as client, asyncio.TaskGroup() as tasks:
            await make_namespace(client, NS)
            await give_rights(client)
            running = tasks.create_task(
                run(access, "pod-0", Settings(host="127.0.0.1", port=0, grace=10))
            )
            metadata = {"name": "greeting", "labels": {"example.dev/copied": "yes"}}
            source = {"metadata": metadata, "data": {"a": "1"}}
            await client.send(requests.create(kinds.CONFIG_MAP, NS, source, Anything))
            await shows(client, {"a": "1"})
            await client.send(patch(Key(NS, "greeting"), {"a": "2"}))
            await shows(client, {"a": "2"})
            await client.send(patch(COPY, {"a": "spoilt"}))
            await shows(client, {"a": "2"})
            await client.send(requests.delete(kinds.CONFIG_MAP, COPY))
            await shows(client, {"a": "2"})
            os.kill(os.getpid(), signal.SIGTERM)
            await running
            key = Key(access.namespace, "copier")
            lease = await client.send(requests.get(kinds.LEASE, key, Lease))
            assert not lease.spec.holder_identity

    asyncio.run(main())
