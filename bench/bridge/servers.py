"""The servers that all is measured on."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from bench.bridge import manifests
from bench.workers.audit import Audit
from bench.workers.servers import LEASE_SECONDS, SLURM, Servers, audited_kube, operator_kubeconfig
from windlass.local import binaries, images
from windlass.local.kubectl import Kubectl
from windlass.local.progress import Display
from windlass.mains import windlass
from windlass.operator.slurmctld import defaults
from windlass.testing import kwok
from windlass.testing.slurm import Besides, RealSlurm

# As the operator has it. Of jobs that ended a while ago Slurm says nothing, or those of one row
# would be read with those of the next.
SCHEDULING: Final = f"SchedulerParameters={defaults.SCHEDULING}\nMinJobAge=10\n"


@contextmanager
def servers() -> Iterator[tuple[Servers, Path]]:
    """And the root file system of the image that the bridge runs in."""
    display = Display(Console(stderr=True))
    with tempfile.TemporaryDirectory(prefix="bench-") as name, ExitStack() as started:
        folder, cache = Path(name), windlass.folders().cache
        programs = binaries.ensure(("kubernetes", "etcd", "kwok"), cache, display)
        root = images.root_of("slurm", cache, display, programs={})
        image = images.root_of("windlass", cache, display, programs={})
        slurm = RealSlurm(
            root, folder / "slurm", Besides(SLURM.conf + SCHEDULING, script=SLURM.script)
        )
        slurm.start()
        started.callback(slurm.stop)
        audit = Audit(folder)
        kube = audited_kube(folder / "kube", programs, audit)
        started.callback(kube.stop)
        kube.masters.start_api()
        _create(kube.kubectl, *manifests.cluster())
        kube.kubectl("wait", "--for=condition=Established", f"crd/{manifests.GROUPS}")
        stages = kwok.like_kubelets(folder, programs)
        nodes = kwok.start(folder, programs, kube.kubectl, LEASE_SECONDS, stages)
        started.callback(nodes.stop)
        yield Servers(kube, audit, slurm, operator_kubeconfig(kube)), image


def _create(kubectl: Kubectl, *objects: dict[str, Any]) -> None:
    for each in objects:
        kubectl("create", "-f", "-", text=json.dumps(each))
