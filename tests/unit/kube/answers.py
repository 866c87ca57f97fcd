"""A client whose answers are written down beforehand."""

import json
from typing import Any

from windlass.kube import wire
from windlass.kube.errors import KubeError
from windlass.kube.requests import Request

Answer = KubeError | dict[str, Any]


class Answers:
    """Gives one after the other, and keeps what was asked."""

    def __init__(self, *answers: Answer) -> None:
        self.left = list(answers)
        self.asked: list[Request[Any]] = []

    async def send(self, request: Request[Any]) -> Any:
        self.asked.append(request)
        answer = self.left.pop(0)
        if isinstance(answer, KubeError):
            raise answer
        return wire.decoder(request.expects).decode(json.dumps(answer))

    @property
    def verbs(self) -> list[str]:
        return [" ".join(request.name) for request in self.asked]

    def body(self, place: int = -1) -> Any:
        return json.loads(self.asked[place].body or b"null")
