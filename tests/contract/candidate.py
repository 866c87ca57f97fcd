"""A process that stands for election and says on standard output whenever it acts.

Arguments: server, folder of keys, namespace, identity.
"""

import asyncio
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests.contract.plain_api import PlainLeases, connected
from windlass.kube.leader import Elector, Lost, Terms


async def main(server: str, pki: str, namespace: str, identity: str) -> None:
    async with connected(server, Path(pki)) as api:
        elector = Elector(
            PlainLeases(api, namespace, "election"),
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
