"""Files that are made from the code: written anew, or compared with what is there."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

TOP = Path(__file__).parents[1]


def keep(pages: Mapping[str, Callable[[], str]], what: str | None) -> None:
    """Write what is stale; with `--check` on the command line, only name it and fail."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if a page is stale"
    )
    check = parser.parse_args().check
    stale = []
    for name, make in pages.items():
        page, text = TOP / name, make()
        if page.exists() and page.read_text() == text:
            continue
        stale.append(name)
        if not check:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(text)
    if check and stale:
        sys.exit(f"stale: {', '.join(stale)}; run `make generate`")
