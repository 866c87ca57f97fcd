"""kubectl, as a person would call it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windlass.local.process import run


@dataclass(frozen=True, slots=True)
class Kubectl:
    """One program and the cluster it speaks to."""

    program: Path
    kubeconfig: Path

    def __call__(self, *words: str, text: str | None = None) -> str:
        return run(self.command(*words), text=text)

    def command(self, *words: str) -> list[str]:
        return [str(self.program), f"--kubeconfig={self.kubeconfig}", *words]

    def get(self, *words: str) -> Any:
        """The objects as data; None where there are none of that name."""
        answer = self("get", *words, "-o", "json", "--ignore-not-found")
        return json.loads(answer) if answer.strip() else None

    def apply(self, manifest: str) -> None:
        self(
            *("apply", "--server-side", "--force-conflicts"),
            *("--field-manager=windlass-local", "-f", "-"),
            text=manifest,
        )
