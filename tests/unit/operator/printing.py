"""Objects as text, for golden files."""

from typing import Any

import yaml


class _Plain(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def printed(body: Any) -> str:
    """YAML in the order of the fields, and each part where it belongs although it is shared."""
    return yaml.dump(body, Dumper=_Plain, sort_keys=False)
