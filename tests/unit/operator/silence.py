"""A Slurm that never answers."""

from typing import TypeVar

from windlass.operator.slurms.seen import Seen
from windlass.slurm.call import Request
from windlass.slurm.errors import Unavailable
from windlass.values.key import Key

R = TypeVar("R")


class Silent:
    async def send(self, at: Key, request: Request[R]) -> R:
        raise Unavailable(f"nobody answers {request.path} for {at}")

    async def fresh(self, at: Key) -> Seen | None:
        return None
