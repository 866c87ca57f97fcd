"""Pods come and go, jobs are cancelled, the bridge dies at any write, answers are lost.

Whatever happens: no place is used twice, no pod is submitted twice, and in the end there is no job
without pods and no pod without a job that runs.
"""

import asyncio
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.bridge.staging import Stage, play
from windlass.bridge import words
from windlass.kube import errors as kube_errors
from windlass.kube import kinds
from windlass.kube.requests import Request
from windlass.slurm import errors as slurm_errors
from windlass.slurm.call import Response
from windlass.slurm.transport import Message
from windlass.slurm.wire import WireJob
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import clock
from windlass.values.hostlist import expand

CPUS = {"n1": 2, "n2": 3}
ENDED = ("Succeeded", "Failed")


class Storm:
    def __init__(self, stage: Stage, seed: int) -> None:
        self.stage = stage
        self.chance = random.Random(seed)
        self.made = 0
        self.made_for_jobs = 0
        self.owners: list[dict[str, Any]] = []
        self.rough = True
        self.submitted: dict[str, int] = {}
        """By the uid of a pod."""

    # --- what is around the bridge ---------------------------------------------------------------

    def pods(self) -> Iterator[dict[str, Any]]:
        for key, pod in self.stage.kube.all(kinds.POD):
            if key.namespace == "team":
                yield pod

    def schedule(self) -> None:
        """Slurm looks at its queue."""
        for job in self.stage.jobs("PENDING"):
            self.stage.start(job.job_id)

    async def kubelets(self) -> None:
        for pod in list(self.pods()):
            name, phase = pod["metadata"]["name"], pod["status"]["phase"]
            if not pod["spec"].get("nodeName") or phase in ENDED:
                continue
            leaving = "deletionTimestamp" in pod["metadata"]
            if phase == "Pending" and not leaving:
                await self.stage.phase(name, "Running")
            elif self.chance.random() < (0.3 if leaving else 0.04):
                owned = "ownerReferences" in pod["metadata"]
                if owned and not leaving and not self.rough:
                    continue
                code = 1 if owned else self.chance.choice([0, 0, 1])
                await self.stage.phase(name, "Failed" if code or leaving else "Succeeded", code)
        self.stage.kube.tick()

    async def people(self) -> None:
        acts = {
            self.make: 25,
            self.gang: 5,
            self.remove: 5,
            self.cancel: 5,
            self.stage.restart: 4,
            self.cut: 2,
            self.mend: 9,
            self.nothing: 45,
        }
        (act,) = self.chance.choices([*acts], [*acts.values()])
        await act()

    async def make(self) -> None:
        if self.made < 12:
            self.made += 1
            await self.stage.pod(f"p{self.made}", cpus=self.chance.choice([1, 1, 2]))

    async def gang(self) -> None:
        """A Job of two pods on two nodes; `controllers` makes them."""
        if not self.owners:
            spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
            made = await self.stage.create(kinds.JOB, "job", spec=spec)
            meta = made.metadata
            owner = {"apiVersion": "batch/v1", "kind": "Job", "name": meta.name, "uid": meta.uid}
            self.owners.append({**owner, "controller": True})

    async def controllers(self) -> None:
        """A place of a Job whose pod failed or is being deleted gets another."""
        for owner in self.owners:
            for index in (0, 1):
                if not any(_fills(pod, owner["uid"], index) for pod in self.pods()):
                    self.made_for_jobs += 1
                    await self.stage.pod(
                        f"{owner['name']}-{index}-{self.made_for_jobs}",
                        ownerReferences=[owner],
                        labels={words.COMPLETION_INDEX: str(index)},
                        annotations={f"{words.JOB_PREFIX}min-nodes": "2"},
                    )

    async def remove(self) -> None:
        if present := [pod["metadata"]["name"] for pod in self.pods()]:
            await self.stage.delete(self.chance.choice(present))

    async def cancel(self) -> None:
        if alive := self.stage.jobs("RUNNING", "PENDING"):
            state = self.chance.choice(["CANCELLED", "PREEMPTED", "TIMEOUT"])
            self.stage.slurm.cluster.finish(self.chance.choice(alive).job_id, state)

    async def cut(self) -> None:
        self.stage.slurm.cut = True

    async def mend(self) -> None:
        self.stage.slurm.cut = False

    async def nothing(self) -> None:
        """A quiet moment."""

    # --- what goes wrong -------------------------------------------------------------------------

    def refuse(self, request: Request[Any]) -> kube_errors.KubeError | None:
        if self.rough and request.method != "GET" and request.path.count("/pods/"):
            asked_by_bridge = asyncio.current_task() not in (None, self.task)
            if asked_by_bridge and self.chance.random() < 0.1:
                return kube_errors.Unavailable("not now")
        return None

    def lose(self) -> bool:
        return self.rough and self.chance.random() < 0.1

    # --- what must hold --------------------------------------------------------------------------

    def check(self) -> None:
        for node, cpus in CPUS.items():
            used = sum(
                int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])
                for pod in self.pods()
                if pod["spec"].get("nodeName") == node and pod["status"]["phase"] not in ENDED
            )
            assert used <= cpus, f"{used} of {cpus} CPUs of {node} are used"
        assert all(count == 1 for count in self.submitted.values())

    def at_peace(self) -> bool:
        """Every job has pods that run, every pod a job."""
        running = {str(job.job_id): job for job in self.stage.jobs("RUNNING")}
        held = set()
        for pod in self.pods():
            if pod["status"]["phase"] in ENDED:
                if words.FINALIZER in (pod["metadata"].get("finalizers") or ()):
                    return False
                continue
            number = (pod["metadata"].get("labels") or {}).get(words.JOB_ID, "")
            node = pod["spec"].get("nodeName", "")
            if number not in running or node not in expand(running[number].nodes):
                return False
            if words.FINALIZER not in (pod["metadata"].get("finalizers") or ()):
                return False
            held.add(number)
        return held == set(running) and not self.stage.jobs("PENDING")

    async def blow(self) -> None:
        self.task = asyncio.current_task()
        self.stage.kube.before = self.refuse
        for _ in range(150):
            await self.people()
            await self.around()
        self.rough = self.stage.slurm.cut = False
        began = clock()
        while not self.at_peace():
            assert clock() < began + 900, "it does not come to rest"
            await self.around()

    async def around(self) -> None:
        await self.controllers()
        self.schedule()
        await self.kubelets()
        self.check()
        await asyncio.sleep(self.chance.uniform(0.05, 2.0))
        self.check()


def _mark(job: WireJob) -> dict[str, str]:
    return dict(json.loads(job.admin_comment)["windlass"])


def _fills(pod: dict[str, Any], owner: str, index: int) -> bool:
    meta = pod["metadata"]
    owners = [each["uid"] for each in meta.get("ownerReferences") or ()]
    mine = owners == [owner] and meta["labels"].get(words.COMPLETION_INDEX) == str(index)
    return mine and pod["status"]["phase"] != "Failed" and "deletionTimestamp" not in meta


@pytest.mark.parametrize("seed", range(24))
def test_nothing_is_lost_and_nothing_used_twice(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = FakeSlurm.round_trip
    storms: list[Storm] = []

    async def unsure(slurm: FakeSlurm, message: Message) -> Response:
        answer = await heard(slurm, message)
        storm = storms[0]
        if message.target.endswith("/job/submit") and answer.status == 200:
            mark = _mark(max(slurm.cluster.jobs.values(), key=lambda job: job.job_id))
            if mark["kind"] == "Pod":
                storm.submitted[mark["uid"]] = storm.submitted.get(mark["uid"], 0) + 1
        if message.method != "GET" and storm.lose():
            raise slurm_errors.Unavailable("the connection broke", sent=True)
        return answer

    async def story(stage: Stage) -> None:
        storms.append(Storm(stage, seed))
        for name, cpus in CPUS.items():
            await stage.node(name, cpus=cpus)
        await storms[0].blow()

    monkeypatch.setattr(FakeSlurm, "round_trip", unsure)
    play(story)
