"""slurm.jwks: several keys of auth/slurm at once, one of which signs. Pure.

Slurm takes this file where there is one beside slurm.key. A message names the key it is signed
with; one that names none, of a daemon that has only a slurm.key, is held against the key that
signs here. So a key is replaced in steps, and every daemon has read one step before the next:

>>> before = KeySet.of(b"old key of 32 bytes or more ...", "2025")
>>> both = before.adding(b"new key of 32 bytes or more ...", "2026")
>>> both.signs, both.signing_with("2026").signs
('2025', '2026')
>>> list(both.signing_with("2026").without("2025").keys)
['2026']
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from windlass.values.malformed import Malformed

FILE: Final = "slurm.jwks"
SHORTEST: Final = 16
"""Slurm refuses keys of fewer bytes."""


@dataclass(frozen=True, slots=True)
class KeySet:
    keys: Mapping[str, bytes] = field(repr=False)
    """By their id, in the order they came."""
    signs: str

    def __post_init__(self) -> None:
        if self.signs not in self.keys:
            raise ValueError(f"{self.signs!r} is to sign and is none of the keys")
        for name, key in self.keys.items():
            if not name or len(key) < SHORTEST:
                raise ValueError(f"key {name!r}: it needs a name and {SHORTEST} bytes at least")

    @classmethod
    def of(cls, key: bytes, name: str) -> "KeySet":
        """A key alone: what slurm.key was."""
        return cls({name: key}, name)

    def adding(self, key: bytes, name: str) -> "KeySet":
        """With one more that is known and does not sign yet."""
        if name in self.keys:
            raise ValueError(f"there is a key {name!r} already")
        return replace(self, keys={**self.keys, name: key})

    def signing_with(self, name: str) -> "KeySet":
        return replace(self, signs=name)

    def without(self, name: str) -> "KeySet":
        """What it signed counts no more."""
        return replace(self, keys={each: key for each, key in self.keys.items() if each != name})

    @classmethod
    def parse(cls, text: str) -> "KeySet":
        """The keys of a file."""
        try:
            entries = json.loads(text)["keys"]
            keys = {entry["kid"]: base64.b64decode(entry["k"], validate=True) for entry in entries}
            (signs,) = (entry["kid"] for entry in entries if entry.get("use") == "default")
            if len(keys) < len(entries):
                raise ValueError("two keys of one name")  # noqa: TRY301 - as bad as the others
            return cls(keys, signs)
        except (AttributeError, binascii.Error, KeyError, TypeError, ValueError) as error:
            # No part of the text is shown: it is secret.
            raise Malformed(
                FILE, "", 0, f"this is no set of keys ({type(error).__name__})", _FORM
            ) from error

    def __str__(self) -> str:
        entries = [self._entry(name, key) for name, key in self.keys.items()]
        return json.dumps({"keys": entries}, indent=1) + "\n"

    def _entry(self, name: str, key: bytes) -> dict[str, Any]:
        entry = {"alg": "HS256", "kty": "oct", "kid": name, "k": base64.b64encode(key).decode()}
        return {**entry, "use": "default"} if name == self.signs else entry


_FORM: Final = (
    'write {"keys": [{"kid": ..., "k": ...}]} and "use": "default" for the one that signs'
)
