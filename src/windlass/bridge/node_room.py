"""Kubernetes nodes as nodes of Slurm: one pass over all of them, coalesced."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from windlass.bridge.external import External, line
from windlass.bridge.feasible import Feasible
from windlass.bridge.ledger import Ledger
from windlass.bridge.link import Link
from windlass.bridge.neighbours import Neighbourhood
from windlass.bridge.node_plan import NodeRules, decide
from windlass.bridge.settling import Settling
from windlass.bridge.tainting import retaints
from windlass.bridge.words import EXTERNAL_NODE
from windlass.bridge.world import World
from windlass.kube import kinds
from windlass.kube import requests as kube
from windlass.kube.controller import Requeue
from windlass.kube.errors import Conflict, NotFound
from windlass.kube.requests import Sends
from windlass.kube.wire import Anything
from windlass.slurm import requests
from windlass.slurm.call import Request
from windlass.slurm.errors import Absent, Busy, Errno, Refused, SlurmError
from windlass.slurm.model import Node
from windlass.slurm.specs import NodeUpdate
from windlass.slurm.writes import NodeWriter, batches
from windlass.values.hostlist import fold
from windlass.values.key import Key

R = TypeVar("R")
KEY: Final = "nodes"
REST: Final = 1.0
IN_A_URL: Final = 500


@dataclass(frozen=True, slots=True)
class Means:
    """Who writes, and who knows what else is on nodes."""

    client: Sends
    feasible: Feasible
    ledger: Ledger
    now: Callable[[], datetime]


class NodeRoom:
    def __init__(self, world: World, link: Link, rules: NodeRules, means: Means) -> None:
        self._world = world
        self._link = link
        self._rules = rules
        self._means = means
        self._settling = Settling()

    async def reconcile(self, _: str) -> Requeue:
        seen = self._link.seen()
        if seen is None:
            return Requeue.never()
        plan = decide(self._world.nodes, seen.nodes, self._rules, self._there())
        failures: list[SlurmError] = []
        for alike in plan.create:
            failures += await self._create(alike)
        changes, _places = batches(plan.update)
        for batch in changes:
            failures += await self._change(batch.names, batch.update)
        failures += await self._forget(plan.forget, seen.nodes)
        if self._rules.taint:
            await self._taint(seen.nodes)
        if failures:
            raise failures[0]
        return Requeue(self._settling.due(self._means.now().timestamp()), REST)

    def _there(self) -> Neighbourhood:
        means, now = self._means, self._means.now().timestamp()
        names = {host.metadata.name: host for host in self._world.nodes}
        self._settling.keep(names)
        taken = {
            name: self._settling.count(name, dict(means.ledger.standing(name)), now)
            for name in names
        }
        labelled = (n for n, host in names.items() if EXTERNAL_NODE in (host.metadata.labels or {}))
        devices = {name: self._world.inventory(name) for name in labelled}
        return Neighbourhood(means.feasible.workers(), taken, devices)

    async def _taint(self, known: Mapping[str, Node]) -> None:
        called = self._means.feasible.names().slurm
        for each in retaints(self._world.nodes, called, known, self._rules.taint):
            note = {"resourceVersion": each.version}
            change = {"metadata": note, "spec": {"taints": each.taints}}
            request = kube.merge_patch(kinds.NODE, Key("", each.node), change, Anything)
            with suppress(NotFound, Conflict):  # it has changed, and wakes us
                await self._means.client.send(request)

    async def send(self, request: Request[R]) -> R:
        """For the writer of nodes."""
        return await self._link.write(request)

    async def _create(self, alike: tuple[External, ...]) -> list[SlurmError]:
        """They are marked at once: unmarked, they would be nobody's if their label went."""
        try:
            await self._link.write(requests.create_nodes(line(alike)))
        except Refused as error:
            if error.errno == Errno.ESLURM_NODE_ALREADY_EXISTS:
                return []  # the mirror will show it
            return [error]
        except SlurmError as error:
            return [error]
        mark = NodeUpdate(comment=self._rules.mark)
        return await self._change(tuple(each.name for each in alike), mark)

    async def _change(self, names: tuple[str, ...], update: NodeUpdate) -> list[SlurmError]:
        failed = await NodeWriter(self).change(names, update)
        return [each for each in failed.values() if not isinstance(each, Absent)]

    async def _forget(self, names: tuple[str, ...], known: Mapping[str, Node]) -> list[SlurmError]:
        """A node that got a job by then is refused by Slurm, and stays until that has ended."""
        failures: list[SlurmError] = []
        there = sorted(name for name in names if name in known)
        for start in range(0, len(there), IN_A_URL):
            those = sorted(there[start : start + IN_A_URL], key=lambda name: (len(name), name))
            try:
                await self._link.write(requests.delete_node(fold(those)))
            except (Absent, Busy):
                continue
            except SlurmError as error:
                failures.append(error)
        return failures
