"""Writes the pages of docs/reference that are made from the code, or says which are stale."""

from typing import Any

import typer

from tools.pages import keep
from windlass.mains.windlass import app


def commands() -> str:
    """The command line, one section for each verb."""
    root = typer.main.get_command(app)
    head = "# The command line\n\nMade from the code by `make generate`.\n"
    return head + "".join(_sections(root, "windlass"))


def _sections(command: Any, path: str) -> list[str]:
    below = getattr(command, "commands", None)
    if below is not None:
        return [part for name in sorted(below) for part in _sections(below[name], f"{path} {name}")]
    context = command.make_context(path, [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    table = "".join(_row(parameter, context) for parameter in command.get_params(context))
    return [f"\n## {path}\n\n{command.help}\n\n```\n{path} {usage}\n```\n\n{table}"]


def _row(parameter: Any, context: Any) -> str:
    if parameter.name == "help":
        return ""
    words, text = parameter.get_help_record(context)
    return f"- `{words}`: {text}\n"


PAGES = {"docs/reference/command-line.md": commands}


if __name__ == "__main__":
    keep(PAGES, __doc__)
