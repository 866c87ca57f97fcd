"""The examples of docs/howto/slurm-client.md, on a real Slurm."""

import ast
import asyncio
import inspect
import re
from pathlib import Path

from tests.contract.slurm_steps import WallClock
from windlass.testing.slurm import RealSlurm

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "slurm-client.md"


def test_the_examples_run(slurm: RealSlurm) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    known: dict[str, object] = {"URL": slurm.url, "TOKEN": slurm.token(), "clock": WallClock()}

    async def main() -> None:
        for block in blocks:
            code = compile(block, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            done = eval(code, known)
            if inspect.isawaitable(done):
                await done

    assert len(blocks) == 5
    asyncio.run(main())
