"""The Service before a daemon: its ports beside the daemon's own."""

from collections.abc import Iterator, Mapping
from typing import Any

from windlass.api.common import ServiceTemplate
from windlass.api.validation.findings import Caution, Finding, Problem

FIELD = "spec.service.spec"


def review(template: ServiceTemplate, name: str, port: int, **beside: int) -> Iterator[Finding]:
    """`name` and `port` are the daemon's, which the operator adds; so are those `beside` it."""
    spec = template.spec or {}
    if spec.get("externalIPs"):
        yield Caution(
            f"{FIELD}.externalIPs",
            "they are left out: whoever may set them can take over traffic of others",
            "use type LoadBalancer or NodePort",
        )
    ports = spec.get("ports") or []
    if not isinstance(ports, list) or not all(isinstance(one, dict) for one in ports):
        yield Problem(f"{FIELD}.ports", "it is no list of ports", "write - name: x, port: 1234")
        return
    own = {name: template.port or port, **beside}
    yield from _unnamed(ports)
    yield from _repeated([{"name": name, "port": port} for name, port in own.items()], ports)


def _unnamed(ports: list[Mapping[str, Any]]) -> Iterator[Finding]:
    for at, port in enumerate(ports):
        if not port.get("name"):
            yield Problem(
                f"{FIELD}.ports[{at}].name",
                "it has no name, and a Service with several ports needs one for each",
                "give it one",
            )


def _repeated(own: list[dict[str, Any]], ports: list[Mapping[str, Any]]) -> Iterator[Finding]:
    names: set[Any] = set()
    numbers: set[Any] = set()
    for at, port in enumerate([*own, *ports], start=-len(own)):
        name = port.get("name")
        number = (port.get("protocol") or "TCP", port.get("port"))
        if name in names:
            yield Problem(
                f"{FIELD}.ports[{at}].name", f"there is another port {name}", "rename one"
            )
        if number in numbers:
            problem = f"port {number[1]} is there already"
            yield Problem(f"{FIELD}.ports[{at}].port", problem, "take it out")
        names |= {name} if name else set()
        numbers.add(number)
