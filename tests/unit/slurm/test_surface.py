import subprocess
import sys

import windlass.slurm


def test_everything_named_is_there() -> None:
    missing = [name for name in windlass.slurm.__all__ if not hasattr(windlass.slurm, name)]

    assert missing == []
    assert windlass.slurm.__all__ == sorted(windlass.slurm.__all__)


def test_importing_the_room_loads_nothing_of_it() -> None:
    script = (
        "import sys, windlass.slurm;"
        "print([m for m in sys.modules if m in ('asyncio', 'msgspec', 'windlass.slurm.client')])"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    assert printed.stdout.decode().strip() == "[]"
