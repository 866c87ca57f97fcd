"""What the program beside slurmctld says of the configuration: what is in force, and why not."""

import hashlib
import hmac

import msgspec

from windlass.kube.meta import Part


class Complaint(Part, frozen=True, gc=False):
    """Why slurmctld goes on with another configuration."""

    message: str = ""
    file: str | None = None
    line: int | None = None
    key: str | None = None


class Report(Part, frozen=True, gc=False):
    candidate: str = ""
    """The fingerprint of the files that it was given."""
    in_force: str = ""
    """The fingerprint of what slurmctld runs with; empty until it answered."""
    keys: str = ""
    ok: bool = False
    error: Complaint | None = None
    slurm: str = ""
    """Slurm's version, where it is told."""
    at: str = ""

    def settled(self, fingerprint: str) -> bool:
        """Whether these files are in force or refused."""
        return self.candidate == fingerprint and (self.ok or self.error is not None)


class Untrusted(Exception):
    """Somebody answered who does not know the cluster's key, or does not speak like the program."""


def read(body: bytes, signature: str, nonce: str, key: bytes) -> Report:
    """The report that was given for this nonce; the key is the cluster's JWT key."""
    wanted = hmac.new(key, nonce.encode() + body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(wanted.encode(), signature.encode(errors="replace")):
        raise Untrusted("the report is not signed with the JWT key of the cluster")
    try:
        return msgspec.json.decode(body, type=Report)
    except msgspec.DecodeError as error:
        raise Untrusted(f"the report cannot be read: {error}") from error
