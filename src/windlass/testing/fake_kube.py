"""An API server in memory: it stands where `windlass.kube.client.Client` stands.

It is trusted as far as it passes the contract tests of tests/contract/test_kube_*.py, which the
real one passes too. It reads the same Requests and raises the same errors, at once: what the
client would try again by itself is the caller's here.

It also is what stands around an API server, as far as tests need it: the garbage collector works
within the call that deletes an owner, and `tick` lets kubelets and the namespace controller do
what is due by the clock that was handed in.

It does not: default any field but a few phases and the addresses of Services; admit, mutate or
authorize; check a spec beyond `fake_rules.py`, or a custom object against its schema; convert
between the versions of a kind; merge by a strategic patch; time out Events; know more of apply's
lists than `fake_fields.py` says.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec

from windlass.kube import kinds, requests, wire
from windlass.kube.errors import KubeError, Unreadable
from windlass.kube.kinds import Kind
from windlass.kube.requests import Request
from windlass.testing import fake_deletion as deletion
from windlass.testing import fake_refusals as refusals
from windlass.testing import fake_served as served
from windlass.testing.fake_objects import Objects
from windlass.testing.fake_served import Place, Served
from windlass.testing.fake_verbs import Call, answer
from windlass.testing.fake_watch import View, Watch
from windlass.values.key import Key

T = TypeVar("T")

NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
_decoder = lru_cache(maxsize=512)(wire.decoder)


class FakeKube:
    """One API server; everybody who is given it speaks as the administrator."""

    def __init__(self, now: Callable[[], datetime], installed: Iterable[Kind] = ()) -> None:
        self._objects = Objects(now)
        self._installed = {
            (kind.group, kind.version, kind.plural): Served(kind, scale=True, custom=True)
            for kind in installed
        }
        self.asked: list[Request[Any]] = []
        """Every request so far, refused ones too."""
        self.before: Callable[[Request[Any]], KubeError | None] = lambda _: None
        """Looks at each request first; what it returns is raised instead of an answer."""
        for name in NAMESPACES:
            self._answer(_creation(name))

    # --- as a client -----------------------------------------------------------------------

    async def send(self, request: Request[T]) -> T:
        """Answer one request, or raise a KubeError."""
        await _turn()
        return self.answer(request)

    def answer(self, request: Request[T]) -> T:
        """The same, with nobody else's turn in between: for what stands around the server."""
        self._hear(request)
        return _read(request, self._answer(request))

    async def stream(self, request: Request[T]) -> AsyncGenerator[T, None]:
        """The events of a watch until its time is over."""
        await _turn()
        self._hear(request)
        place, kind = self._served(request.path)
        query = dict(request.query)
        view = View.of(kind.kind, place.key.namespace, query, request.accept)
        async with aclosing(Watch(self._objects, view, query).lines()) as lines:
            async for line in lines:
                yield _read(request, line)

    def _hear(self, request: Request[Any]) -> None:
        self.asked.append(request)
        if error := self.before(request):
            raise error

    # --- as a cluster ----------------------------------------------------------------------

    def all(self, kind: Kind) -> list[tuple[Key, dict[str, Any]]]:
        """What is stored of a kind, by key; not to be changed."""
        return self._objects.all(kind)

    def find(self, kind: Kind, key: Key) -> dict[str, Any] | None:
        return self._objects.find(kind, key)

    def time(self) -> str:
        """Now, as Kubernetes writes it."""
        return self._objects.time()

    def compact(self) -> None:
        """Forget all versions before this one: who asks for them is told 410."""
        self._objects.compact()

    def cut(self) -> None:
        """Break the connections of all watches."""
        self._objects.cut()

    def tick(self) -> None:
        """Let pods whose grace is over go, and namespaces that end be emptied."""
        deletion.tick(self._objects)

    # --- routes ----------------------------------------------------------------------------

    def _answer(self, request: Request[Any]) -> bytes:
        place, kind = self._served(request.path)
        return answer(self._objects, Call(request, place, kind))

    def _served(self, path: str) -> tuple[Place, Served]:
        place = served.place(path)
        kind = None if place is None else self._kind(place)
        if place is None or kind is None:
            raise refusals.unknown_path(path)
        return place, kind

    def _kind(self, place: Place) -> Served | None:
        name = (place.group, place.version, place.plural)
        if known := served.BUILT_IN.get(name) or self._installed.get(name):
            return known
        definition = self._objects.find(
            kinds.CUSTOM_RESOURCE_DEFINITION, Key("", f"{place.plural}.{place.group}")
        )
        return served.defined(definition, place.version) if definition else None


def _creation(namespace: str) -> Request[wire.Anything]:
    return requests.create(kinds.NAMESPACE, "", {"metadata": {"name": namespace}}, wire.Anything)


async def _turn() -> None:
    """Let others run first, as they would while a request travels."""
    await asyncio.sleep(0)


def _read(request: Request[T], raw: bytes) -> T:
    try:
        value: T = _decoder(request.expects).decode(raw)
    except msgspec.DecodeError as error:
        raise Unreadable(f"{request.method} {request.path}: {error}") from error
    return value
