"""`windlass doctor`: is something as Windlass needs it, and if not, what is missing."""

from pathlib import Path
from typing import Annotated

import typer

from windlass.cli.image_contract import ROLES, Contents, examine, kept, role_of
from windlass.local import parts
from windlass.local.archives import Archive
from windlass.local.commands import World
from windlass.local.errors import LocalError

app = typer.Typer(help="Find out what is wrong.", no_args_is_help=True)


@app.callback()
def doctor() -> None:
    """Find out what is wrong."""


@app.command()
def image(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="An image archive by its path, or a folder below images/."
        ),
    ],
    role: Annotated[
        str | None,
        typer.Option("--as", help=f"What it is for: {', '.join(ROLES)}.", show_default=False),
    ] = None,
) -> None:
    """Check that an image provides what a pod of Slurm needs; ends with 1 unless it does."""
    world: World = ctx.obj
    archive = Archive(parts.image(name, world.folders.cache, world.display).archive)
    start = archive.start()
    contents = Contents(
        archive.root(world.folders.cache, world.display),
        entrypoint=start.entrypoint or (),
        command=start.cmd or (),
        user=start.user,
        labels=start.labels or {},
    )
    wanted = role or (name if name in ROLES else role_of(contents))
    if wanted is None or wanted not in ROLES:
        raise LocalError(f"what is {Path(name).name} for? say --as with one of {', '.join(ROLES)}")
    findings = examine(contents, wanted)
    typer.echo("\n".join(str(finding) for finding in findings))
    if not kept(findings):
        raise typer.Exit(1)
