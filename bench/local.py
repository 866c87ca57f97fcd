"""How fast the local cluster comes and goes, with a warm cache: `make bench`.

The floor of `up`, an etcd and an API server alone, is measured in the same run and the ratio is
printed. The rest are the figures of one run beside their limits.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from windlass.local import binaries, parts
from windlass.local.cluster import Cluster
from windlass.local.helm import Helm
from windlass.local.layout import sources
from windlass.local.progress import Display
from windlass.local.slurm import IMAGES, Slurm
from windlass.mains import windlass
from windlass.testing import kube

NAME = "windlass-bench"


def seconds(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def show(what: str, took: float, limit: float | None = None, floor: float | None = None) -> None:
    bounds = f"  limit {limit:g} s" if limit else ""
    ratio = f"  floor {floor:.1f} s, ratio {took / floor:.1f}" if floor else ""
    print(f"{what:<44}{took:7.1f} s{bounds}{ratio}", flush=True)


def api_server_alone(cluster: Cluster) -> float:
    """The floor of `up`: etcd and an API server on loopback, nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        server = kube.start(Path(folder), cluster.folders.cache, cluster.display, cluster.now())
        took = time.monotonic() - started
        server.stop()
    return took


def main() -> None:
    display = Display(Console(quiet=True))
    cluster = Cluster(windlass.folders(), NAME, display, windlass.now)
    cluster.down()
    parts.ensure(cluster.folders.cache, display, IMAGES)
    try:
        floor = api_server_alone(cluster)
        up = seconds(lambda: cluster.up(2))
        show("up --nodes 2, all nodes Ready, add-ons there", up, limit=45, floor=floor)
        load = seconds(lambda: [cluster.load_image(name) for name in IMAGES])
        show(f"image load, {len(IMAGES)} images, 2 nodes", load)
        job = seconds(lambda: _slurm_job(cluster))
        show("operator and Slurm installed, a job done", job)
        show("from nothing to a finished job", up + load + job, limit=120)
        show("up again, nothing to do", seconds(cluster.up))
        show("node add", seconds(lambda: cluster.add_node("extra")))
        show("node kill", seconds(lambda: cluster.kill_node("extra")))
        show("node start", seconds(lambda: cluster.start_node("extra")))
    finally:
        show("down", seconds(cluster.down), limit=15)


def _slurm_job(cluster: Cluster) -> None:
    programs = binaries.ensure(("helm",), cluster.folders.cache, cluster.display)
    helm = Helm(programs["helm"], cluster.kubectl.kubeconfig)
    values = {"accounting": {"enabled": True}, "mariadb": {"enabled": True}}
    slurm = Slurm(cluster.kubectl, helm, sources("charts"), values)
    slurm.install_operator()
    slurm.install()
    slurm.wait_until_idle()
    slurm.run_job()


if __name__ == "__main__":
    main()
