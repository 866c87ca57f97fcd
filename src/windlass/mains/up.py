"""`windlass up`: from nothing to a Slurm job and pods of Slurm's that have run."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from windlass.local import binaries, ssh_key
from windlass.local.bridge import Bridge
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
    """Bring up Kubernetes with Slurm on it, run a job, and pods that Slurm schedules."""
    world: World = ctx.obj
    key = ssh_key.ensure(world.folders.state / "ssh")
    if kubeconfig:
        site = _elsewhere(world, kubeconfig, key, _references(world, registry))
    else:
        site = _here(world, name, nodes, key)
    slurm = site.slurm
    with world.display.step("the operator"):
        slurm.install_operator(site.operator)
        slurm.kubectl(
            *("rollout", "status", "deployment", "--timeout=120s", "-n", OPERATOR_NAMESPACE)
        )
    with world.display.step("Slurm: slurmctld, slurmdbd, slurmrestd, a login pod, two workers"):
        slurm.install()
        slurm.wait_until_idle()
    with world.display.step("a job on both workers"):
        job = slurm.run_job()
    with world.display.step("the bridge"):
        bridge = _bridge(site)
    with world.display.step("a pod and a gang of two, scheduled by Slurm"):
        shown = bridge.run_first(site.image)
    world.display.say(
        f"\n$ sbatch --nodes=2 ...\n{job.output}\n$ sacct -j {job.number}\n{job.accounted}"
    )
    world.display.say(f"$ squeue | kubectl get pods -n {bridge.namespace}\n{shown}")
    world.display.say(f"where the time went:\n{world.display.summary()}\n")
    world.display.say(_next_steps(slurm, key))


@dataclass(frozen=True, slots=True)
class _Site:
    """Slurm on a cluster, and what is special there about the charts of ours."""

    slurm: Slurm
    operator: Mapping[str, Any]
    bridge: Mapping[str, Any]
    image: str
    """Of Windlass itself."""


def _here(world: World, name: str, nodes: int | None, key: Path) -> _Site:
    cluster = world.cluster(name)
    cluster.up(nodes)
    loaded = {image: cluster.load_image(image) for image in IMAGES}
    # The tag of a rebuilt image is the old one, so something else has to roll the pods.
    built = {"podAnnotations": {"windlass.local/image": loaded["windlass"].archive.stem}}
    return _Site(
        _slurm(world, cluster.kubectl.kubeconfig, key),
        {"operator": built, "webhook": built},
        {"scheduler": built, "admission": built},
        loaded["windlass"].reference,
    )


def _elsewhere(world: World, kubeconfig: Path, key: Path, images: Mapping[str, str]) -> _Site:
    if not kubeconfig.is_file():
        raise LocalError(f"--kubeconfig {kubeconfig}: there is no such file")
    daemons = {name: images[name] for name in DAEMONS}
    slurm = _slurm(world, kubeconfig, key)
    own = {**slurm.values["mariadb"], "image": images["mariadb"]}
    image = {"image": images["windlass"]}
    return _Site(
        replace(slurm, values={**slurm.values, "mariadb": own}),
        {"operator": image, "images": daemons},
        {"scheduler": image},
        images["windlass"],
    )


def _bridge(site: _Site) -> Bridge:
    """Installed, with every node that takes pods."""
    bridge = Bridge(site.slurm, site.bridge)
    bridge.install()
    nodes = site.slurm.kubectl.get("nodes")["items"]
    bridge.give(*(node["metadata"]["name"] for node in nodes if not node["spec"].get("taints")))
    return bridge


def _slurm(world: World, kubeconfig: Path, key: Path) -> Slurm:
    programs = binaries.ensure(MODULES, world.folders.cache, world.display)
    return Slurm(
        Kubectl(programs["kubectl"], kubeconfig),
        Helm(programs["helm"], kubeconfig),
        sources("charts"),
        _values(key.with_suffix(".pub").read_text().strip()),
    )


def _values(public_key: str) -> Mapping[str, Any]:
    """A cluster to look around in: with accounting, a place for pods, and a port for ssh."""
    login = {
        "rootSshAuthorizedKeys": public_key,
        "service": {"spec": {"type": "NodePort"}},
    }
    return {
        "accounting": {"enabled": True},
        "mariadb": {"enabled": True},
        "bridge": {"enabled": True},
        "restapi": {"agent": {"enabled": True}},
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
