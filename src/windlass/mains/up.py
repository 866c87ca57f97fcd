"""`windlass up`: from nothing to a Slurm job that has run."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from windlass.local import binaries, ssh_key
from windlass.local.cluster import DEFAULT_NAME
from windlass.local.commands import Name, Nodes, World
from windlass.local.errors import LocalError
from windlass.local.helm import Helm
from windlass.local.images import Workshop
from windlass.local.kubectl import Kubectl
from windlass.local.layout import sources
from windlass.local.slurm import IMAGES, OPERATOR_NAMESPACE, Slurm

MODULES = ("kubernetes", "helm")
DAEMONS = ("slurmctld", "slurmd", "slurmdbd", "slurmrestd", "login")


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
    registry: Annotated[
        str | None,
        typer.Option(help="With --kubeconfig: where that cluster pulls our images from."),
    ] = None,
) -> None:
    """Bring up Kubernetes with Slurm on it, and run a job."""
    world: World = ctx.obj
    key = ssh_key.ensure(world.folders.state / "ssh")
    if kubeconfig:
        slurm, operator = _elsewhere(world, kubeconfig, key, _references(world, registry))
    else:
        slurm, operator = _here(world, name, nodes, key)
    with world.display.step("the operator"):
        slurm.install_operator(operator)
        slurm.kubectl(
            *("rollout", "status", "deployment", "--timeout=120s", "-n", OPERATOR_NAMESPACE)
        )
    with world.display.step("Slurm: slurmctld, slurmdbd, slurmrestd, a login pod, two workers"):
        slurm.install()
        slurm.wait_until_idle()
    with world.display.step("a job on both workers"):
        job = slurm.run_job()
    world.display.say(
        f"\n$ sbatch --nodes=2 ...\n{job.output}\n$ sacct -j {job.number}\n{job.accounted}"
    )
    world.display.say(f"where the time went:\n{world.display.summary()}\n")
    world.display.say(_next_steps(slurm, key))


def _here(world: World, name: str, nodes: int | None, key: Path) -> tuple[Slurm, Mapping[str, Any]]:
    cluster = world.cluster(name)
    cluster.up(nodes)
    loaded = {image: cluster.load_image(image) for image in IMAGES}
    # The tag of a rebuilt image is the old one, so something else has to roll the pods.
    built = {"podAnnotations": {"windlass.local/image": loaded["windlass"].archive.stem}}
    return _slurm(world, cluster.kubectl.kubeconfig, key), {"operator": built, "webhook": built}


def _elsewhere(
    world: World, kubeconfig: Path, key: Path, images: Mapping[str, str]
) -> tuple[Slurm, Mapping[str, Any]]:
    if not kubeconfig.is_file():
        raise LocalError(f"--kubeconfig {kubeconfig}: there is no such file")
    daemons = {name: images[name] for name in DAEMONS}
    operator = {"operator": {"image": images["windlass"]}, "images": daemons}
    slurm = _slurm(world, kubeconfig, key)
    own = {**slurm.values["mariadb"], "image": images["mariadb"]}
    return replace(slurm, values={**slurm.values, "mariadb": own}), operator


def _slurm(world: World, kubeconfig: Path, key: Path) -> Slurm:
    programs = binaries.ensure(MODULES, world.folders.cache, world.display)
    return Slurm(
        Kubectl(programs["kubectl"], kubeconfig),
        Helm(programs["helm"], kubeconfig),
        sources("charts"),
        _values(key.with_suffix(".pub").read_text().strip()),
    )


def _values(public_key: str) -> Mapping[str, Any]:
    """A cluster to look around in: with accounting, and a port of the nodes for ssh."""
    login = {
        "rootSshAuthorizedKeys": public_key,
        "service": {"spec": {"type": "NodePort"}},
    }
    return {
        "accounting": {"enabled": True},
        "mariadb": {"enabled": True},
        "starter": {"nodeset": {"replicas": 2}, "loginset": login},
    }


def _references(world: World, registry: str | None) -> dict[str, str]:
    """Our images by name, as another cluster pulls them."""
    if registry is None:
        raise LocalError(
            "--kubeconfig needs --registry: the prefix under which that cluster finds the images "
            f"{', '.join(IMAGES)}"
        )
    workshop = Workshop(world.folders.cache, world.display, {}, sources("images"))
    names = {name: workshop.reference(name).rpartition("/")[2] for name in IMAGES}
    return {name: f"{registry.rstrip('/')}/{tagged}" for name, tagged in names.items()}


def _next_steps(slurm: Slurm, key: Path) -> str:
    address = slurm.ssh_address()
    ssh = f"  ssh -i {key} -p {address[1]} root@{address[0]}\n" if address else ""
    return (
        "Slurm is up. What next:\n"
        "  export PATH=$PWD/.venv/bin:$PATH KUBECONFIG="
        f"{slurm.kubectl.kubeconfig}\n"
        f"{ssh}"
        "  windlass local kubectl get slurm -n slurm\n"
        "  windlass local kubectl exec -n slurm -it deploy/slurm-login-slinky -- sinfo\n"
        "  make down        # takes everything away again"
    )
