"""What a queue carries and a log line names: one object of Kubernetes, without its kind.

>>> Key("slurm", "workers-0")
Key(namespace='slurm', name='workers-0')
>>> print(Key.parse("slurm/workers-0"), Key.parse("node-7"))
slurm/workers-0 node-7
"""

from typing import NamedTuple

from windlass.values.malformed import Malformed


class Key(NamedTuple):
    """Namespace and name; the namespace of what has none (a Node) is empty."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def parse(cls, text: str) -> "Key":
        """Read `namespace/name`, or `name` alone for what has no namespace."""
        namespace, slash, name = text.rpartition("/")
        if not name:
            raise Malformed("key", text, len(text), "there is no name", "write namespace/name")
        if slash and not namespace:
            raise Malformed("key", text, 0, "there is no namespace before the /", "leave / out")
        if "/" in namespace:
            raise Malformed(
                "key", text, text.rindex("/"), "there is a second /", "write namespace/name"
            )
        return cls(namespace, name)
