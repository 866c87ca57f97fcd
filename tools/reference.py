"""Writes the files that are made from others, or says which are stale."""

import os
import subprocess
from typing import Any

import typer

from tools.pages import TOP, keep
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


def requirements() -> str:
    """What the image of Windlass installs: uv.lock in the words of pip."""
    uv = os.environ.get("UV", "uv")  # noqa: TID251 - set by `uv run`
    plain = ("--no-dev", "--no-emit-project", "--no-header", "--no-annotate")
    words = (uv, "export", "--quiet", "--locked", *plain, "--format=requirements-txt")
    done = subprocess.run(words, cwd=TOP, check=True, capture_output=True, text=True)
    return done.stdout


PAGES = {
    "docs/reference/command-line.md": commands,
    "images/windlass/requirements.txt": requirements,
}


if __name__ == "__main__":
    keep(PAGES, __doc__)
