"""A call to slurmrestd as a value, and how its response is read. Pure: client.py sends it.

requests.py, slurmdb.py ─> Request ─> client.py ─> Response ─> read() ─> model, or an error
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import quote, urlencode

from msgspec import DecodeError, ValidationError, json

from windlass.slurm.encoding import encoded, needs
from windlass.slurm.errors import Absent, Fault, Unavailable, error_for, error_of_status
from windlass.slurm.versions import Feature, Version
from windlass.slurm.wire import Answer

T = TypeVar("T")
A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True)
class Request(Generic[T]):
    """One call; make it with the functions of requests.py and slurmdb.py."""

    method: str
    path: str
    answer: type[Answer]
    reader: Callable[..., T]
    """From `answer` to what the caller wants."""
    body: object = None
    query: tuple[tuple[str, str], ...] = ()
    absent: frozenset[int] = frozenset()
    """The error numbers by which this call says that its object does not exist."""
    silence: frozenset[int] = frozenset()
    """The error numbers by which this call says that slurmctld did not answer."""
    feature: Feature | None = None
    api: str = "slurm"
    safe: bool = False
    """A read: sending it twice does no harm."""

    def target(self, version: Version) -> str:
        """The path and query of the URL."""
        query = f"?{urlencode(self.query)}" if self.query else ""
        return f"/{self.api}/{version.path}{self.path}{query}"

    def content(self, version: Version) -> bytes:
        """The body as bytes; raises Unsupported where this version cannot say it."""
        if self.feature is not None:
            needs(version, self.feature)
        return b"" if self.body is None else json.encode(encoded(self.body, version))


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    is_json: bool
    body: bytes | bytearray


def segment(name: str) -> str:
    """A name as one part of a path."""
    return quote(name, safe="")


NOT_MODIFIED = 304


def read(request: Request[T], response: Response) -> T:
    """What the caller asked for, or the error that the answer is."""
    if response.status == NOT_MODIFIED:
        if request.method == "DELETE":  # slurmdbd's way to say that there was no such thing
            raise Absent(f"there was nothing to delete at {request.path}")
        return request.reader(request.answer())
    if not response.is_json:
        raise error_of_status(response.status, response.body.decode(errors="replace"))
    answer = _decoded(request, response)
    faults = [
        Fault(each.error_number, each.error, each.description) for each in answer.errors or ()
    ]
    if not _is_about_absence(request, response.status, faults):
        for fault in faults:
            absent, silence = request.absent, request.silence
            raise error_for(fault, absent=absent, safe=request.safe, silence=silence)
    if response.status >= 400:
        raise error_of_status(response.status, "")
    return request.reader(answer)


def _decoded(request: Request[T], response: Response) -> Answer:
    """A proxy's own JSON is no answer of Slurm: then the status decides."""
    try:
        return decode(request.answer, response.body)
    except Unavailable:
        if response.status < 400:
            raise
        raise error_of_status(response.status, response.body.decode(errors="replace")) from None


def _is_about_absence(request: Request[T], status: int, faults: list[Fault]) -> bool:
    """Slurm reads an unknown node or reservation as a success with the error "No error"."""
    return request.safe and status < 400 and not any(fault.errno for fault in faults)


def decode(kind: type[A], body: bytes | bytearray) -> A:
    try:
        return json.decode(body, type=kind)
    except (DecodeError, ValidationError) as error:
        raise Unavailable(f"slurmrestd's answer makes no sense: {error}", sent=True) from error
