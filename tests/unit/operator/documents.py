"""Objects as people read them: YAML with texts in blocks."""

from collections.abc import Iterable
from typing import Any

import yaml

from windlass.operator.plan import Apply, Create, Plan


class _Readable(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _text)


def documents(bodies: Iterable[dict[str, Any]]) -> str:
    return yaml.dump_all(bodies, Dumper=_Readable, sort_keys=True, width=1000)


def made(plan: Plan) -> str:
    """All that a plan makes or keeps so."""
    return documents(action.body for action in plan.actions if isinstance(action, Apply | Create))
