"""A Slurm without daemons: a Transport that answers as slurmrestd does, from plain data.

It is trusted as far as it passes tests/contract/test_slurm_calls.py, which the real one passes too.
Jobs start when they are submitted and the nodes have room, and run until they are cancelled or
`cluster.finish` ends them; there is no other scheduler, no time limit and no accounting.
"""

import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import json

from windlass.slurm import wire
from windlass.slurm.call import Response
from windlass.slurm.client import TOKEN_HEADER
from windlass.slurm.errors import Errno, Unavailable
from windlass.slurm.transport import Message
from windlass.slurm.versions import Version
from windlass.testing.fake_calls import ROUTES, Asked, Handler, ping
from windlass.testing.fake_cluster import FakeCluster, Rejected, rejection, said

NO_SUCH_CALL: Final = Response(404, is_json=False, body=b"Unable to find requested URL endpoint.")


@dataclass(slots=True)
class FakeSlurm:
    """One slurmrestd. Set `down` and slurmctld is away, `cut` and slurmrestd is."""

    cluster: FakeCluster
    versions: frozenset[Version] = frozenset(Version)
    bad_tokens: set[str] = field(default_factory=set)
    plain_users: set[str] = field(default_factory=set)
    """Tokens of users who may read but not administrate."""
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
        if not message.headers.get(TOKEN_HEADER):
            return Response(401, is_json=False, body=b"Authentication failure")
        if api != "slurm" or version not in {each.path for each in self.versions}:
            return NO_SUCH_CALL
        return self._answer(message, f"/{path}", parts.query)

    async def close(self) -> None:
        """There is nothing to close."""

    def _answer(self, message: Message, path: str, query: str) -> Response:
        for method, pattern, handler, administers in ROUTES:
            found = re.fullmatch(pattern, path)
            if method == message.method and found:
                name = unquote(found[1]) if found.groups() else ""
                values = {key: texts[0] for key, texts in parse_qs(query).items()}
                body = json.decode(message.body) if message.body else {}
                asked = Asked(name, values, body, int(self.cluster.now()))
                return self._handled(message, handler, asked, administers=administers)
        return NO_SUCH_CALL

    def _handled(
        self, message: Message, handler: Handler, asked: Asked, *, administers: bool
    ) -> Response:
        token = message.headers[TOKEN_HEADER]
        if handler is ping:  # a success in any case, even with a wrong token
            return said(self._ping(token))
        try:
            self._authorize(token, administers=administers)
            answer = handler(self.cluster, asked)
        except Rejected as error:
            return rejection(error)
        return answer if isinstance(answer, Response) else said(answer)

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
