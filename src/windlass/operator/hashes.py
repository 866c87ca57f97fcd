"""Fingerprints of content: equal content, equal text, whatever the order it was met in."""

import hashlib
from collections.abc import Mapping


def digest(*parts: bytes | str) -> str:
    """One text for these parts in this order; ("a", "b") and ("ab",) differ."""
    known = hashlib.sha256()
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        known.update(len(content).to_bytes(8, "big"))
        known.update(content)
    return known.hexdigest()


def digest_map(entries: Mapping[str, bytes | str]) -> str:
    """One text for a map; empty for an empty one."""
    if not entries:
        return ""
    return digest(*(part for name in sorted(entries) for part in (name, entries[name])))
