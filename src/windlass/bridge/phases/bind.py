"""A job that runs has its pods bound, each to the node of its rank."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from windlass.bridge import words
from windlass.bridge.amounts import NANO
from windlass.bridge.dra import DeviceClaim, claim, wishes
from windlass.bridge.gang import Gang, Member
from windlass.bridge.ground import NODE_UNKNOWN, UNSUITABLE, Ground
from windlass.bridge.ledger import PODS
from windlass.bridge.observed import Observed, SlurmSide, bound, job_id, kept
from windlass.bridge.phases.mount import NOT_BOUND, not_bound, placed
from windlass.bridge.placing import Place, Placement, place, places
from windlass.bridge.plan import PlaceClaim, Seat, Target
from windlass.bridge.resources import requests
from windlass.bridge.sharing import share
from windlass.bridge.volumes import Mount
from windlass.kube.objects import Pod
from windlass.slurm.model import Job
from windlass.values.hostlist import expand
from windlass.values.key import Key
from windlass.values.reason import Reason


@dataclass(frozen=True, slots=True)
class Binding:
    seats: tuple[Seat, ...] = ()
    waiting: tuple[tuple[Target, Reason], ...] = ()
    """Who has no seat yet, and why."""
    claims: tuple[PlaceClaim, ...] = ()


def bind(seen: Observed, slurm: SlurmSide, job: Job) -> Binding:
    assert seen.gang is not None
    pods = {pod.metadata.key: pod for pod in seen.pods}
    free = [each for each in seen.gang.members if each.pod and not bound(pods[each.pod])]
    if not free:
        return Binding()
    placement = place(seen.gang.members, _places(slurm, job), _taken(seen.gang, pods, slurm, job))
    seating = _Seating(seen, slurm, job, placement, pods)
    seats, waiting = [], []
    claims: list[PlaceClaim] = []
    for member in free:
        found = seating.seat(member)
        if isinstance(found, Seat):
            seats.append(found)
        else:
            waiting.append((_target(member), found))
            claims += seating.claims(member, found)
    begun = any(member.host for member in seen.gang.members)
    return _together(Binding(tuple(seats), tuple(waiting), tuple(claims)), begun=begun)


def _together(binding: Binding, *, begun: bool) -> Binding:
    """Nobody begins while another of the gang may have to have its place elsewhere."""
    reasons = [reason for _, reason in binding.waiting if reason.code in UNSUITABLE]
    if begun or not reasons:
        return binding
    held = ((seat.pod, reasons[0]) for seat in binding.seats)
    return Binding((), (*held, *binding.waiting))


@dataclass(frozen=True, slots=True)
class _Seating:
    """Who sits where, if nothing is in the way."""

    seen: Observed
    slurm: SlurmSide
    job: Job
    placement: Placement
    pods: Mapping[Key, Pod]

    def seat(self, member: Member) -> Seat | Reason:
        theirs = self.placement.seats.get(member.index)
        if theirs is None:
            return Reason("SlurmJobFull", f"Slurm job {self.job.id} has no room for it")
        node = self.slurm.kube.get(theirs)
        if node is None:
            return Reason(NODE_UNKNOWN, f"Slurm chose {theirs}, which is no node of Kubernetes")
        if node in self.slurm.crowded:
            sentence = f"pods of an ended job still run on {node}; it waits until they are gone"
            return Reason("NodeNotYetFree", sentence)
        return self._hindrance(member, node) or self._seat(member, node, theirs)

    def claims(self, member: Member, reason: Reason) -> Iterable[PlaceClaim]:
        """What has to be done about the claims of a pod that waits for them."""
        ground = self._ground(self.slurm.kube.get(self.placement.seats.get(member.index, ""), ""))
        if ground is None or reason.code != NOT_BOUND:
            return ()
        return placed(ground, self._mounts(member))

    def _hindrance(self, member: Member, node: str) -> Reason | None:
        ground, mounts = self._ground(node), self._mounts(member)
        if ground is None:
            return None
        reason = ground.refusal(member.ports, mounts) or self._lack(member, ground)
        return reason or not_bound(ground, mounts)

    def _lack(self, member: Member, ground: Ground) -> Reason | None:
        """Who has its place on the node is counted there."""
        assert member.pod is not None
        spec = self.pods[member.pod].spec
        needs = {name: amount.nano for name, amount in requests(spec).items()} | {PODS: NANO}
        reason = ground.lack(needs)
        if reason is None:
            ground.take(needs)
        return reason

    def _seat(self, member: Member, node: str, theirs: str) -> Seat | Reason:
        assert member.pod is not None
        pod, number = self.pods[member.pod], self.job.id
        devices = self._devices(member, pod, theirs) if wishes(pod.spec) else None
        if isinstance(devices, Reason):
            return devices
        noted = job_id(pod) == number and _host(pod) == node and kept(pod)
        finalizers = tuple(pod.metadata.finalizers or ())
        return Seat(_target(member), number, node, noted, finalizers, devices, member.ports)

    def _devices(self, member: Member, pod: Pod, theirs: str) -> DeviceClaim | Reason:
        """Its part of what the job has on the node."""
        assert self.seen.gang is not None
        ground = self._ground(self.slurm.kube.get(theirs, ""))
        given = next((each for each in self.slurm.held if each.node == theirs), None)
        if given is None or ground is None:
            return Reason("DevicesUnknown", f"Slurm has not said what it gives on {theirs}")
        seats, taken = self.placement.seats, self.slurm.shares
        mates = [each for each in self.seen.gang.members if seats.get(each.index) == theirs]
        held = {each.index: taken[each.index] for each in mates if each.index in taken}
        shares = share(given, mates, self.slurm.threads.get(theirs, 1), held)
        return claim(pod, shares[member.index], ground.inventory, ground.devices)

    def _ground(self, node: str) -> Ground | None:
        return self.slurm.ground.get(node)

    def _mounts(self, member: Member) -> tuple[Mount, ...]:
        return self.seen.storage.mounts.get(member.pod, ()) if member.pod else ()


def single(job: Job) -> bool:
    """Whether a job has one node, so that a pod that is alone has nothing to ask."""
    return job.node_count == 1 or ("[" not in job.nodes and "," not in job.nodes)


def _places(slurm: SlurmSide, job: Job) -> tuple[Place, ...]:
    if slurm.held:
        return places(slurm.held, slurm.threads)
    return tuple(Place(node) for node in expand(job.nodes))


def _taken(gang: Gang, pods: dict[Key, Pod], slurm: SlurmSide, job: Job) -> dict[int, str]:
    """Who has a node of this job, or had it noted when we were stopped."""
    hosts = {}
    for member in gang.members:
        pod = pods.get(member.pod) if member.pod else None
        if pod is not None and job_id(pod) == job.id and (host := _host(pod)):
            hosts[member.index] = host
    theirs = {ours: name for name, ours in slurm.kube.items()} if hosts else {}
    return {index: theirs[host] for index, host in hosts.items() if host in theirs}


def _host(pod: Pod) -> str:
    return pod.spec.node_name or (pod.metadata.annotations or {}).get(words.NODE, "")


def _target(member: Member) -> Target:
    assert member.pod is not None
    return Target(member.pod, member.uid)


def unbound(seen: Observed) -> Iterator[Target]:
    """The pods of the gang that live and have no node."""
    assert seen.gang is not None
    for member in seen.gang.members:
        if member.pod is not None and not member.host:
            yield Target(member.pod, member.uid)
