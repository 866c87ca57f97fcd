"""Server-side apply that is sent only where the live object differs: `apply.py` put to use."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from windlass.kube import requests
from windlass.kube.apply import differences
from windlass.kube.kinds import Kind
from windlass.kube.requests import FieldManager, Sends, Subresource
from windlass.kube.wire import Document


@dataclass(frozen=True, slots=True)
class Rendered:
    """An object as it should be, or one subresource of it; `body` brings name and namespace."""

    kind: Kind
    body: Mapping[str, Any]
    subresource: Subresource = ""


@dataclass(frozen=True, slots=True)
class Applied:
    """What was sent, because of which fields, and what became of it."""

    rendered: Rendered
    fields: tuple[str, ...]
    answer: Document


async def apply_if_different(
    client: Sends, rendered: Rendered, live: Document | None, manager: FieldManager
) -> Applied | None:
    """Apply what was rendered; None, and nothing is sent, where `live` shows it already.

    `live` comes from a cache. Where that lags behind, what is sent changes nothing or brings back
    what is rendered: never worse than a pass too many.
    """
    kind, body, subresource = rendered.kind, rendered.body, rendered.subresource
    fields = differences(body, live.body if live else {}, manager.name, subresource)
    if not fields:
        return None
    answer = await client.send(requests.apply(kind, body, manager, Document, subresource))
    return Applied(rendered, fields, answer)
