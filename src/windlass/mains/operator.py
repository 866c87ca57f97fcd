"""`windlass operator`: the operator and its webhook as processes."""

import asyncio
import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from windlass.kube import kinds
from windlass.kube.access import Access
from windlass.kube.client import Client
from windlass.kube.errors import NotFound
from windlass.kube.exposing import Endpoint
from windlass.kube.manager import Settings
from windlass.kube.memory import keep_buffers
from windlass.kube.metrics import Metrics
from windlass.kube.requests import Request
from windlass.kube.wire import Anything
from windlass.mains.clock import SystemClock
from windlass.mains.kubernetes import access, boot_time, now
from windlass.mains.logs import LogFormat, LogLevel, log_to_stderr
from windlass.operator.images import Images
from windlass.operator.process import Means, Options, operator
from windlass.operator.rooms import rooms
from windlass.operator.site import Site
from windlass.operator.slurms.clusters import Clusters
from windlass.operator.webhook_process import Place, WebhookOptions, webhook_process
from windlass.values.key import Key

app = typer.Typer(help="The operator and its webhook, as they run in pods.", no_args_is_help=True)
DEFAULTS = Images()

Level = Annotated[LogLevel, typer.Option(help="The least that is logged.")]
Format = Annotated[LogFormat, typer.Option(help="How the log is written.")]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="Outside a pod: the way to the API server.", show_default=False)
]
HealthPort = Annotated[int, typer.Option(help="For /readyz, /healthz and /metrics.")]
MetricsSecure = Annotated[
    bool,
    typer.Option(
        "--metrics-secure",
        help="Tell /metrics over HTTPS only, to those who may GET it; not beside health.",
    ),
]
MetricsPort = Annotated[int, typer.Option(help="For /metrics with --metrics-secure.")]
TopologyFromLabels = Annotated[
    str,
    typer.Option(
        help="Where a node is in Slurm's topology, with its labels in braces: default:root:{zone}.",
    ),
]
Workers = Annotated[int, typer.Option(help="Passes at the same time.", min=1)]
ImageReference = Annotated[str, typer.Option(help="The image of pods whose resource names none.")]


@app.command()
def run(  # noqa: PLR0913 - each is a flag
    *,
    namespaces: Annotated[
        str, typer.Option(help="Look after these only, separated by commas.")
    ] = "",
    health_port: HealthPort = 8081,
    metrics_secure: MetricsSecure = False,
    metrics_port: MetricsPort = 8443,
    propagated_node_conditions: Annotated[
        str,
        typer.Option(help="Node conditions that become reasons of drains, separated by commas."),
    ] = "",
    drain_node_conditions: Annotated[
        str,
        typer.Option(help="Node conditions that drain workers while they are true, by commas."),
    ] = "",
    drain_node_taints: Annotated[
        str, typer.Option(help="Keys of node taints that drain workers, separated by commas.")
    ] = "",
    topology_from_labels: TopologyFromLabels = "",
    starting_workers: Annotated[
        int, typer.Option(help="The most workers of a NodeSet that start at a time.", min=1)
    ] = 1000,
    leader_elect_namespace: Annotated[
        str, typer.Option(help="Where the lease is; the pod's own if empty.")
    ] = "",
    lease_name: Annotated[str, typer.Option(help="The lease of the one that leads.")] = (
        "windlass-operator"
    ),
    controller_workers: Workers = 4,
    restapi_workers: Workers = 4,
    accounting_workers: Workers = 4,
    nodeset_workers: Workers = 4,
    loginset_workers: Workers = 4,
    token_workers: Workers = 4,
    image_slurmctld: ImageReference = DEFAULTS.slurmctld,
    image_slurmd: ImageReference = DEFAULTS.slurmd,
    image_slurmdbd: ImageReference = DEFAULTS.slurmdbd,
    image_slurmrestd: ImageReference = DEFAULTS.slurmrestd,
    image_login: ImageReference = DEFAULTS.login,
    kubeconfig: Kubeconfig = None,
    log_level: Level = LogLevel.INFO,
    log_format: Format = LogFormat.JSON,
) -> None:
    """Keep Slurm clusters as their custom resources say."""
    log_to_stderr(log_level, log_format)
    keep_buffers()
    reached = access(kubeconfig)
    options = Options(
        identity=_identity(),
        lease=Key(leader_elect_namespace or reached.namespace, lease_name),
        namespaces=_words(namespaces),
        workers={
            kinds.CONTROLLER: controller_workers,
            kinds.REST_API: restapi_workers,
            kinds.ACCOUNTING: accounting_workers,
            kinds.NODE_SET: nodeset_workers,
            kinds.LOGIN_SET: loginset_workers,
            kinds.TOKEN: token_workers,
        },
        settings=Settings(port=health_port, metrics=not metrics_secure),
        secure_metrics=_endpoint(metrics_port) if metrics_secure else None,
    )
    images = Images(
        slurmctld=image_slurmctld,
        slurmd=image_slurmd,
        slurmdbd=image_slurmdbd,
        slurmrestd=image_slurmrestd,
        login=image_login,
    )
    site = Site(
        images=images,
        domain=_domain(),
        propagated_node_conditions=_words(propagated_node_conditions),
        drain_node_conditions=_words(drain_node_conditions),
        drain_node_taints=_words(drain_node_taints),
        topology_from_labels=topology_from_labels,
        starting_workers=starting_workers,
    )
    asyncio.run(_run(reached, options, site))


async def _run(reached: Access, options: Options, site: Site) -> None:
    metrics = Metrics()
    async with Client(reached, observe=metrics.requested) as client:
        options = replace(options, monitors=await _served(client, kinds.SERVICE_MONITOR))
        clusters = Clusters(SystemClock())
        means = Means(client, metrics, boot_time, now)
        async with rooms(site, clusters.seen, monitors=options.monitors) as known:
            await operator(means, known, clusters, options).run()


async def _served(client: Client, kind: kinds.Kind) -> bool:
    """Whether the API server knows a kind of others."""
    try:
        await client.send(Request("GET", kind.root, Anything))
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
        str, typer.Option(help="The ValidatingWebhookConfiguration that has to trust them.")
    ],
    port: Annotated[int, typer.Option(help="Where reviews are answered.")] = 9443,
    health_port: HealthPort = 8081,
    metrics_secure: MetricsSecure = False,
    metrics_port: MetricsPort = 8443,
    pods_binding: Annotated[
        bool,
        typer.Option(
            "--pods-binding",
            help="Give worker pods the topology of their node as they are bound to it.",
        ),
    ] = False,
    pods_eviction: Annotated[
        bool,
        typer.Option(
            "--pods-eviction",
            help="Drain workers with jobs whose eviction is asked for.",
        ),
    ] = False,
    topology_from_labels: TopologyFromLabels = "",
    certificates: Annotated[
        Path | None,
        typer.Option(help="A mounted certificate, made by others; none is made then."),
    ] = None,
    kubeconfig: Kubeconfig = None,
    log_level: Level = LogLevel.INFO,
    log_format: Format = LogFormat.JSON,
) -> None:
    """Answer the API server's questions about our kinds."""
    log_to_stderr(log_level, log_format)
    place = Place(
        Key(namespace, service),
        Key(namespace, secret),
        configuration,
        certificates,
        pods_binding=pods_binding,
        topology_from_labels=topology_from_labels,
        pods_eviction=pods_eviction,
    )
    options = WebhookOptions(
        place,
        port,
        Settings(port=health_port, metrics=not metrics_secure),
        _endpoint(metrics_port) if metrics_secure else None,
    )
    asyncio.run(_webhook(access(kubeconfig), options))


async def _webhook(reached: Access, options: WebhookOptions) -> None:
    metrics = Metrics()
    async with Client(reached, observe=metrics.requested) as client:
        await webhook_process(Means(client, metrics, boot_time, now), options).run()


def _identity() -> str:
    return os.environ.get("POD_NAME") or socket.gethostname()


def _endpoint(port: int) -> Endpoint:
    return Endpoint(port, (_identity(), "localhost"))


def _domain() -> str:
    """The DNS domain of Services, as the pod's own resolver has it."""
    file = Path("/etc/resolv.conf")
    lines = file.read_text().splitlines() if file.exists() else []
    searched = (word for line in lines if line.startswith("search") for word in line.split()[1:])
    found = (word.removeprefix("svc.") for word in searched if word.startswith("svc."))
    return next(found, "cluster.local")


def _words(given: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in given.split(",") if word.strip())
