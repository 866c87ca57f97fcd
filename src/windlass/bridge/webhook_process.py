"""The admission server of the bridge as one process. Every replica serves."""

from dataclasses import dataclass
from pathlib import Path

from windlass.bridge.admission import Rules
from windlass.bridge.process import Means
from windlass.bridge.webhooks import handlers, looking
from windlass.kube import kinds
from windlass.kube.admission import AdmissionServer
from windlass.kube.certificate_store import ClientStore, Webhooks
from windlass.kube.certificates import Terms
from windlass.kube.manager import Manager, Settings
from windlass.kube.parts import Part, Started
from windlass.kube.rotation import Rotation
from windlass.kube.serving import Serving, follow_folder
from windlass.values.key import Key

EVERYWHERE = "0.0.0.0"  # noqa: S104 - the API server comes from outside


@dataclass(frozen=True, slots=True)
class Place:
    """Where the webhook is reached, and how it is trusted."""

    service: Key
    secret: Key
    configuration: str
    """The name of both webhook configurations."""
    port: int = 9443
    certificates: Path | None = None
    """A mounted Secret that somebody else renews; None where we make our own."""

    @property
    def names(self) -> tuple[str, ...]:
        short = f"{self.service.name}.{self.service.namespace}"
        return (self.service.name, short, f"{short}.svc", f"{short}.svc.cluster.local")


def webhook_process(means: Means, rules: Rules, place: Place, settings: Settings) -> Manager:
    """The process, ready to run; it is ready once it has a certificate and listens."""
    serving = Serving()
    known = handlers(looking(means.client), rules)
    server = AdmissionServer(known, means.monotonic, means.metrics)

    async def serve(started: Started) -> None:
        await server.serve(serving, EVERYWHERE, place.port, lambda _: started())

    parts = [_certificates(means, place, serving), Part("reviews", serve)]
    return Manager(parts, means.monotonic, means.metrics, settings)


def _certificates(means: Means, place: Place, serving: Serving) -> Part:
    if place.certificates is None:
        both = (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS)
        webhooks = [Webhooks(kind, place.configuration) for kind in both]
        store = ClientStore(means.client, place.secret, webhooks)
        terms = Terms(names=place.names)
        return Part("certificates", Rotation(store, serving, terms, means.wall).run)
    folder = place.certificates

    async def follow(started: Started) -> None:
        started()
        await follow_folder(serving, folder)

    return Part("certificates", follow)
