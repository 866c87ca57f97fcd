"""Which API server a process speaks to, and as whom."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path

from windlass.kube import kubeconfig
from windlass.kube.access import Access, in_cluster


def access(file: Path | None = None) -> Access:
    """The pod's own, unless a kubeconfig is given or there is no pod around us."""
    environment = dict(os.environ)
    if file is None and "KUBERNETES_SERVICE_HOST" in environment:
        return in_cluster(environment)
    return kubeconfig.load(_files(file, environment), environment, now)


def now() -> datetime:
    return datetime.fromtimestamp(time.time(), UTC)


def boot_time() -> float:
    """Seconds that go on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _files(file: Path | None, environment: dict[str, str]) -> list[Path]:
    if file is not None:
        return [file]
    named = environment.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    return [Path(each) for each in named.split(os.pathsep) if each]
