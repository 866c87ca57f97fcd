"""`windlass nodeset`: the revisions of workers, and how an update goes."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from windlass.cli.node_sets import NoSuchRevision
from windlass.cli.one_node_set import OneNodeSet
from windlass.kube.client import Client
from windlass.kube.errors import Conflict, KubeError
from windlass.mains.kubernetes import access, now
from windlass.values.key import Key

app = typer.Typer(help="The revisions of workers, and how an update goes.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The NodeSet.")]
Namespace = Annotated[
    str, typer.Option("--namespace", "-n", help="Where it is; the kubeconfig's own if empty.")
]
Kubeconfig = Annotated[
    Path | None, typer.Option(help="The way to the API server.", show_default=False)
]


@app.command()
def history(name: Name, namespace: Namespace = "", kubeconfig: Kubeconfig = None) -> None:
    """Show the revisions that are kept, the newest first, and how many workers have each."""
    _on(name, namespace, kubeconfig, lambda one: one.history(now()))


@app.command()
def rollback(
    name: Name,
    to_revision: Annotated[
        int | None,
        typer.Option(help="Its number; the one before the current if not given.", min=1),
    ] = None,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Write the fields of an older revision back; workers follow by the update strategy."""
    _on(name, namespace, kubeconfig, lambda one: one.rollback(to_revision))


@app.command()
def status(
    name: Name,
    *,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Until all is as wanted.")] = False,
    timeout: Annotated[
        float, typer.Option(help="Seconds to watch at most; 0: without end.", min=0)
    ] = 0.0,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = None,
) -> None:
    """Say how an update, a scale-in or a deletion goes; with --watch ends with 0 when it is done.

    To hold an update, set updateStrategy.paused of the NodeSet.
    """

    async def follow(one: OneNodeSet) -> None:
        if not watch:
            await one.status()
            return
        try:
            async with asyncio.timeout(timeout or None):
                await one.follow(asyncio.sleep)
        except TimeoutError:
            _fail(f"NodeSet {name} is not done after {timeout:g} s")

    _on(name, namespace, kubeconfig, follow)


def _on(
    name: str,
    namespace: str,
    kubeconfig: Path | None,
    do: Callable[[OneNodeSet], Coroutine[Any, Any, object]],
) -> None:
    """Do it on the API server; what people can put right is said in one line."""

    async def main() -> None:
        reached = access(kubeconfig)
        async with Client(reached) as client:
            await do(OneNodeSet(client, Key(namespace or reached.namespace, name), typer.echo))

    try:
        asyncio.run(main())
    except Conflict:
        _fail(f"NodeSet {name} was changed meanwhile; run the same command again")
    except (NoSuchRevision, KubeError) as error:
        _fail(str(error))


def _fail(sentence: str) -> NoReturn:
    typer.echo(sentence, err=True)
    raise typer.Exit(1)
