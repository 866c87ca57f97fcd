"""Reads all that one gang is decided by, from copies; Slurm itself is asked only what a job of
several nodes was given."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from windlass.bridge import dra, submission
from windlass.bridge.amounts import allocatable, left
from windlass.bridge.burdens import Burdens
from windlass.bridge.claims import Claims
from windlass.bridge.crowding import crowded
from windlass.bridge.devices import DEFAULT, DeviceMap
from windlass.bridge.feasible import Feasible
from windlass.bridge.gang import Gang, GangKey
from windlass.bridge.gangs import Gangs
from windlass.bridge.ground import Ground
from windlass.bridge.identity import Asker, Identity, Policy, Verdict, settled
from windlass.bridge.ledger import Ledger
from windlass.bridge.link import Link, Seen
from windlass.bridge.observed import Host, Observed, SlurmSide, job_id
from windlass.bridge.phases.bind import single
from windlass.bridge.ports import HostPort
from windlass.bridge.queue_places import QueuePlaces
from windlass.bridge.seats import Seats
from windlass.bridge.sharing import Share
from windlass.bridge.standing import standing
from windlass.bridge.submission import Settings
from windlass.bridge.workloads import pod_group
from windlass.bridge.workloads.assembling import ENDED, live
from windlass.bridge.workloads.objects import CorePodGroup
from windlass.bridge.world import World
from windlass.kube.objects import Node, Pod
from windlass.kube.requests import Sends
from windlass.slurm.model import Job
from windlass.values.hostlist import expand
from windlass.values.key import Key

NOBODY = Verdict(Identity())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What an administrator decided."""

    settings: Settings
    devices: DeviceMap = DEFAULT
    policy: Policy = field(default_factory=Policy)
    taint_nodes: bool = False


@dataclass(frozen=True, slots=True)
class Means:
    """Who is asked for what nobody watches, and what time it is."""

    client: Sends
    now: Callable[[], datetime]


class Observer:
    def __init__(self, world: World, link: Link, rules: Rules, means: Means) -> None:
        self._world = world
        self._link = link
        self._rules = rules
        self._now = means.now
        self._claims = Claims(means.client, means.now)
        self._places = QueuePlaces()
        self._gangs = Gangs(rules.devices)
        self.feasible = Feasible(world.nodes, world.others)
        self.ledger = Ledger(world.pods, world.others)
        self.seats = Seats(world.pods)
        self._burdens = Burdens(self.ledger, world.nodes)

    async def observe(self, key: GangKey) -> Observed:
        pods = self._world.gang(key)
        gang = self._gang(key, pods)
        seen = Observed(
            key=key,
            pods=tuple(pods),
            gang=gang,
            verdict=self._verdict(gang) if gang else NOBODY,
            settings=self._rules.settings,
            hosts=self._hosts(pods),
            group=self._group(key, pods),
            slurm=None,
            now=self._now(),
        )
        known = self._link.seen()
        if known is None:
            return seen
        seen = replace(seen, storage=await self._claims.storage(_without_node(pods)))
        slurm = SlurmSide(jobs=self._link.ours(key), noted=_noted(pods, known))
        strays = self._strays(pods, slurm)
        unseen = frozenset(each.job.id for each in slurm.jobs if self.seats.of(each.job.id))
        hosts = self._hosts((*pods, *strays))
        seen = replace(seen, strays=strays, hosts=hosts, unseen=unseen)
        return replace(seen, slurm=await self._completed(replace(seen, slurm=slurm), slurm, known))

    def _gang(self, key: GangKey, pods: list[Pod]) -> Gang | None:
        there = live(pods)
        if not there:
            self._gangs.forget(key)
            return None
        every = [*there, *(pod for pod in pods if pod.status.phase in ENDED)]
        return self._gangs.of(key, every, [self._world.around(pod) for pod in every])

    def _group(self, key: GangKey, pods: list[Pod]) -> CorePodGroup | None:
        named = key.kind == pod_group.CORE and pods
        return self._world.around(pods[0]).core_pod_group if named else None

    def _strays(self, pods: list[Pod], slurm: SlurmSide) -> tuple[Pod, ...]:
        ours = {pod.metadata.key for pod in pods}
        jobs = {*slurm.noted, *(each.job.id for each in slurm.jobs if each.alive)}
        every = (pod for number in sorted(jobs) for pod in self._world.of_job(number))
        return tuple(pod for pod in every if pod.metadata.key not in ours)

    def _verdict(self, gang: Gang) -> Verdict:
        namespace = self._world.namespace(gang.key.namespace)
        asker = Asker(gang.key.namespace, annotations=namespace.annotations or {})
        return settled(asker, gang.owners_wishes, gang.own_wishes, self._rules.policy)

    def _hosts(self, pods: Iterable[Pod]) -> dict[str, Host]:
        """Those that are not well."""
        named = {pod.spec.node_name for pod in pods if pod.spec.node_name}
        found = {name: _host(self._world.node(name)) for name in named}
        return {name: host for name, host in found.items() if host is not Host.WELL}

    # --- Slurm ---------------------------------------------------------------------------------

    async def _completed(self, seen: Observed, slurm: SlurmSide, known: Seen) -> SlurmSide:
        """What is dear to find out, where it is needed."""
        if seen.gang is None:
            return slurm
        current = standing(seen, slurm).current
        if current is None or current.job.state.pending:
            return self._before(seen, seen.gang, slurm, known, current.job if current else None)
        return await self._after(seen, slurm, known, current.job)

    def _before(
        self, seen: Observed, gang: Gang, slurm: SlurmSide, known: Seen, job: Job | None
    ) -> SlurmSide:
        partition = gang.wishes.partition or self._rules.settings.partition
        identity = submission.marker(gang, self._rules.settings).identity
        specs = [pod.spec for pod in live(seen.pods)]
        nodes = self.feasible.nodes(specs, known.nodes, partition)
        for terms in seen.storage.terms:
            nodes = nodes.within(self.feasible.reaching(terms))
        taken = self.ledger.nodes_with(_ports(gang)) | self._burdens.too_small(specs)
        return replace(
            slurm,
            nodes=nodes.without(self._called(taken)),
            submit_in=self._link.submit_in(identity),
            ahead=self._places.ahead(job.id, known.jobs.values(), known.as_of) if job else None,
        )

    def _called(self, hosts: Iterable[str]) -> frozenset[str]:
        called = self.feasible.names().slurm
        return frozenset(called[name] for name in hosts if name in called)

    async def _after(self, seen: Observed, slurm: SlurmSide, known: Seen, job: Job) -> SlurmSide:
        if not _without_node(seen.pods) or not job.state.running:
            return slurm
        called, nodes = self.feasible.names().kube, expand(job.nodes)
        wants = any(dra.wishes(pod.spec) for pod in _without_node(seen.pods))
        alone = single(job) and seen.gang is not None and seen.gang.most == 1
        held = () if alone and not wants else await self._link.held(job.id)
        hosts = [called[name] for name in nodes if name in called]
        crowds = (each for each in hosts if crowded(self._there(each, known), job.id))
        return replace(
            slurm,
            kube=called,
            threads={name: known.nodes[name].threads or 1 for name in nodes if name in known.nodes},
            held=held or (),
            shares=await self._shares(seen) if wants else {},
            crowded=frozenset(crowds),
            ground={name: ground for name in hosts if (ground := self._ground(seen, name))},
        )

    def _ground(self, seen: Observed, name: str) -> Ground | None:
        host = self._world.node(name)
        if host is None or seen.gang is None:
            return None
        free = left(allocatable(host), self.ledger.used(name))
        ports = self.ledger.takers(name, _ports(seen.gang))
        return Ground(host, free, ports, self._world.inventory(name), self._rules.devices)

    async def _shares(self, seen: Observed) -> dict[int, Share]:
        """What the pods have that are bound already."""
        found = {}
        pods = {pod.metadata.key: pod for pod in seen.pods}
        for member in seen.gang.members if seen.gang else ():
            if member.pod is not None and member.host and dra.wishes(pods[member.pod].spec):
                name = dra.claim_name(pods[member.pod].metadata)
                claim = await self._claims.device_claim(Key(member.pod.namespace, name))
                there = self._world.inventory(member.host)
                if claim is not None:
                    found[member.index] = dra.held(claim, there, self._rules.devices)
        return found

    def _there(self, node: str, known: Seen) -> Iterator[tuple[Pod, Job | None]]:
        """The pods on a node, each with its job."""
        for pod in self._world.on(node):
            number = job_id(pod)
            if number is not None:
                yield pod, known.job(number)
        for pod, number in self.seats.on(node):
            yield pod, known.job(number)


def _without_node(pods: Iterable[Pod]) -> list[Pod]:
    return [pod for pod in live(pods) if not pod.spec.node_name]


def _ports(gang: Gang) -> tuple[HostPort, ...]:
    return tuple({port for member in gang.members for port in member.ports})


def _noted(pods: Iterable[Pod], known: Seen) -> dict[int, Job]:
    numbers = {number for pod in pods if (number := job_id(pod)) is not None}
    return {number: job for number in numbers if (job := known.job(number))}


def _host(node: Node | None) -> Host:
    if node is None:
        return Host.GONE
    ready = (each.status for each in node.status.conditions or () if each.type == "Ready")
    return Host.SILENT if next(ready, "True") == "Unknown" else Host.WELL
