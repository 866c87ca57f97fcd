"""The operator's eyes on a real Slurm, behind the program that ends TLS for slurmrestd."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from tests.unit.inpod.test_tls_proxy import proxy, write_pair
from windlass.mains.clock import SystemClock
from windlass.operator.slurms.link import Ears, Link, dial
from windlass.operator.slurms.place import Found, Place
from windlass.testing.slurm import RealSlurm
from windlass.values.key import Key

NODE = "followed-0"


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.02)


async def follow(slurm: RealSlurm, found: Found) -> None:
    heard: list[str] = []
    ears = Ears(heard.append, lambda: heard.append("everything"))
    link = Link(Key("hpc", "slurm"), found, ears, SystemClock())

    def state() -> str | None:
        seen = link.seen()
        node = seen.nodes.get(NODE) if seen else None
        return f"{node.state} {node.reason}" if node else None

    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(link.run(dial))
        await until(lambda: link.seen() is not None)
        await until(lambda: "everything" in heard)
        heard.clear()
        line = (f"NodeName={NODE}", "CPUs=4", "State=EXTERNAL", "NodeAddr=127.0.0.1")
        await asyncio.to_thread(slurm.scontrol, "create", *line)
        await until(lambda: state() is not None)
        change = (f"NodeName={NODE}", "State=DRAIN", "Reason=disk")
        await asyncio.to_thread(slurm.scontrol, "update", *change)
        await until(lambda: "DRAIN" in str(state()) and str(state()).endswith(" disk"))
        assert set(heard) == {NODE}
        running.cancel()
    assert link.seen() is None


def test_a_drain_in_slurm_is_heard_over_https_with_a_token_of_our_own(
    slurm: RealSlurm, tmp_path: Path
) -> None:
    write_pair(tmp_path, "elsewhere")
    certificate = (tmp_path / "tls.crt").read_bytes()
    with proxy(slurm.slurmrestd_port, tmp_path) as (_, port):
        place = Place(f"https://127.0.0.1:{port}", certificate)
        try:
            asyncio.run(follow(slurm, Found(place, slurm.jwt_key.read_bytes())))
        finally:
            slurm.scontrol("delete", f"NodeName={NODE}")
