"""The Service before a daemon: the user's, with the daemon's port and selector."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from windlass.api.common import ServiceTemplate
from windlass.kube.kinds import Kind
from windlass.kube.meta import Meta
from windlass.operator import owned
from windlass.operator.pods.merge import merge_service_spec


@dataclass(frozen=True, kw_only=True, slots=True)
class Door:
    """Where a daemon is reached."""

    name: str
    port_name: str
    port: int
    target: int | str
    labels: Mapping[str, str]
    selector: Mapping[str, str]
    headless: bool = False
    publish_unready: bool = False
    beside: tuple[Mapping[str, Any], ...] = ()
    """More ports of the same pods."""


def service(
    owner: Meta, kind: Kind, door: Door, template: ServiceTemplate | None = None
) -> dict[str, Any]:
    """A Service as the user wants it, that leads to the daemon whatever else it does."""
    template = template or ServiceTemplate()
    user = template.metadata
    labels = {**((user.labels if user else None) or {}), **door.labels}
    annotations = (user.annotations if user else None) or {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": owned.metadata(owner, kind, door.name, labels, annotations),
        "spec": _spec(door, template),
    }


def port_of(template: ServiceTemplate, usual: int) -> int:
    """The port that clients use."""
    return template.port or usual


def _spec(door: Door, template: ServiceTemplate) -> dict[str, Any]:
    spec = merge_service_spec({}, template.spec)
    spec["ports"] = [*(spec.get("ports") or ()), _port(door, template), *door.beside]
    spec["selector"] = {**(spec.get("selector") or {}), **door.selector}
    if door.headless:
        spec["clusterIP"] = "None"
    if door.headless or door.publish_unready:
        spec["publishNotReadyAddresses"] = True
    return spec


def _port(door: Door, template: ServiceTemplate) -> dict[str, Any]:
    port: dict[str, Any] = {
        "name": door.port_name,
        "port": port_of(template, door.port),
        "targetPort": door.target,
        "protocol": "TCP",
    }
    if template.node_port:
        port["nodePort"] = template.node_port
    return port
