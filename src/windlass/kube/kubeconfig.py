"""The kubeconfig files of a person, read into an Access.

Anything in them that would change who speaks or over which way, and that is not understood here,
is refused by name of file and field; silence would speak as somebody else.
"""

import base64
import binascii
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from windlass.kube.access import Access, trusted
from windlass.kube.credentials import (
    Credentials,
    FixedToken,
    Plugin,
    PluginToken,
    TokenFile,
    exec_info,
    load_certificate,
)
from windlass.kube.errors import Misconfigured

EXEC_VERSIONS: Final = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


# --- the file ------------------------------------------------------------------------------


class Cluster(Struct, frozen=True, rename="kebab"):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""


class Variable(Struct, frozen=True):
    name: str
    value: str


class Exec(Struct, frozen=True, rename="camel"):
    api_version: str
    command: str
    args: list[str] | None = None
    env: list[Variable] | None = None
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = "IfAvailable"


class User(Struct, frozen=True, rename="kebab"):
    token: str = ""
    token_file: str = msgspec.field(name="tokenFile", default="")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    exec: Exec | None = None
    username: str = ""
    auth_provider: dict[str, Any] | None = None
    as_: str = msgspec.field(name="as", default="")


class Context(Struct, frozen=True):
    cluster: str
    user: str = ""
    namespace: str = "default"


class NamedCluster(Struct, frozen=True):
    name: str
    cluster: Cluster | None = None


class NamedUser(Struct, frozen=True):
    name: str
    user: User | None = None


class NamedContext(Struct, frozen=True):
    name: str
    context: Context


class File(Struct, frozen=True, rename="kebab"):
    current_context: str = ""
    clusters: list[NamedCluster] | None = None
    users: list[NamedUser] | None = None
    contexts: list[NamedContext] | None = None


# --- reading -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """A part of one file: what messages name, and what relative paths start from."""

    file: Path
    part: str

    def wrong(self, field: str, why: str) -> Misconfigured:
        return Misconfigured(f"{self.file}: {self.part}.{field}: {why}")

    def path(self, field: str, value: str) -> Path:
        path = self.file.parent / value
        if not path.is_file():
            raise self.wrong(field, f"there is no file {path}")
        return path

    def data(self, field: str, value: str) -> str:
        try:
            return base64.b64decode(value, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise self.wrong(field, "is not base64 of a PEM text") from None


def load(
    files: Sequence[Path],
    environment: Mapping[str, str],
    now: Callable[[], datetime],
    context: str = "",
) -> Access:
    """The access of a context, by default the current one."""
    config = _Files.read(files)
    _, chosen = config.find("contexts", context or config.current_context())
    asked: Context = chosen.context
    file, found = config.find("clusters", asked.cluster)
    cluster: Cluster = found.cluster or Cluster()
    tls = _tls(cluster, Place(file, f"clusters[{asked.cluster}].cluster"))
    file, user = config.user(asked.user)
    speaker = _Speaker(Place(file, f"users[{asked.user}].user"), environment, now, tls)
    return Access(
        server=cluster.server.rstrip("/"),
        credentials=speaker.credentials(user, cluster),
        tls=tls if cluster.server.startswith("https:") else None,
        tls_server_name=cluster.tls_server_name or None,
        namespace=asked.namespace or "default",
    )


@dataclass(frozen=True, slots=True)
class _Files:
    """Several files as one: of two parts by the same name, the first counts."""

    configs: tuple[tuple[Path, File], ...]

    @classmethod
    def read(cls, files: Sequence[Path]) -> "_Files":
        there = [file for file in files if file.exists()] or files
        return cls(tuple((file, _read(file)) for file in there))

    def current_context(self) -> str:
        named = (config.current_context for _, config in self.configs if config.current_context)
        if name := next(named, ""):
            return name
        raise Misconfigured(f"{self}: current-context is not set; name a context")

    def find(self, part: str, name: str) -> tuple[Path, Any]:
        entries = [
            (f, entry) for f, config in self.configs for entry in getattr(config, part) or ()
        ]
        for file, entry in entries:
            if entry.name == name:
                return file, entry
        there = ", ".join(entry.name for _, entry in entries) or "none"
        raise Misconfigured(f"{self}: {part}: no {name!r}; there are: {there}")

    def user(self, name: str) -> tuple[Path, User]:
        """A context without a user speaks as nobody."""
        if not name:
            return self.configs[0][0], User()
        file, found = self.find("users", name)
        return file, found.user or User()

    def __str__(self) -> str:
        return ":".join(str(file) for file, _ in self.configs)


def _read(file: Path) -> File:
    try:
        return msgspec.yaml.decode(file.read_bytes(), type=File)
    except OSError as error:
        raise Misconfigured(f"{file}: cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise Misconfigured(f"{file}: {error}") from None


# --- trust ---------------------------------------------------------------------------------


def _tls(cluster: Cluster, at: Place) -> ssl.SSLContext:
    if urlsplit(cluster.server).scheme not in ("http", "https"):
        raise at.wrong("server", f"{cluster.server!r} is no http(s) address")
    if cluster.proxy_url:
        raise at.wrong("proxy-url", "proxies are not supported; reach the API server directly")
    tls = _trust(cluster, at)
    if cluster.insecure_skip_tls_verify:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    return tls


def _trust(cluster: Cluster, at: Place) -> ssl.SSLContext:
    if cluster.insecure_skip_tls_verify:
        return ssl.create_default_context()
    field, text = "certificate-authority-data", None
    if cluster.certificate_authority_data:
        text = at.data(field, cluster.certificate_authority_data)
    elif cluster.certificate_authority:
        field = "certificate-authority"
        text = at.path(field, cluster.certificate_authority).read_text()
    try:
        return trusted(text)
    except (ssl.SSLError, ValueError):
        raise at.wrong(field, "holds no PEM certificate") from None


# --- who speaks ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Speaker:
    at: Place
    environment: Mapping[str, str]
    now: Callable[[], datetime]
    tls: ssl.SSLContext

    def credentials(self, user: User, cluster: Cluster) -> Credentials:
        self._refuse_unknown(user)
        self._certificate(user)
        if user.exec is not None:
            return self._plugin(user.exec, cluster)
        if user.token_file:
            return TokenFile(self.at.path("tokenFile", user.token_file))
        return FixedToken(user.token)

    def _refuse_unknown(self, user: User) -> None:
        if user.username:
            raise self.at.wrong("username", "API servers no longer take passwords; use a token")
        if user.auth_provider is not None:
            raise self.at.wrong("auth-provider", "was removed from Kubernetes; use exec")
        if user.as_:
            raise self.at.wrong("as", "speaking as somebody else is not supported")

    def _certificate(self, user: User) -> None:
        certificate = self._pem("client-certificate", user)
        key = self._pem("client-key", user)
        if bool(certificate) != bool(key):
            missing = "client-key" if certificate else "client-certificate"
            raise self.at.wrong(missing, "is missing: certificate and key go together")
        if not certificate:
            return
        try:
            load_certificate(self.tls, certificate, key)
        except ssl.SSLError as error:
            why = f"certificate and key are not a PEM pair ({error.reason})"
            raise self.at.wrong("client-certificate", why) from None

    def _pem(self, field: str, user: User) -> str:
        """The data beside the field outranks the file that it names."""
        attribute = field.replace("-", "_")
        if data := getattr(user, f"{attribute}_data"):
            return self.at.data(f"{field}-data", data)
        file: str = getattr(user, attribute)
        return self.at.path(field, file).read_text() if file else ""

    def _plugin(self, spec: Exec, cluster: Cluster) -> PluginToken:
        if spec.api_version not in EXEC_VERSIONS:
            why = f"{spec.api_version!r} is not one of {', '.join(EXEC_VERSIONS)}"
            raise self.at.wrong("exec.apiVersion", why)
        if spec.interactive_mode == "Always":
            raise self.at.wrong("exec.interactiveMode", "Always: there is nobody to ask")
        told = msgspec.to_builtins(cluster) if spec.provide_cluster_info else None
        environment = {
            **self.environment,
            **{variable.name: variable.value for variable in spec.env or ()},
            "KUBERNETES_EXEC_INFO": exec_info(spec.api_version, told),
        }
        plugin = Plugin(
            where=f"{self.at.file}: {self.at.part}.exec",
            command=self._command(spec.command),
            args=tuple(spec.args or ()),
            environment=environment,
            api_version=spec.api_version,
            hint=spec.install_hint,
        )
        return PluginToken(plugin, self.now, self.tls)

    def _command(self, command: str) -> str:
        """A bare name is looked up in PATH; a path is relative to the kubeconfig."""
        return str(self.at.file.parent / command) if "/" in command else command
