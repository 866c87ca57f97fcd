"""`windlass up`: from nothing to a Slurm job that has run."""

from pathlib import Path
from typing import Annotated

import typer

from windlass.local import binaries
from windlass.local.cluster import DEFAULT_NAME
from windlass.local.commands import Name, Nodes, World
from windlass.local.errors import LocalError
from windlass.local.kubectl import Kubectl
from windlass.local.slurm import Slurm


def up(
    ctx: typer.Context,
    name: Name = DEFAULT_NAME,
    nodes: Nodes = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            help="Install on this cluster; the machine is not touched.", show_default=False
        ),
    ] = None,
    image: Annotated[
        str | None,
        typer.Option(help="With --kubeconfig: a Slurm image that cluster can pull."),
    ] = None,
) -> None:
    """Bring up Kubernetes with Slurm on it, and run a job."""
    world: World = ctx.obj
    slurm = _elsewhere(world, kubeconfig, image) if kubeconfig else _here(world, name, nodes)
    with world.display.step("Slurm: slurmctld and two workers"):
        slurm.install()
        slurm.wait_until_idle()
    with world.display.step("a job on both workers"):
        output = slurm.run_job()
    world.display.say(f"\n$ srun --nodes=2 --label ...\n{output}")
    world.display.say(f"where the time went:\n{world.display.summary()}\n")
    world.display.say(_next_steps(slurm.kubectl.kubeconfig))


def _here(world: World, name: str, nodes: int | None) -> Slurm:
    cluster = world.cluster(name)
    cluster.up(nodes)
    return Slurm(cluster.kubectl, cluster.load_image("slurm").reference)


def _elsewhere(world: World, kubeconfig: Path, image: str | None) -> Slurm:
    if not kubeconfig.is_file():
        raise LocalError(f"--kubeconfig {kubeconfig}: there is no such file")
    if image is None:
        raise LocalError("--kubeconfig needs --image: a Slurm image that the cluster can pull")
    programs = binaries.ensure(("kubernetes",), world.folders.cache, world.display)
    return Slurm(Kubectl(programs["kubectl"], kubeconfig), image)


def _next_steps(kubeconfig: Path) -> str:
    return (
        "Slurm is up. What next:\n"
        "  export PATH=$PWD/.venv/bin:$PATH KUBECONFIG="
        f"{kubeconfig}\n"
        "  windlass local kubectl get pods -A\n"
        "  windlass local kubectl exec -n slurm -it slurmctld-0 -- sinfo\n"
        "  windlass local kubectl exec -n slurm -it slurmctld-0 -- srun -N2 hostname\n"
        "  make down        # takes everything away again"
    )
