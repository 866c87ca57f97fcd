"""Writes the pages of docs/reference that are made from the code, or says which are stale."""

import argparse
import sys
from pathlib import Path
from typing import Any

import typer

from windlass.mains.windlass import app

TOP = Path(__file__).parents[1]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if a page is stale"
    )
    check = parser.parse_args().check
    stale = []
    for name, make in PAGES.items():
        page, text = TOP / name, make()
        if page.exists() and page.read_text() == text:
            continue
        stale.append(name)
        if not check:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text)
    if check and stale:
        sys.exit(f"stale: {', '.join(stale)}; run `make generate`")


if __name__ == "__main__":
    main()
