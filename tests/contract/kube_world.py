"""One API server under test, the real one or the fake, as the administrator sees it."""

import json
import ssl
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from tests.contract.kube_access import as_admin, make_namespace
from windlass.kube.client import Client
from windlass.kube.reflector import Talks
from windlass.mains import windlass
from windlass.testing.fake_kube import FakeKube
from windlass.testing.kube import RealKube


class KubeWorld(Protocol):
    def compact(self, version: str) -> None:
        """Make the server forget what was before a version."""

    @asynccontextmanager
    def connected(self, namespace: str) -> AsyncIterator[Talks]:
        """A client, and a namespace to work in."""


@dataclass(frozen=True, slots=True)
class RealWorld:
    kube: RealKube

    @asynccontextmanager
    async def connected(self, namespace: str) -> AsyncIterator[Talks]:
        async with Client(as_admin(self.kube)) as client:
            await make_namespace(client, namespace)
            yield client

    def compact(self, version: str) -> None:
        """Through etcd's JSON gateway."""
        pki = self.kube.authority.folder
        tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        tls.load_cert_chain(pki / "apiserver-etcd.crt", pki / "apiserver-etcd.key")
        body = json.dumps({"revision": version, "physical": True}).encode()
        url = f"{self.kube.masters.place.etcd}/v3/kv/compaction"
        with urllib.request.urlopen(urllib.request.Request(url, body), context=tls) as answer:
            assert answer.status == 200


class FakeWorld:
    def __init__(self) -> None:
        self.kube = FakeKube(windlass.now)

    @asynccontextmanager
    async def connected(self, namespace: str) -> AsyncIterator[Talks]:
        await make_namespace(self.kube, namespace)
        yield self.kube

    def compact(self, version: str) -> None:
        self.kube.compact()
