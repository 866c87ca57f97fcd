"""The certificate a server shows, changed while it serves.

New connections get the new certificate, open ones go on with what they were made with, so no
request is lost. A pair that does not fit is refused before anybody is shown it.
"""

import asyncio
import logging
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)


class Unusable(Exception):
    """A certificate and key that cannot be served; the former pair stays."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A chain of certificates and the key of the first, as PEM."""

    certificate: bytes
    key: bytes

    @classmethod
    def from_secret(cls, data: Mapping[str, bytes]) -> "Pair":
        """The pair of a Secret of type kubernetes.io/tls, ours or cert-manager's."""
        try:
            return cls(data["tls.crt"], data["tls.key"])
        except KeyError as error:
            raise Unusable(f"the Secret has no {error}") from error

    @classmethod
    def from_folder(cls, folder: Path) -> "Pair":
        """The pair of such a Secret where it is mounted."""
        try:
            return cls((folder / "tls.crt").read_bytes(), (folder / "tls.key").read_bytes())
        except OSError as error:
            raise Unusable(f"{error.filename}: {error.strerror}") from error


class Serving:
    """A TLS context for a server; hand `context` to the server, then `show` pairs at any time."""

    def __init__(self) -> None:
        self.context = _server_context()
        self.context.sni_callback = self._choose
        self._shown: Pair | None = None
        self._current: ssl.SSLContext | None = None

    @property
    def ready(self) -> bool:
        return self._current is not None

    def show(self, pair: Pair) -> bool:
        """Serve this pair from now on; False if it is the one that is served already."""
        if pair == self._shown:
            return False
        self._current = _loaded(pair)
        self._shown = pair
        return True

    def _choose(
        self, connection: ssl.SSLObject, _name: str | None, _context: ssl.SSLContext
    ) -> int | None:
        """Called for every handshake, also where the caller names no server."""
        if self._current is None:
            return ssl.ALERT_DESCRIPTION_INTERNAL_ERROR
        connection.context = self._current
        return None


async def follow_folder(serving: Serving, folder: Path, every: float = 10.0) -> None:
    """Show what a mounted Secret holds, for ever; kubelet swaps it in place when it changes."""
    while True:
        try:
            if serving.show(Pair.from_folder(folder)):
                log.info("serving the certificate of %s", folder)
        except Unusable as error:
            log.warning("certificate not taken: %s", error)
        await asyncio.sleep(every)


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _loaded(pair: Pair) -> ssl.SSLContext:
    context = _server_context()
    try:
        with _in_memory(pair.certificate) as certificate, _in_memory(pair.key) as key:
            # The empty password keeps OpenSSL from asking for one on the terminal.
            context.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, OSError, ValueError) as error:
        raise Unusable(f"certificate or key: {error}") from error
    return context


@contextmanager
def _in_memory(content: bytes) -> Iterator[str]:
    """A path to these bytes that is on no disk: OpenSSL reads files only."""
    handle = os.memfd_create("certificate")
    try:
        os.write(handle, content)
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)
