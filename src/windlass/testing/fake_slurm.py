"""A Slurm without daemons: a Transport that answers as slurmrestd does, from plain data.

It is trusted as far as it passes tests/contract/test_slurm_calls.py, which the real one passes too.
Jobs start when they are submitted and the nodes have room, or when `cluster.look` goes through the
queue, and run until they are cancelled or `cluster.finish` ends them; there is no time limit. With
`accounting` it answers slurmdbd's calls too.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import json

from windlass.slurm import wire
from windlass.slurm.call import Response
from windlass.slurm.client import TOKEN_HEADER
from windlass.slurm.errors import Errno, Unavailable
from windlass.slurm.transport import Message
from windlass.slurm.versions import Version
from windlass.testing import fake_slurmdb
from windlass.testing.fake_accounting import FakeAccounting
from windlass.testing.fake_calls import ROUTES, Asked, ping
from windlass.testing.fake_cluster import FakeCluster, Rejected, rejection, said

S = TypeVar("S")

NO_SUCH_CALL: Final = Response(404, is_json=False, body=b"Unable to find requested URL endpoint.")


@dataclass(slots=True)
class FakeSlurm:
    """One slurmrestd. Set `down` and slurmctld is away, `cut` and slurmrestd is."""

    cluster: FakeCluster
    versions: frozenset[Version] = frozenset(Version)
    bad_tokens: set[str] = field(default_factory=set)
    plain_users: set[str] = field(default_factory=set)
    """Tokens of users who may read but not administrate."""
    accounting: FakeAccounting | None = None
    down: bool = False
    cut: bool = False
    calls: list[str] = field(default_factory=list)
    """Every request so far: `POST /nodes/`."""

    async def round_trip(self, message: Message) -> Response:
        if self.cut:
            raise Unavailable("the fake slurmrestd is away")
        parts = urlsplit(message.target)
        _, api, version, path = parts.path.split("/", 3)
        self.calls.append(f"{message.method} /{path}")
        if version not in {each.path for each in self.versions}:
            return NO_SUCH_CALL
        if api == "slurmdb" and self.accounting is not None:
            return self._kept(self.accounting, message, f"/{path}", parts.query)
        if not message.headers.get(TOKEN_HEADER):
            return Response(401, is_json=False, body=b"Authentication failure")
        return self._answer(message, f"/{path}", parts.query) if api == "slurm" else NO_SUCH_CALL

    async def close(self) -> None:
        """There is nothing to close."""

    def _answer(self, message: Message, path: str, query: str) -> Response:
        route = chosen(ROUTES, message.method, path)
        if route is None:
            return NO_SUCH_CALL
        token = message.headers[TOKEN_HEADER]
        if route.handler is ping:  # a success in any case, even with a wrong token
            return said(self._ping(token))
        asked = self._asked(message, route.name, query)
        try:
            self._authorize(token, administers=route.administers or _comments(asked))
        except Rejected as error:
            return rejection(error)
        return told(route.handler, self.cluster, asked)

    def _kept(self, books: FakeAccounting, message: Message, path: str, query: str) -> Response:
        """With a bad token, and with none, slurmrestd says here that it has no database."""
        token = message.headers.get(TOKEN_HEADER, "")
        if books.down or not token or token in self.bad_tokens:
            return rejection(Rejected(Errno.ESLURM_DB_CONNECTION, 502))
        route = chosen(fake_slurmdb.ROUTES, message.method, path)
        if route is None:
            return NO_SUCH_CALL
        if route.administers and token in self.plain_users:
            return rejection(Rejected(Errno.ESLURM_ACCESS_DENIED))
        return told(route.handler, books, self._asked(message, route.name, query))

    def _asked(self, message: Message, name: str, query: str) -> Asked:
        values = {key: ",".join(texts) for key, texts in parse_qs(query).items()}
        body = json.decode(message.body) if message.body else {}
        return Asked(name, values, body, int(self.cluster.now()))

    def _ping(self, token: str) -> wire.PingsAnswer:
        responding = not self.down and token not in self.bad_tokens
        return wire.PingsAnswer(pings=[wire.WirePing("fake", responding, primary=True)])

    def _authorize(self, token: str, *, administers: bool) -> None:
        if self.down:
            raise Rejected(1800, 502)
        if token in self.bad_tokens:
            raise Rejected(Errno.SLURM_PROTOCOL_AUTHENTICATION_ERROR, 511)
        if administers and token in self.plain_users:
            raise Rejected(Errno.ESLURM_USER_ID_MISSING)


def _comments(asked: Asked) -> bool:
    """Whether a job is to have a comment that only operators write."""
    return "admin_comment" in (asked.body.get("job") or {})


@dataclass(frozen=True, slots=True)
class Route(Generic[S]):
    """Who answers a request, about what, and whether only to an administrator."""

    handler: Callable[[S, Asked], wire.Answer | Response]
    name: str
    administers: bool


def chosen(
    routes: Iterable[tuple[str, str, Callable[[S, Asked], wire.Answer | Response], bool]],
    method: str,
    path: str,
) -> Route[S] | None:
    for wanted, pattern, handler, administers in routes:
        found = re.fullmatch(pattern, path)
        if found and wanted == method:
            return Route(handler, unquote(found[1]) if found.groups() else "", administers)
    return None


def told(handler: Callable[[S, Asked], wire.Answer | Response], state: S, asked: Asked) -> Response:
    try:
        answer = handler(state, asked)
    except Rejected as error:
        return rejection(error)
    return answer if isinstance(answer, Response) else said(answer)
