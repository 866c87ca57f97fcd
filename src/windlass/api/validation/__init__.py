"""What is wrong with an object beyond what its schema can say: the rules of the webhook. Pure.

Each kind has a file with `review(new, old, context) -> tuple[Finding, ...]`; `old` is None for a
new object. What the schema and its CEL rules refuse never gets here and is not said twice.
"""

from windlass.api.validation.context import Context
from windlass.api.validation.findings import Caution, Finding, Problem, ratchet

__all__ = ["Caution", "Context", "Finding", "Problem", "ratchet"]
