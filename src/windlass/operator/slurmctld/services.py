"""The Services before slurmctld."""

from ipaddress import AddressValueError, IPv4Address

from windlass.api import names
from windlass.api.controller import Controller
from windlass.kube.kinds import CONTROLLER
from windlass.operator.plan import Body
from windlass.operator.pods.service import Door, service
from windlass.operator.slurmctld import identity, words

PORT_NAME = "slurmctld"
OPEN = frozenset({"NodePort", "LoadBalancer"})
"""Types of Services that are there for machines outside of the cluster."""


def internal_service(controller: Controller) -> Body:
    """Gives each pod a name of its own, as soon as it has an address."""
    door = Door(
        name=names.slurmctld_internal(controller.metadata.name),
        port_name=PORT_NAME,
        port=identity.port(controller),
        target=PORT_NAME,
        labels={**words.labels_of(controller), words.SERVICE: words.INTERNAL},
        selector=words.selector_of(controller),
        headless=True,
    )
    return service(controller.metadata, CONTROLLER, door)


def cluster_ip(service: Body) -> str:
    """The address of a Service that Slurm can use as it is; "" for one without.

    Slurm speaks IPv6 only where it was told to. Who comes from outside cannot use a cluster IP, but
    may know the name.
    """
    spec = service.get("spec") or {}
    found = "" if spec.get("type") in OPEN else str(spec.get("clusterIP") or "")
    try:
        return str(IPv4Address(found))
    except AddressValueError:  # None for a headless one
        return ""


def client_service(controller: Controller) -> Body:
    """Where everybody finds slurmctld.

    One alone is there before it is ready, so that workers come back with it. Of several only the
    active one is ready, and only it may be found.
    """
    door = Door(
        name=names.slurmctld(controller.metadata.name),
        port_name=PORT_NAME,
        port=names.SLURMCTLD_PORT,
        target=PORT_NAME,
        labels=words.labels_of(controller),
        selector=words.selector_of(controller),
        publish_unready=identity.replicas(controller) == 1,
    )
    return service(controller.metadata, CONTROLLER, door, controller.spec.service)
