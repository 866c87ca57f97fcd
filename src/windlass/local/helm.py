"""helm, as a person would call it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from windlass.local.process import run


@dataclass(frozen=True, slots=True)
class Helm:
    """One program and the cluster it speaks to."""

    program: Path
    kubeconfig: Path

    def __call__(self, *words: str, text: str | None = None) -> str:
        return run([str(self.program), f"--kubeconfig={self.kubeconfig}", *words], text=text)

    def install(
        self, release: str, chart: Path, namespace: str, values: Mapping[str, Any] | None = None
    ) -> None:
        """Install the chart, or bring what is installed to it; does not wait for pods."""
        self(
            *("upgrade", "--install", release, str(chart), "--namespace", namespace),
            *("--create-namespace", "--values", "-"),
            text=yaml.safe_dump(dict(values or {})),
        )

    def uninstall(self, release: str, namespace: str) -> None:
        self("uninstall", release, "--namespace", namespace, "--ignore-not-found")
