"""Who we are to the API server: where a bearer token comes from, and when it must be fetched anew.

`client.py` asks for the token before each request, and asks to renew it once when told 401.
"""

import asyncio
import ssl
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import msgspec
from msgspec import Struct

from windlass.kube.errors import Misconfigured, Unavailable

PLUGIN_SECONDS: Final = 60.0
EARLY: Final = timedelta(seconds=30)


class Credentials(Protocol):
    async def token(self) -> str:
        """The bearer token to send now; empty when a certificate speaks for us."""

    async def renew(self) -> bool:
        """The server refused the token: whether another try may bring another."""


@dataclass(frozen=True, slots=True)
class FixedToken:
    """A token that never changes; empty when there is none."""

    value: str = field(default="", repr=False)

    async def token(self) -> str:
        return self.value

    async def renew(self) -> bool:
        return False


class TokenFile:
    """A token in a file that somebody else keeps fresh: read again whenever the file changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._token = ""

    async def token(self) -> str:
        try:
            state = self._path.stat()
            seen = (state.st_ino, state.st_mtime_ns, state.st_size)
            if seen != self._seen:
                self._token, self._seen = self._path.read_text().strip(), seen
        except OSError as error:
            raise Misconfigured(
                f"{self._path}: the token cannot be read: {error.strerror}"
            ) from None
        if not self._token:
            raise Misconfigured(f"{self._path}: the token file is empty")
        return self._token

    async def renew(self) -> bool:
        self._seen = None
        return True


# --- exec plugins --------------------------------------------------------------------------


class PluginStatus(Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class PluginAnswer(Struct, frozen=True, rename="camel"):
    api_version: str
    kind: Literal["ExecCredential"]
    status: PluginStatus


@dataclass(frozen=True, slots=True)
class Plugin:
    """A program of the kubeconfig that prints an ExecCredential."""

    where: str  # file and field, for messages
    command: str
    args: tuple[str, ...]
    environment: Mapping[str, str]
    api_version: str
    hint: str = ""


class PluginToken:
    """What a plugin printed, until it expires or is refused; then the plugin runs again."""

    def __init__(self, plugin: Plugin, now: Callable[[], datetime], tls: ssl.SSLContext) -> None:
        self._plugin = plugin
        self._now = now
        self._tls = tls
        self._status: PluginStatus | None = None
        self._running = asyncio.Lock()

    async def token(self) -> str:
        async with self._running:
            if self._status is None or self._expired(self._status):
                self._status = await self._run()
            return self._status.token

    async def renew(self) -> bool:
        self._status = None
        return True

    def _expired(self, status: PluginStatus) -> bool:
        expiry = status.expiration_timestamp
        return expiry is not None and self._now() >= expiry - EARLY

    async def _run(self) -> PluginStatus:
        status = self._read(await output_of(self._plugin))
        if status.client_certificate_data:
            self._use(status)
        return status

    def _use(self, status: PluginStatus) -> None:
        try:
            load_certificate(self._tls, status.client_certificate_data, status.client_key_data)
        except ssl.SSLError:
            why = "printed a certificate and a key that are not a PEM pair"
            raise Misconfigured(f"{self._plugin.where}: {why}") from None

    def _read(self, printed: bytes) -> PluginStatus:
        where = self._plugin.where
        try:
            answer = msgspec.json.decode(printed, type=PluginAnswer)
        except msgspec.DecodeError as error:
            raise Misconfigured(f"{where}: did not print an ExecCredential: {error}") from None
        if answer.api_version != self._plugin.api_version:
            wanted = self._plugin.api_version
            raise Misconfigured(f"{where}: printed {answer.api_version}, but {wanted} is asked for")
        if not (answer.status.token or answer.status.client_certificate_data):
            raise Misconfigured(f"{where}: printed neither a token nor a certificate")
        return answer.status


async def output_of(plugin: Plugin) -> bytes:
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            env=plugin.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        hint = f" ({plugin.hint})" if plugin.hint else ""
        reason = f"{plugin.command} cannot be run: {error.strerror}{hint}"
        raise Misconfigured(f"{plugin.where}: {reason}") from None
    return await _finished(plugin, process)


async def _finished(plugin: Plugin, process: asyncio.subprocess.Process) -> bytes:
    """Its output; it does not outlive this call."""
    try:
        async with asyncio.timeout(PLUGIN_SECONDS):
            printed, complaint = await process.communicate()
    except TimeoutError:
        raise Unavailable(f"{plugin.where}: no answer after {PLUGIN_SECONDS:g} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        last = complaint.decode(errors="replace").strip()[-400:]
        raise Unavailable(
            f"{plugin.where}: {plugin.command} ended with {process.returncode}: {last}"
        )
    return printed


def exec_info(api_version: str, cluster: Mapping[str, Any] | None) -> str:
    """What a plugin finds in KUBERNETES_EXEC_INFO."""
    spec: dict[str, Any] = {"interactive": False}
    if cluster is not None:
        spec["cluster"] = cluster
    info = {"apiVersion": api_version, "kind": "ExecCredential", "spec": spec}
    return msgspec.json.encode(info).decode()


def load_certificate(tls: ssl.SSLContext, certificate: str, key: str) -> None:
    """Use a client certificate for connections made from now on; OpenSSL takes files only."""
    with tempfile.NamedTemporaryFile(suffix=".pem") as pem:
        pem.write(f"{certificate}\n{key}\n".encode())
        pem.flush()
        tls.load_cert_chain(pem.name)
