"""The verbs of `windlass local`."""

import subprocess
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Protocol

import typer

from windlass.local import binaries, images, parts, requirements
from windlass.local.cluster import DEFAULT_NAME, Cluster
from windlass.local.errors import LocalError
from windlass.local.layout import Folders, sources
from windlass.local.log_files import find_log, log_names
from windlass.local.progress import Display
from windlass.local.status import observe, table

app = typer.Typer(
    help="A real Kubernetes cluster on this machine, without a container engine.",
    no_args_is_help=True,
)
node_app = typer.Typer(help="The nodes of a cluster.", no_args_is_help=True)
image_app = typer.Typer(help="Images for the nodes.", no_args_is_help=True)
app.add_typer(node_app, name="node")
app.add_typer(image_app, name="image")

Name = Annotated[
    str,
    typer.Option(
        "--name",
        envvar="WINDLASS_LOCAL_NAME",
        help="Which cluster; several can run side by side.",
    ),
]
Nodes = Annotated[
    int | None, typer.Option(help="How many nodes; 2 for a new cluster.", show_default=False)
]
NodeName = Annotated[str, typer.Argument(metavar="NODE", help="The node's name.")]
ImageName = Annotated[str, typer.Argument(metavar="NAME", help="A folder below images/.")]

# From its first word on, a command line belongs to another program, `--` included.
EVERYTHING_ELSE = {
    "allow_extra_args": True,
    "allow_interspersed_args": False,
    "ignore_unknown_options": True,
}


class Clock(Protocol):
    def __call__(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class World:
    """What mains knows of the user and the machine; every command gets it."""

    folders: Folders
    display: Display
    now: Clock

    def cluster(self, name: str) -> Cluster:
        return Cluster(self.folders, name, self.display, self.now)


@app.command()
def up(
    ctx: typer.Context,
    name: Name = DEFAULT_NAME,
    nodes: Nodes = None,
) -> None:
    """Bring a cluster up, or repair one that is up."""
    world: World = ctx.obj
    cluster = world.cluster(name)
    cluster.up(nodes)
    typer.echo(table(observe(cluster)))
    typer.echo("\nuse it:  windlass local kubectl get nodes")


@app.command()
def down(ctx: typer.Context, name: Name = DEFAULT_NAME) -> None:
    """Take a cluster away, with all that it left on the machine."""
    world: World = ctx.obj
    world.cluster(name).down()


@app.command()
def status(ctx: typer.Context, name: Name = DEFAULT_NAME) -> None:
    """Show what runs and what does not; ends with 1 unless all is well."""
    world: World = ctx.obj
    seen = observe(world.cluster(name))
    typer.echo(table(seen))
    if not seen.well:
        raise typer.Exit(1)


@app.command()
def kubeconfig(
    ctx: typer.Context,
    name: Name = DEFAULT_NAME,
    *,
    path: Annotated[bool, typer.Option("--path", help="Print where it is instead.")] = False,
) -> None:
    """Print the kubeconfig of a cluster."""
    world: World = ctx.obj
    folder = world.cluster(name).folder
    folder.require()
    typer.echo(folder.kubeconfig if path else folder.kubeconfig.read_text())


@app.command()
def logs(
    ctx: typer.Context,
    component: Annotated[
        str | None, typer.Argument(help="kube-apiserver, NODE/kubelet and so on; none lists them.")
    ] = None,
    name: Name = DEFAULT_NAME,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as it grows.")] = False,
) -> None:
    """Print the log of a component."""
    world: World = ctx.obj
    folder = world.cluster(name).folder
    folder.require()
    if component is None:
        typer.echo("\n".join(log_names(folder.logs)))
        return
    log = find_log(folder.logs, component)
    words = ["tail", "-n", "+1", *(["-f"] if follow else []), str(log)]
    raise typer.Exit(subprocess.run(words, check=False).returncode)


@app.command()
def shell(
    ctx: typer.Context,
    node: NodeName,
    command: Annotated[
        list[str] | None, typer.Argument(help="Run this instead of a shell.")
    ] = None,
    name: Name = DEFAULT_NAME,
) -> None:
    """Open a shell on a node, or run a command there (after `--`)."""
    world: World = ctx.obj
    words = world.cluster(name).node(node).enter(*(command or ["bash"]))
    raise typer.Exit(subprocess.run(words, check=False).returncode)


@app.command(context_settings=EVERYTHING_ELSE)
def kubectl(ctx: typer.Context, name: Name = DEFAULT_NAME) -> None:
    """Run the kubectl that was built for the cluster, on the cluster."""
    world: World = ctx.obj
    words = world.cluster(name).kubectl.command(*ctx.args)
    raise typer.Exit(subprocess.run(words, check=False).returncode)


@app.command()
def packages(ctx: typer.Context) -> None:
    """Install the Debian packages that a local cluster needs."""
    world: World = ctx.obj
    machine = requirements.this_machine()
    requirements.check_root(machine)
    missing = requirements.missing_packages(machine)
    if missing:
        with world.display.step(f"Debian packages: {', '.join(missing)}"):
            requirements.install_packages(machine)


@app.command()
def build(
    ctx: typer.Context,
    modules: Annotated[list[str] | None, typer.Argument(help="Folders below binaries/.")] = None,
) -> None:
    """Build the programs of a cluster into the cache; without arguments, all of them."""
    world: World = ctx.obj
    wanted = modules or sorted(binaries.MODULES)
    for program, path in binaries.ensure(wanted, world.folders.cache, world.display).items():
        typer.echo(f"{program}\t{path}")


@app.command()
def prepare(ctx: typer.Context) -> None:
    """Make everything that takes long, now: all programs, all images and the nodes' root."""
    world: World = ctx.obj
    requirements.check(requirements.this_machine())
    binaries.ensure(sorted(binaries.MODULES), world.folders.cache, world.display)
    parts.ensure(world.folders.cache, world.display, images.known(sources("images")))


@node_app.command("add")
def node_add(
    ctx: typer.Context,
    node: Annotated[str | None, typer.Argument(metavar="[NODE]", help="Its name.")] = None,
    name: Name = DEFAULT_NAME,
) -> None:
    """Add a node."""
    world: World = ctx.obj
    typer.echo(world.cluster(name).add_node(node))


@node_app.command("remove")
def node_remove(ctx: typer.Context, node: NodeName, name: Name = DEFAULT_NAME) -> None:
    """Remove a node, its disk and its Node object."""
    world: World = ctx.obj
    world.cluster(name).remove_node(node)


@node_app.command("kill")
def node_kill(ctx: typer.Context, node: NodeName, name: Name = DEFAULT_NAME) -> None:
    """Cut a node's power: no goodbye, and its disk stays."""
    world: World = ctx.obj
    world.cluster(name).kill_node(node)


@node_app.command("start")
def node_start(ctx: typer.Context, node: NodeName, name: Name = DEFAULT_NAME) -> None:
    """Switch a node on again."""
    world: World = ctx.obj
    world.cluster(name).start_node(node)


@image_app.command("build")
def image_build(
    ctx: typer.Context,
    image: ImageName,
    base: Annotated[
        str | None, typer.Option(help="Build on this image instead of our own Debian.")
    ] = None,
    *,
    again: Annotated[
        bool, typer.Option("--again", help="Although nothing changed: its packages may have.")
    ] = False,
) -> None:
    """Build an image into the cache."""
    world: World = ctx.obj
    if again and base:
        raise LocalError("--again is for images on our own Debian: leave it out with --base")
    if again:
        made = parts.rebuilt_image(image, world.folders.cache, world.display)
    else:
        made = parts.image(image, world.folders.cache, world.display, base)
    typer.echo(f"{made.reference}\t{made.archive}")


@image_app.command("load")
def image_load(ctx: typer.Context, image: ImageName, name: Name = DEFAULT_NAME) -> None:
    """Put an image on all nodes, building it if need be."""
    world: World = ctx.obj
    world.cluster(name).load_image(image)


def explain(error: LocalError) -> str:
    return f"windlass: {error}"
