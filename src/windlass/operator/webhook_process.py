"""The webhook as one process: its certificates, its server, its health. Every replica serves."""

from dataclasses import dataclass
from pathlib import Path

from windlass.kube import kinds
from windlass.kube.admission import AdmissionServer, Handler
from windlass.kube.certificate_store import ClientStore, Webhooks
from windlass.kube.certificates import Terms
from windlass.kube.exposing import Endpoint
from windlass.kube.kinds import Kind
from windlass.kube.manager import Manager, Settings
from windlass.kube.parts import Part, Started
from windlass.kube.rotation import Rotation
from windlass.kube.serving import Serving, follow_folder
from windlass.operator import binding, eviction
from windlass.operator.lookups import ClientLookups
from windlass.operator.process import Means, metrics_parts
from windlass.operator.webhooks import handlers
from windlass.values.key import Key

EVERYWHERE = "0.0.0.0"  # noqa: S104 - the API server comes from outside


@dataclass(frozen=True, slots=True)
class Place:
    """Where the webhook is reached, and how it is trusted."""

    service: Key
    secret: Key
    configuration: str
    certificates: Path | None = None
    """A mounted Secret that somebody else renews; None where we make our own."""
    pods_binding: bool = False
    """Whether a MutatingWebhookConfiguration of the same name asks about pods that are bound."""
    topology_from_labels: str = ""
    """How the labels of a node tell where such a pod is; see placing.py."""
    pods_eviction: bool = False
    """Whether we are asked about evictions."""

    @property
    def names(self) -> tuple[str, ...]:
        short = f"{self.service.name}.{self.service.namespace}"
        return (self.service.name, short, f"{short}.svc", f"{short}.svc.cluster.local")


@dataclass(frozen=True, slots=True)
class WebhookOptions:
    place: Place
    port: int
    settings: Settings
    secure_metrics: Endpoint | None = None


def webhook_process(means: Means, options: WebhookOptions) -> Manager:
    """The process, ready to run; it is ready once it has a certificate and listens."""
    serving = Serving()
    server = AdmissionServer(_handlers(means, options.place), means.monotonic, means.metrics)

    async def serve(started: Started) -> None:
        await server.serve(serving, EVERYWHERE, options.port, lambda _: started())

    parts = [
        *metrics_parts(means, options.secure_metrics),
        _certificates(means, options.place, serving),
        Part("reviews", serve),
    ]
    return Manager(parts, means.monotonic, means.metrics, options.settings)


def _handlers(means: Means, place: Place) -> dict[str, Handler]:
    known = handlers(ClientLookups(means.client))
    if place.pods_binding:
        known[binding.PATH] = binding.handler(means.client, place.topology_from_labels)
    if place.pods_eviction:
        known[eviction.PATH] = eviction.handler(means.client, means.wall)
    return known


def _certificates(means: Means, place: Place, serving: Serving) -> Part:
    if place.certificates is None:
        webhooks = [Webhooks(kind, place.configuration) for kind in _configurations(place)]
        store = ClientStore(means.client, place.secret, webhooks)
        return Part(
            "certificates", Rotation(store, serving, Terms(names=place.names), means.wall).run
        )
    folder = place.certificates

    async def follow(started: Started) -> None:
        started()
        await follow_folder(serving, folder)

    return Part("certificates", follow)


def _configurations(place: Place) -> tuple[Kind, ...]:
    if place.pods_binding:
        return (kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS)
    return (kinds.VALIDATING_WEBHOOKS,)
