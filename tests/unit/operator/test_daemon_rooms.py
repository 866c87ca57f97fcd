"""Controllers, Tokens and the like from beginning to rest, on an API server in memory."""

import asyncio
from base64 import b64decode, b64encode
from typing import Any

from tests.unit.operator.staging import NOW, Stage, staged
from windlass.kube import kinds, requests
from windlass.kube.objects import Pod
from windlass.kube.wire import Document
from windlass.operator.images import Images
from windlass.operator.reconciler import Room
from windlass.operator.slurmctld import observe as slurmctld_observe
from windlass.operator.slurmctld import plan as slurmctld_plan
from windlass.operator.slurmctld.observe import FreshKeys, Setting
from windlass.operator.slurmctld.report import Report
from windlass.operator.slurmdbd import observe as slurmdbd_observe
from windlass.operator.slurmdbd import plan as slurmdbd_plan
from windlass.operator.slurmrestd import observe as slurmrestd_observe
from windlass.operator.slurmrestd import plan as slurmrestd_plan
from windlass.operator.tokens import observe as tokens_observe
from windlass.operator.tokens import plan as tokens_plan
from windlass.operator.world import View
from windlass.slurm.tokens import claims_of
from windlass.values.key import Key

PROGRAMS = {"wait_for_database.py": "pass\n", "tls_proxy.py": "pass\n", "logs.py": "pass\n"}
TOKENS = Room(kinds.TOKEN, tokens_observe.observe, tokens_plan.plan)
ACCOUNTINGS = Room(
    kinds.ACCOUNTING,
    slurmdbd_observe.Observer(Images(), PROGRAMS, lambda: "fresh").observe,
    slurmdbd_plan.plan,
)
REST_APIS = Room(
    kinds.REST_API, slurmrestd_observe.Observer(Images(), PROGRAMS).observe, slurmrestd_plan.plan
)


async def unheard(_: Pod, __: bytes) -> Report | None:
    return None


async def observe_controller(view: View, document: Document) -> slurmctld_observe.Observed:
    fresh = FreshKeys(b"s" * 32, b"j" * 32)
    return await slurmctld_observe.observe(view, document, Setting(), fresh, unheard)


CONTROLLERS = Room(kinds.CONTROLLER, observe_controller, slurmctld_plan.plan)


def encoded(**data: bytes) -> dict[str, str]:
    """Entries by name; an underscore stands for a dot."""
    return {name.replace("_", "."): b64encode(value).decode() for name, value in data.items()}


async def cluster(stage: Stage) -> None:
    await stage.create(kinds.SECRET, "c-auth-slurm", data=encoded(slurm_key=b"s" * 32))
    await stage.create(kinds.SECRET, "c-auth-jwt", data=encoded(jwt_key=b"j" * 32))
    await stage.create(kinds.CONFIG_MAP, "c-config", data={"slurm.conf": "ClusterName=c\n"})
    await stage.create(kinds.CONTROLLER, "c", spec={"accountingRef": {"name": "a"}})


async def shown(stage: Stage, kind: Any, name: str) -> tuple[str, str]:
    status = (await stage.live(kind, name))["status"]
    (found,) = (each for each in status["conditions"] if each["type"] == "Ready")
    return found["status"], found["reason"]


def test_a_controller_starts_with_the_address_of_its_service_and_follows_it() -> None:
    async def story() -> None:
        async with staged(CONTROLLERS) as stage:
            await stage.create(kinds.CONTROLLER, "c", spec={})
            for _ in range(2):
                await stage.reconciler.reconcile(Key("hpc", "c"))
                await stage.caught_up()
            assert await stage.live(kinds.STATEFUL_SET, "c-controller")
            first = await address(stage)
            assert f"SlurmctldHost=c-controller-0({first})\n" in await conf(stage)
            await stage.settle("c")
            assert configured(stage) == 1

            await stage.kube.send(requests.delete(kinds.SERVICE, Key("hpc", "c-controller")))
            await stage.caught_up()
            await stage.settle("c")
            assert await address(stage) != first
            assert f"SlurmctldHost=c-controller-0({await address(stage)})\n" in await conf(stage)
            assert configured(stage) == 2

    async def address(stage: Stage) -> str:
        return str((await stage.live(kinds.SERVICE, "c-controller"))["spec"]["clusterIP"])

    async def conf(stage: Stage) -> str:
        return str((await stage.live(kinds.CONFIG_MAP, "c-config"))["data"]["slurm.conf"])

    def configured(stage: Stage) -> int:
        """How often there was a new configuration."""
        writes = (asked for asked in stage.kube.asked if asked.method != "GET")
        return sum(asked.path.endswith("/c-config") for asked in writes)

    asyncio.run(story())


def test_a_token_rests_until_its_key_or_its_secret_changes() -> None:
    async def story() -> None:
        async with staged(TOKENS) as stage:
            await cluster(stage)
            spec = {"username": "alice", "controllerRef": {"name": "c"}}
            await stage.create(kinds.TOKEN, "t", spec=spec)
            await stage.settle("t")
            assert await shown(stage, kinds.TOKEN, "t") == ("True", "Signed")
            assert await signed(stage, b"j" * 32)

            fresh = {"data": encoded(jwt_key=b"n" * 32)}
            await stage.change(kinds.SECRET, "c-auth-jwt", fresh)
            await stage.settle("t")
            assert await signed(stage, b"n" * 32)

            await stage.kube.send(requests.delete(kinds.SECRET, Key("hpc", "t-jwt-alice")))
            await stage.caught_up()
            await stage.settle("t")
            assert await signed(stage, b"n" * 32)

    async def signed(stage: Stage, key: bytes) -> bool:
        entry = (await stage.live(kinds.SECRET, "t-jwt-alice"))["data"]["SLURM_JWT"]
        claims = claims_of(b64decode(entry).decode(), key)
        return claims is not None and claims["iat"] == int(NOW.timestamp())

    asyncio.run(story())


def test_an_accounting_rests_and_follows_its_password() -> None:
    async def story() -> None:
        async with staged(ACCOUNTINGS) as stage:
            await cluster(stage)
            ref = {"name": "password", "key": "p"}
            await stage.create(kinds.SECRET, "password", data=encoded(p=b"geheim"))
            storage = {"host": "db", "passwordKeyRef": ref}
            await stage.create(kinds.ACCOUNTING, "a", spec={"storageConfig": storage})
            await stage.settle("a")
            before = await conf(stage)
            assert "StoragePass=geheim\n" in before
            assert await shown(stage, kinds.ACCOUNTING, "a") == ("False", "Starting")

            await stage.change(kinds.SECRET, "password", {"data": encoded(p=b"anders")})
            await stage.settle("a")
            assert await conf(stage) == before.replace("geheim", "anders")

    async def conf(stage: Stage) -> str:
        entry = (await stage.live(kinds.SECRET, "a-accounting"))["data"]["slurmdbd.conf"]
        return b64decode(entry).decode()

    asyncio.run(story())


def test_a_rest_api_rests_and_loses_its_budget_with_its_second_replica() -> None:
    async def story() -> None:
        async with staged(REST_APIS) as stage:
            await cluster(stage)
            spec = {"controllerRef": {"name": "c"}, "replicas": 2}
            await stage.create(kinds.REST_API, "r", spec=spec)
            await stage.settle("r")
            assert (await stage.live(kinds.DEPLOYMENT, "r-restapi"))["spec"]["replicas"] == 2
            assert stage.world.get(kinds.POD_DISRUPTION_BUDGET, Key("hpc", "r-restapi"))
            assert await shown(stage, kinds.REST_API, "r") == ("False", "RollingOut")

            await stage.change(kinds.REST_API, "r", {"spec": {"replicas": 1}})
            await stage.settle("r")
            assert not stage.world.get(kinds.POD_DISRUPTION_BUDGET, Key("hpc", "r-restapi"))

    asyncio.run(story())
