"""A LoginSet from beginning to rest, on an API server in memory."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable

from tests.unit.operator.staging import Stage, staged
from windlass.kube import kinds
from windlass.kube.meta import Meta
from windlass.kube.objects import Secret
from windlass.operator.logins.observe import Observed, Observer, host_keys_in
from windlass.operator.logins.plan import plan
from windlass.operator.reconciler import Room
from windlass.operator.site import Site
from windlass.values.key import Key


def counting() -> tuple[list[int], Callable[[], dict[str, bytes]]]:
    """Host keys that differ each time they are made."""
    made: list[int] = []

    def make() -> dict[str, bytes]:
        made.append(len(made))
        return {"ssh_host_rsa_key": b"%d" % len(made), "ssh_host_rsa_key.pub": b"p"}

    return made, make


def room(make: Callable[[], dict[str, bytes]]) -> Room[Observed]:
    return Room(kinds.LOGIN_SET, Observer(Site(), make).observe, plan)


async def cluster(stage: Stage) -> None:
    key = {"slurm.key": b64encode(b"key").decode()}
    await stage.create(kinds.SECRET, "shared-key", data=key)
    ref = {"name": "shared-key", "key": "slurm.key"}
    await stage.create(kinds.ACCOUNTING, "db", spec={"slurmKeyRef": ref})
    await stage.create(kinds.CONTROLLER, "slurm", spec={"accountingRef": {"name": "db"}})


def test_it_comes_to_rest_with_the_host_keys_that_it_made_first() -> None:
    async def story() -> None:
        made, make = counting()
        async with staged(room(make)) as stage:
            await cluster(stage)
            await stage.create(kinds.LOGIN_SET, "login", spec={"controllerRef": {"name": "slurm"}})
            await stage.settle("login")

            kept = (await stage.live(kinds.SECRET, "login-ssh-host-keys"))["data"]
            assert b64decode(kept["ssh_host_rsa_key"]) == b"1"
            passes = len(made)
            before = await stage.live(kinds.DEPLOYMENT, "login")
            await stage.settle("login")
            assert len(made) == passes
            assert await stage.live(kinds.DEPLOYMENT, "login") == before

    asyncio.run(story())


def test_a_key_that_the_accounting_names_is_mounted_and_its_change_rolls_the_pods() -> None:
    async def story() -> None:
        async with staged(room(counting()[1])) as stage:
            await cluster(stage)
            await stage.create(kinds.LOGIN_SET, "login", spec={"controllerRef": {"name": "slurm"}})
            await stage.settle("login")
            before = await stage.live(kinds.DEPLOYMENT, "login")

            new = {"data": {"slurm.key": b64encode(b"new").decode()}}
            await stage.change(kinds.SECRET, "shared-key", new)
            await stage.settle("login")

            after = await stage.live(kinds.DEPLOYMENT, "login")
            volumes = {each["name"]: each for each in after["spec"]["template"]["spec"]["volumes"]}
            source = volumes["slurm-config"]["projected"]["sources"][0]["secret"]
            assert source["name"] == "shared-key"
            assert before["spec"]["template"]["metadata"] != after["spec"]["template"]["metadata"]

    asyncio.run(story())


def test_without_its_controller_it_says_so_and_makes_no_pods() -> None:
    async def story() -> None:
        async with staged(room(counting()[1])) as stage:
            await stage.create(kinds.LOGIN_SET, "login", spec={"controllerRef": {"name": "slurm"}})
            await stage.settle("login")

            shown = (await stage.live(kinds.LOGIN_SET, "login"))["status"]["conditions"]
            assert {each["reason"] for each in shown if each["type"] == "Ready"} == {
                "ControllerMissing"
            }
            assert stage.told.reasons.count("ControllerRefFailed") >= 1
            assert stage.world.get(kinds.DEPLOYMENT, Key("hpc", "login")) is None

    asyncio.run(story())


def test_a_users_own_host_keys_need_not_be_of_every_sort() -> None:
    data = {
        "ssh_host_rsa_key": b"private",
        "ssh_host_rsa_key.pub": b"public",
        "ssh_host_ecdsa_key": b"without its public half",
        "other": b"x",
    }

    assert host_keys_in(Secret(metadata=Meta(name="login-ssh-host-keys"), data=data)) == {
        "ssh_host_rsa_key": b"private",
        "ssh_host_rsa_key.pub": b"public",
    }
