"""The `windlass` command: reads argv and environment, builds the world and hands over."""

import os
import sys
import time
from datetime import datetime
from pathlib import Path

import typer
from rich.console import Console

from windlass.local import commands as local
from windlass.local.errors import LocalError
from windlass.local.layout import Folders
from windlass.local.pki import utc
from windlass.local.progress import Display
from windlass.mains import bridge, doctor, nodeset, operator
from windlass.mains.up import up

app = typer.Typer(
    help="Slurm on Kubernetes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(up)
app.add_typer(local.app, name="local")
app.add_typer(doctor.app, name="doctor")
app.add_typer(operator.app, name="operator")
app.add_typer(nodeset.app, name="nodeset")
app.add_typer(bridge.app, name="bridge")


def folders() -> Folders:
    home = Path.home()
    return Folders(
        cache=Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "windlass",
        state=Path(os.environ.get("XDG_STATE_HOME") or home / ".local/state") / "windlass",
    )


def now() -> datetime:
    return utc(time.time())


def main() -> None:
    world = local.World(folders(), Display(Console(stderr=True)), now)
    try:
        typer.main.get_command(app)(obj=world)
    except LocalError as error:
        print(local.explain(error), file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("windlass: interrupted; run the same command again to go on", file=sys.stderr)
        sys.exit(130)
