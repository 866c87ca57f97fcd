"""A client of the agent beside slurmrestd, which ends external jobs with their exit code.

What is to be ended while a call is under way goes together in the next one.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Final

import msgspec

from windlass.slurm.call import Response
from windlass.slurm.client import TOKEN_HEADER, one_line
from windlass.slurm.errors import Errno, Fault, SlurmError, Unavailable, error_for, error_of_status
from windlass.slurm.tokens import Tokens
from windlass.slurm.transport import Message, Transport

PATH: Final = "/windlass/v1/ends"
AT_ONCE: Final = 500
OVER: Final = frozenset({Errno.ESLURM_INVALID_JOB_ID, Errno.ESLURM_ALREADY_DONE})
OK: Final = 200
BY_SIGNAL: Final = range(129, 129 + 64)
MOST: Final = 255


class Ending(msgspec.Struct, frozen=True, omit_defaults=True):
    """How what ran for a job ended: well, or with one of these."""

    exit_code: int = 0
    signal: int = 0
    out_of_memory: bool = False

    @classmethod
    def of(cls, code: int) -> "Ending":
        """From a code as a shell gives it: 128 + n if signal n was the end."""
        if code in BY_SIGNAL:
            return cls(signal=code - 128)
        return cls(exit_code=code if 0 <= code <= MOST else MOST)


class _Answer(msgspec.Struct):
    job: int
    errno: int = 0
    error: str = ""


class _Answers(msgspec.Struct):
    ends: list[_Answer] = []
    error: str = ""


@dataclass(slots=True, eq=False)
class _Waiting:
    job: int
    how: Ending
    told: asyncio.Future[None]


@dataclass(slots=True)
class Agent:
    """Any number of tasks may share it."""

    transport: Transport
    tokens: Tokens
    _waiting: list[_Waiting] = field(default_factory=list, init=False)
    _calling: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def end(self, job: int, how: Ending) -> None:
        """Raises Absent where it has ended already, and what the agent or Slurm says otherwise.

        An Unavailable with a number comes from slurmctld; without one, the agent is not reached.
        """
        told = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(job, how, told))
        try:
            async with self._calling:
                while not told.done():
                    await self._call()
            await told
        finally:
            told.cancel()  # where this task was: nobody asks for it then

    async def _call(self) -> None:
        """All that wait, whoever of them calls; one who is cancelled leaves it to the next."""
        self._waiting = [each for each in self._waiting if not each.told.done()]
        batch = self._waiting[:AT_ONCE]
        try:
            answers = await self._asked(batch)
        except SlurmError as error:
            for each in batch:
                _tell(each, error)
            return
        for each, answer in zip(batch, answers, strict=True):
            fault = Fault(answer.errno, answer.error)
            failed = error_for(fault, absent=OVER, safe=False) if answer.errno else None
            _tell(each, failed)

    async def _asked(self, batch: list[_Waiting]) -> list[_Answer]:
        ends = [{"job": each.job, **msgspec.to_builtins(each.how)} for each in batch]
        message = Message(
            method="POST",
            target=PATH,
            headers={TOKEN_HEADER: one_line(self.tokens.token())},
            body=msgspec.json.encode({"ends": ends}),
        )
        answers = _read(await self.transport.round_trip(message))
        if [each.job for each in answers] != [each.job for each in batch]:
            raise Unavailable("the agent answers for other jobs", sent=True)
        return answers


def _read(response: Response) -> list[_Answer]:
    try:
        answers = msgspec.json.decode(response.body, type=_Answers)
    except msgspec.DecodeError as error:
        answers = _Answers(error=f"the agent's answer makes no sense: {error}")
    if response.status != OK:
        raise error_of_status(response.status, answers.error)
    if answers.error:
        raise Unavailable(answers.error, sent=True)
    return answers.ends


def _tell(waiting: _Waiting, error: SlurmError | None) -> None:
    if waiting.told.done():
        return
    if error is None:
        waiting.told.set_result(None)
    else:
        waiting.told.set_exception(error)
