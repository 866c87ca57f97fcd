"""Where people reach the login pods."""

from collections.abc import Mapping
from typing import Any

from windlass.operator.logins import words


def address(service: Mapping[str, Any] | None, domain: str) -> str:
    """`host:port`, from outside if the Service is open to it; empty before there is one."""
    if service is None:
        return ""
    port = _login_port(service)
    balanced = (service.get("status", {}).get("loadBalancer") or {}).get("ingress") or ()
    for entry in balanced:
        host = entry.get("hostname") or entry.get("ip")
        if host:
            return f"{_bracketed(host)}:{port.get('port')}"
    if port.get("nodePort"):
        return f"<node>:{port['nodePort']}"
    meta = service["metadata"]
    return f"{meta['name']}.{meta['namespace']}.svc.{domain}:{port.get('port')}"


def _login_port(service: Mapping[str, Any]) -> Mapping[str, Any]:
    ports = service.get("spec", {}).get("ports") or ()
    return next((port for port in ports if port.get("name") == words.PORT_NAME), {})


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
