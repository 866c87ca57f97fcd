"""What the operator wrote, as the API server's own audit log has it."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

USER: Final = "windlass-operator"
LATE: Final = 1.5
"""Seconds after which a request that was answered is in the log."""

# Only answers to changes need their version; that of what is made is always new.
POLICY: Final[dict[str, Any]] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            "level": "RequestResponse",
            "users": [USER],
            "verbs": ["patch", "update"],
            "omitManagedFields": True,
        },
        {
            "level": "Metadata",
            "users": [USER],
            "verbs": ["create", "delete", "deletecollection"],
        },
        {"level": "None"},
    ],
}


class Reference(msgspec.Struct, frozen=True, rename="camel"):
    resource: str = ""
    subresource: str = ""
    name: str = ""


class Code(msgspec.Struct, frozen=True):
    code: int = 0


class Version(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class Answered(msgspec.Struct, frozen=True):
    metadata: Version = Version()


class Write(msgspec.Struct, frozen=True, rename="camel"):
    """One line of the log."""

    verb: str
    object_ref: Reference = Reference()
    response_status: Code = Code()
    response_object: Answered = Answered()
    request_received_timestamp: str = ""
    stage_timestamp: str = ""

    @property
    def what(self) -> str:
        target = self.object_ref
        whole = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
        return f"{self.verb} {whole}"

    @property
    def refused(self) -> bool:
        return self.response_status.code >= 300

    @property
    def version(self) -> int:
        """Of the object as answered; 0 where the log does not have it."""
        text = self.response_object.metadata.resource_version
        return int(text) if text.isdigit() and not self.refused else 0


@dataclass(frozen=True, slots=True)
class Audit:
    """The log in a folder, and the flags by which the API server writes it."""

    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "audit.log"

    def flags(self) -> list[str]:
        policy = self.folder / "audit-policy.json"
        policy.write_text(json.dumps(POLICY))
        return [
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self.log}",
            "--audit-log-maxsize=100000",
            "--audit-log-mode=batch",
            "--audit-log-batch-max-wait=1s",
            "--audit-log-batch-buffer-size=200000",
        ]

    def place(self) -> int:
        """Where the log ends now."""
        return self.log.stat().st_size if self.log.exists() else 0

    def since(self, place: int) -> list[Write]:
        """All but the leader's lease."""
        with self.log.open("rb") as log:
            log.seek(place)
            *lines, _ = log.read().split(b"\n")  # the last may be half written
        return [one for one in map(read, lines) if one.object_ref.resource != "leases"]


read: Final = msgspec.json.Decoder(Write).decode


def kinds(writes: Iterable[Write]) -> Counter[str]:
    return Counter(one.what for one in writes)


def without_effect(writes: Sequence[Write]) -> list[Write]:
    """Writes that changed nothing.

    Versions are counted by etcd for all objects together: an answer whose version is not newer than
    one that was answered before the request came is that of an object left as it was.
    """
    answered = sorted((one.stage_timestamp, one.version) for one in writes if one.version)
    found, newest, at = [], 0, 0
    for one in sorted(writes, key=lambda each: each.request_received_timestamp):
        while at < len(answered) and answered[at][0] < one.request_received_timestamp:
            newest = max(newest, answered[at][1])
            at += 1
        if one.version and one.version <= newest:
            found.append(one)
    return found
