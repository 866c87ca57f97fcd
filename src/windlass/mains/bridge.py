"""`windlass bridge`: the bridge and its admission server as processes."""

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from windlass.bridge.configuration import Configuration, read
from windlass.bridge.ends import Cancels, Completes, Ends, fallbacks
from windlass.bridge.engine import Design
from windlass.bridge.link import Link
from windlass.bridge.process import NAME, Means, Options, bridge
from windlass.bridge.webhook_process import Place, webhook_process
from windlass.bridge.world import OPTIONAL
from windlass.kube import kinds, requests
from windlass.kube.access import Access
from windlass.kube.client import Client
from windlass.kube.errors import NotFound
from windlass.kube.kinds import Kind
from windlass.kube.manager import Settings
from windlass.kube.memory import keep_buffers
from windlass.kube.metrics import Metrics
from windlass.kube.wire import Anything
from windlass.mains.clock import SystemClock
from windlass.mains.kubernetes import access, boot_time, now
from windlass.mains.logs import LogFormat, LogLevel, log_to_stderr
from windlass.slurm.agent import Agent
from windlass.slurm.tokens import MintedToken, TokenFile, Tokens
from windlass.slurm.transport import Address, HttpTransport, Transport
from windlass.values.key import Key

app = typer.Typer(help="The bridge and its webhook, as they run in pods.", no_args_is_help=True)
CONFIG: Final = Path("/etc/slurm-bridge/config.yaml")
TIMEOUT: Final = 60.0

Config = Annotated[Path, typer.Option(help="How the bridge works; Slinky's file will do.")]
Level = Annotated[LogLevel, typer.Option(help="The least that is logged.")]
Format = Annotated[LogFormat, typer.Option(help="How the log is written.")]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="Outside a pod: the way to the API server.", show_default=False)
]
HealthPort = Annotated[int, typer.Option(help="For /readyz, /healthz and /metrics.")]


@app.command()
def run(  # noqa: PLR0913 - each is a flag
    *,
    config: Config = CONFIG,
    slurm: Annotated[str, typer.Option(help="The address of slurmrestd; before the file's.")] = "",
    agent: Annotated[
        str, typer.Option(help="The address of the agent beside it; before the file's.")
    ] = "",
    token_file: Annotated[
        Path | None,
        typer.Option(envvar="SLURM_JWT_FILE", help="A token that others keep fresh."),
    ] = None,
    jwt_key_file: Annotated[
        Path | None, typer.Option(help="Slurm's JWT key; tokens are made of it.")
    ] = None,
    user: Annotated[str, typer.Option(help="Of the tokens that are made.")] = "slurm",
    workers: Annotated[int, typer.Option(help="Passes at the same time.", min=1)] = 16,
    health_port: HealthPort = 8081,
    leader_elect_namespace: Annotated[
        str, typer.Option(help="Where the lease is; the pod's own if empty.")
    ] = "",
    lease_name: Annotated[str, typer.Option(help="The lease of the one that leads.")] = NAME,
    kubeconfig: Kubeconfig = None,
    log_level: Level = LogLevel.INFO,
    log_format: Format = LogFormat.JSON,
) -> None:
    """Have Slurm schedule the pods that name its scheduler."""
    log_to_stderr(log_level, log_format)
    keep_buffers()
    reached, found = access(kubeconfig), read(config.read_text())
    options = Options(
        identity=os.environ.get("POD_NAME") or socket.gethostname(),
        lease=Key(leader_elect_namespace or reached.namespace, lease_name),
        settings=Settings(port=health_port),
    )
    tokens = _tokens(token_file, jwt_key_file, user)
    there = _Slurm(slurm or found.slurm_rest_api, tokens, agent or found.slurm_agent)
    asyncio.run(_run(reached, found, there, options, workers))


def _tokens(file: Path | None, key: Path | None, user: str) -> Tokens:
    if file is not None:
        return TokenFile(file)
    if key is not None:
        return MintedToken(key.read_bytes(), SystemClock(), user)
    raise typer.BadParameter("give --token-file or --jwt-key-file")


@dataclass(frozen=True, slots=True)
class _Slurm:
    url: str
    tokens: Tokens
    agent: str

    def dial(self) -> AbstractAsyncContextManager[Transport]:
        return HttpTransport(Address.parse(self.url), TIMEOUT)

    def ends(self, metrics: Metrics) -> Callable[[Link], Ends]:
        """The agent closes every connection itself, so there is nothing left to close."""
        if not self.agent:
            return Cancels
        agent = Agent(HttpTransport(Address.parse(self.agent), TIMEOUT), self.tokens)
        count = fallbacks(metrics.registry)
        return lambda link: Completes(link, agent, count)


async def _run(
    reached: Access, found: Configuration, slurm: _Slurm, options: Options, workers: int
) -> None:
    metrics = Metrics()
    async with Client(reached, observe=metrics.requested) as client:
        rules = found.rules(await _cluster(client))
        design = Design(
            rules=rules,
            scheduler=found.scheduler_name,
            served=tuple([kind for kind in OPTIONAL if await _served(client, kind)]),
            conditions=found.node_conditions,
            workers=workers,
            ends=slurm.ends(metrics),
        )
        link = Link(rules.settings.cluster, slurm.tokens, SystemClock(), slurm.dial)
        await bridge(Means(client, metrics, boot_time, now), link, design, options).run()


async def _cluster(client: Client) -> str:
    """The UID of a namespace that every cluster has, and has one of."""
    at = Key("", "kube-system")
    return (await client.send(requests.get_metadata(kinds.NAMESPACE, at))).metadata.uid


async def _served(client: Client, kind: Kind) -> bool:
    """Whether the API server knows a kind of others; not only its group."""
    try:
        await client.send(requests.list_page(kind, Anything, paging=requests.Paging(limit=1)))
    except NotFound:
        return False
    return True


@app.command()
def webhook(  # noqa: PLR0913 - each is a flag
    *,
    service: Annotated[str, typer.Option(help="The Service that the API server asks.")],
    namespace: Annotated[str, typer.Option(help="Where Service and Secret are.")],
    secret: Annotated[str, typer.Option(help="Where the certificates are kept.")],
    configuration: Annotated[
        str, typer.Option(help="The webhook configurations that have to trust them.")
    ],
    bridge_user: Annotated[
        str, typer.Option(help="As whom the bridge itself writes on pods.")
    ] = "",
    config: Config = CONFIG,
    port: Annotated[int, typer.Option(help="Where reviews are answered.")] = 9443,
    health_port: HealthPort = 8081,
    certificates: Annotated[
        Path | None,
        typer.Option(help="A mounted certificate, made by others; none is made then."),
    ] = None,
    kubeconfig: Kubeconfig = None,
    log_level: Level = LogLevel.INFO,
    log_format: Format = LogFormat.JSON,
) -> None:
    """Answer the API server's questions about pods."""
    log_to_stderr(log_level, log_format)
    at = Key(namespace, service), Key(namespace, secret)
    place = Place(*at, configuration, port, certificates)
    found, settings = read(config.read_text()), Settings(port=health_port)
    asyncio.run(_webhook(access(kubeconfig), found, bridge_user, place, settings))


async def _webhook(
    reached: Access, found: Configuration, user: str, place: Place, settings: Settings
) -> None:
    metrics = Metrics()
    async with Client(reached, observe=metrics.requested) as client:
        means = Means(client, metrics, boot_time, now)
        await webhook_process(means, found.admission(user), place, settings).run()
