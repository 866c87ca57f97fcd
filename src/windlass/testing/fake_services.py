"""The addresses of Services, which the API server chooses. Pure."""

from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
_ADDRESSES = ("clusterIP", "clusterIPs")


def addressed(old: Json, new: Json, fresh: Callable[[], str]) -> Json:
    """The new Service with its address: the one it asks for, the one it had, or a fresh one."""
    spec, had = new.get("spec") or {}, (old.get("spec") or {}).get("clusterIP")
    if spec.get("type") == "ExternalName":
        kept = {name: value for name, value in spec.items() if name not in _ADDRESSES}
        return {**new, "spec": kept}
    address = spec.get("clusterIP") or had or fresh()
    return {**new, "spec": {**spec, "clusterIP": address, "clusterIPs": [address]}}
