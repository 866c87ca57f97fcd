"""The agent without libslurm: a Transport that ends jobs of a fake Slurm with their exit code."""

from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import json

from windlass.slurm.call import Response
from windlass.slurm.client import TOKEN_HEADER
from windlass.slurm.errors import Errno, Unavailable
from windlass.slurm.transport import Message
from windlass.testing.fake_cluster import FakeCluster, number

OVER: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED", "OUT_OF_MEMORY", "TIMEOUT"})


@dataclass(slots=True)
class FakeAgent:
    """One agent. Set `cut` and it is away; `refuses` is the number by which it refuses all."""

    cluster: FakeCluster
    cut: bool = False
    refuses: int = 0
    bad_tokens: set[str] = field(default_factory=set)
    calls: list[list[int]] = field(default_factory=list)
    """The jobs of every request so far."""

    async def round_trip(self, message: Message) -> Response:
        if self.cut:
            raise Unavailable("the fake agent is away")
        if message.headers[TOKEN_HEADER] in self.bad_tokens:
            return _said({"error": "slurmctld says: Protocol authentication error"}, 401)
        ends = json.decode(message.body)["ends"]
        self.calls.append([each["job"] for each in ends])
        return _said({"ends": [self._ended(each) for each in ends]})

    async def close(self) -> None:
        """There is nothing to close."""

    def _ended(self, end: dict[str, Any]) -> dict[str, Any]:
        job = self.cluster.jobs.get(end["job"])
        if self.refuses:
            return _failed(end, self.refuses)
        if job is None:
            return _failed(end, Errno.ESLURM_INVALID_JOB_ID)
        if OVER & {*(job.job_state or ())}:
            return _failed(end, Errno.ESLURM_ALREADY_DONE)
        self.cluster.finish(job.job_id, _state(end), end.get("exit_code", 0))
        job.exit_code.signal.id = number(end.get("signal", 0))
        return {"job": end["job"]}


def _state(end: dict[str, Any]) -> str:
    if end.get("out_of_memory"):
        return "OUT_OF_MEMORY"
    return "FAILED" if end.get("exit_code") or end.get("signal") else "COMPLETED"


def _failed(end: dict[str, Any], errno: int) -> dict[str, Any]:
    return {"job": end["job"], "errno": int(errno), "error": f"Slurm's text of {errno}"}


def _said(answer: dict[str, Any], status: int = 200) -> Response:
    return Response(status, is_json=True, body=json.encode(answer))
