"""The client, the writer and the mirror on a real Slurm: outages, sockets, tokens, bulk."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from tests.contract.slurm_steps import external, minted, mirrored, until
from windlass.slurm import Absent, Unauthorized, Unavailable, connect, requests
from windlass.slurm.client import Client
from windlass.slurm.specs import JobSpec, NodeUpdate
from windlass.slurm.versions import Version
from windlass.slurm.writes import NodeWriter
from windlass.testing.slurm import RealSlurm


def play(slurm: RealSlurm, scenario: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        async with connect(slurm.url, minted(slurm)) as client:
            await scenario(client)

    asyncio.run(main())


def test_the_newest_version_is_negotiated_and_a_minted_token_is_taken(own_slurm: RealSlurm) -> None:
    async def scenario(client: Client) -> None:
        assert client.version is max(Version)
        assert (await client.send(requests.ping()))[0].responding

    play(own_slurm, scenario)


def test_an_expired_token_is_unauthorized(own_slurm: RealSlurm) -> None:
    async def main() -> None:
        async with connect(own_slurm.url, minted(own_slurm, lifespan=-60)) as client:
            with pytest.raises(Unauthorized):
                await client.send(requests.nodes())

    asyncio.run(main())


def test_a_unix_socket_carries_errors_too(own_slurm: RealSlurm) -> None:
    async def main() -> None:
        async with connect(f"unix:{own_slurm.socket}", minted(own_slurm)) as client:
            for _ in range(3):
                assert await client.send(requests.nodes())
                with pytest.raises(Absent, match="Invalid job id"):
                    await client.send(requests.job(4_000_000))

    asyncio.run(main())


def test_a_thousand_drains_are_one_call(own_slurm: RealSlurm) -> None:
    async def scenario(client: Client) -> None:
        await client.send(requests.create_nodes(external("bulk-[0-999]")))
        writer = NodeWriter(client)
        running = asyncio.create_task(writer.run())
        drain = NodeUpdate(state="DRAIN", reason="bulk")
        await asyncio.gather(*(writer.update(f"bulk-{index}", drain) for index in range(1000)))
        assert writer.calls == 1
        resume = NodeUpdate(state="RESUME")
        await client.send(requests.update_nodes(["bulk-7"], resume))
        # One of them cannot be resumed again: all are where their callers want them all the same.
        await asyncio.gather(*(writer.update(f"bulk-{index}", resume) for index in range(16)))
        listing = await client.send(requests.nodes())
        running.cancel()
        assert listing is not None
        drained = [node.name for node in listing.items if node.state.drain]
        assert len(drained) == 1000 - 16

    play(own_slurm, scenario)


def test_the_mirror_sees_nodes_and_jobs_change_within_a_second(own_slurm: RealSlurm) -> None:
    async def scenario(client: Client) -> None:
        await client.send(requests.create_nodes(external("seen-[0-3]")))
        async with mirrored(client) as mirror:
            nodes, jobs = mirror.nodes.table, mirror.jobs.table
            await client.send(requests.update_node("seen-1", NodeUpdate(comment="hello")))
            assert await until(lambda: nodes.items["seen-1"].comment == "hello") < 1.5
            spec = JobSpec(external=True, nodes="1", directory="/tmp", required_nodes=("seen-2",))
            key = str((await client.send(requests.submit(spec))).job_id)
            await until(lambda: key in jobs.items and jobs.items[key].state.running)
            await client.send(requests.cancel(int(key)))
            assert await until(lambda: jobs.items[key].state.ended) < 1.5

    play(own_slurm, scenario)


def test_a_killed_slurmctld_is_unknown_soon_and_seen_again_when_it_is_back(
    own_slurm: RealSlurm,
) -> None:
    async def scenario(client: Client) -> None:
        await client.send(requests.create_nodes(external("back-[0-3]")))
        async with mirrored(client) as mirror:
            heard: list[str] = []
            mirror.nodes.subscribe(lambda change: heard.append(change.name))
            table = mirror.nodes.table
            await asyncio.to_thread(own_slurm.rest_slurmctld)
            assert await until(lambda: table.unknown_since is not None) < 3
            assert "back-0" in table.items
            with pytest.raises(Unavailable):
                await client.send(requests.job_states())
            await asyncio.to_thread(own_slurm.wake_slurmctld)
            await until(lambda: table.unknown_since is None)
            # A crash takes the last seconds with it: nodes made in them are no more.
            await client.send(requests.create_nodes(external("anew-[0-1]")))
            await until(lambda: "anew-1" in table.items)
            await asyncio.to_thread(own_slurm.scontrol, "reconfigure")
            await client.send(requests.update_node("anew-1", NodeUpdate(comment="again")))
            await until(lambda: table.items["anew-1"].comment == "again")
            assert set(heard) >= {"anew-0", "anew-1"}

    play(own_slurm, scenario)


def test_the_mirror_sees_what_leaves_a_jobs_state_alone_within_seconds(
    own_slurm: RealSlurm,
) -> None:
    async def scenario(client: Client) -> None:
        spec = JobSpec(external=True, nodes="1", directory="/tmp", hold=True)
        first, second = [(await client.send(requests.submit(spec))).job_id for _ in range(2)]
        async with mirrored(client) as mirror:
            jobs = mirror.jobs.table
            await client.send(requests.update_job(first, JobSpec(time_limit=77)))
            assert await until(lambda: jobs.items[str(first)].time_limit == 77) < 7
            await client.send(requests.update_job(second, JobSpec(time_limit=78)))
            await mirror.refresh(second)
            assert jobs.items[str(second)].time_limit == 78

    play(own_slurm, scenario)


def test_whoever_deletes_the_last_node_sees_that_none_is_left(own_slurm: RealSlurm) -> None:
    async def scenario(client: Client) -> None:
        listing = await client.send(requests.nodes())
        assert listing is not None
        for node in listing.items:
            await client.send(requests.delete_node(node.name))
        await client.send(requests.create_nodes(external("last-[0-1]")))
        async with mirrored(client) as mirror:
            await until(lambda: set(mirror.nodes.table.items) == {"last-0", "last-1"})
            known = time.time() + 3
            await until(lambda: time.time() > known)  # slurmctld counts changes by the second
            await client.send(requests.delete_node("last-[0-1]"))
            mirror.nodes.nudge(deleted=True)
            await until(lambda: not mirror.nodes.table.items)

    play(own_slurm, scenario)
