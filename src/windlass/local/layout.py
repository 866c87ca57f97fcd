"""Where things are kept: what can be made again (cache), and what a cluster is (state)."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from windlass.local.errors import LocalError

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Folders:
    """The two folders of the user, found by mains from XDG_CACHE_HOME and XDG_STATE_HOME."""

    cache: Path
    state: Path


def sources(kind: str) -> Path:
    """The Go modules (`binaries`) or Containerfiles (`images`): in a checkout, or in the wheel."""
    for top in (_HERE.parents[2], _HERE / "sources"):
        if (top / kind).is_dir():
            return top / kind
    raise LocalError(
        f"the folder {kind}/ is missing from this installation; install windlass again"
    )


def fingerprint(*parts: str | bytes) -> str:
    """A short name for exact content; the same content gives the same name on every machine."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:16]
