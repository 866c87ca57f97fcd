"""A process that stands for election and says on standard output whenever it acts.

Arguments: kubeconfig, namespace, identity.
"""

import asyncio
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.contract.kube_access import access_of
from windlass.kube.client import Client
from windlass.kube.leader import Elector, Lost, Terms
from windlass.kube.leases import ClientLeases
from windlass.values.key import Key


async def main(kubeconfig: str, namespace: str, identity: str) -> None:
    async with Client(access_of(Path(kubeconfig))) as client:
        elector = Elector(
            ClientLeases(client, Key(namespace, "election")),
            Terms(identity=identity, lease=3, renew=2, retry=0.25),
            time.monotonic,
            lambda: datetime.now(UTC),
        )

        async def lead() -> None:
            while True:
                if elector.leading:
                    print("act", time.monotonic(), flush=True)
                await asyncio.sleep(0.02)

        try:
            await elector.run(lead)
        except Lost:
            print("lost", time.monotonic(), flush=True)


try:
    asyncio.run(main(*sys.argv[1:]))
except KeyboardInterrupt:
    print("stopped", time.monotonic(), flush=True)
