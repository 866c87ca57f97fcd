"""What one pod needs of its node, in Slurm's words, by Kubernetes' own arithmetic.

Containers run side by side and add up. Init containers run one after the other, so the largest
counts; one that restarts for ever (a sidecar) stays, and adds to all that comes after it. What the
pod says as a whole goes before what its containers say, and the overhead comes on top. Slinky's
rule is kept: the larger of requests and limits.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from windlass.api.validation.findings import Finding, Problem
from windlass.bridge import words
from windlass.bridge.devices import DeviceMap
from windlass.kube import meta
from windlass.kube.objects import Container, PodSpec, Resources
from windlass.values.gres import Gres
from windlass.values.quantity import Quantity

Amounts: TypeAlias = Mapping[str, Quantity]
Written: TypeAlias = Mapping[str, meta.Quantity] | None
Side: TypeAlias = Callable[[Resources], Written]

NOTHING: Final = Quantity(0)
HUGE_PAGES: Final = "hugepages-"
_UNSEEN: Final = frozenset({"cpu", "memory", "ephemeral-storage", words.DRA_CPU})
"""Those with a rule of their own, and disk, which is between the pod and its kubelet."""


class Spends(Protocol):
    """What of a spec says how much its pod needs."""

    @property
    def containers(self) -> list[Container] | None: ...

    @property
    def init_containers(self) -> list[Container] | None: ...

    @property
    def resources(self) -> Resources | None: ...

    @property
    def overhead(self) -> dict[str, meta.Quantity] | None: ...


@dataclass(frozen=True, slots=True)
class Needs:
    """Whole CPUs, at least one; memory in MiB, None where nothing was said, never 0."""

    cpus: int = 1
    memory: int | None = None
    gres: tuple[Gres, ...] = ()
    licenses: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Assessment:
    needs: Needs
    findings: tuple[Finding, ...] = ()


def assess(spec: PodSpec, devices: DeviceMap) -> Assessment:
    """What a pod needs, and what of it Slurm cannot count."""
    amounts = _greater(requests(spec), limits(spec))
    findings = [*_unmapped(amounts, devices), *_two_ways_of_cpu(amounts), *_mixed(amounts, devices)]
    cpus = max(amounts.get("cpu", NOTHING), amounts.get(words.DRA_CPU, NOTHING)).cores
    memory = amounts.get("memory", NOTHING).mebibytes
    counted = _counted(amounts, devices)
    needs = Needs(
        cpus=max(cpus, 1),
        memory=memory or None,
        gres=tuple(Gres(name, kind, n) for (plugin, name, kind), n in counted if plugin == "gres"),
        licenses=tuple((name, n) for (plugin, name, _), n in counted if plugin == "license"),
    )
    return Assessment(needs, tuple(findings))


def greatest(several: Iterable[Needs]) -> Needs:
    """What covers each of them."""
    cpus, memory = 1, 0
    gres: dict[tuple[str, str], int] = {}
    licenses: dict[str, int] = {}
    for needs in several:
        cpus, memory = max(cpus, needs.cpus), max(memory, needs.memory or 0)
        for one in needs.gres:
            gres[one.name, one.type] = max(gres.get((one.name, one.type), 0), one.count)
        for name, count in needs.licenses:
            licenses[name] = max(licenses.get(name, 0), count)
    kinds = tuple(Gres(name, kind, count) for (name, kind), count in sorted(gres.items()))
    return Needs(cpus, memory or None, kinds, tuple(sorted(licenses.items())))


# --- Kubernetes' arithmetic -----------------------------------------------------------------


def requests(spec: Spends) -> Amounts:
    """What the whole pod requests."""
    amounts = _containers(spec, _requests)
    if spec.resources:
        amounts |= {name: q for name, q in _read(spec.resources.requests) if _pod_level(name)}
    return _sum(amounts, dict(_read(spec.overhead)))


def limits(spec: Spends) -> Amounts:
    """What the whole pod is limited to; the overhead raises a limit and makes none."""
    amounts = _containers(spec, _limits)
    if spec.resources:
        amounts |= {name: q for name, q in _read(spec.resources.limits) if _pod_level(name)}
    overhead = {name: q for name, q in _read(spec.overhead) if amounts.get(name, NOTHING).nano}
    return _sum(amounts, overhead)


def _containers(spec: Spends, side: Side) -> dict[str, Quantity]:
    running: dict[str, Quantity] = {}
    for container in spec.containers or ():
        running = _sum(running, _of(container, side))
    sidecars: dict[str, Quantity] = {}
    starting: dict[str, Quantity] = {}
    for container in spec.init_containers or ():
        own = _of(container, side)
        starting = _greater(starting, _sum(sidecars, own))
        if container.restart_policy == "Always":
            sidecars, running = _sum(sidecars, own), _sum(running, own)
    return _greater(running, starting)


def _requests(resources: Resources) -> Written:
    return resources.requests


def _limits(resources: Resources) -> Written:
    return resources.limits


def _of(container: Container, side: Side) -> dict[str, Quantity]:
    return dict(_read(side(container.resources))) if container.resources else {}


def _read(written: Written) -> Iterator[tuple[str, Quantity]]:
    for name, amount in (written or {}).items():
        yield name, Quantity.parse(amount if isinstance(amount, int) else str(amount))


def _pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith(HUGE_PAGES)


def _sum(one: Amounts, other: Amounts) -> dict[str, Quantity]:
    return {name: one.get(name, NOTHING) + other.get(name, NOTHING) for name in {**one, **other}}


def _greater(one: Amounts, other: Amounts) -> dict[str, Quantity]:
    return {
        name: max(one.get(name, NOTHING), other.get(name, NOTHING)) for name in {**one, **other}
    }


def plugged(spec: Spends) -> frozenset[str]:
    """The resources of device plugins that a pod asks for: only nodes that have them take it."""
    several = (*(spec.containers or ()), *(spec.init_containers or ()))
    asked = (each.resources for each in several if each.resources)
    sides = (side for each in asked for side in (each.requests, each.limits) if side)
    named = ({name: side[name] for name in side if is_plugged(name)} for side in sides)
    return frozenset(name for each in named for name, amount in _read(each) if amount.nano)


def is_plugged(name: str) -> bool:
    """Whether a resource is one of a device plugin, not of Kubernetes or of a class of devices."""
    return "/" in name and not name.startswith(words.DEVICE_CLASS)


# --- what Slurm counts ----------------------------------------------------------------------


def _extended(amounts: Amounts) -> dict[str, int]:
    """Devices and the like, by name; none of nothing."""
    return {
        name: amount.ceil()
        for name, amount in sorted(amounts.items())
        if name not in _UNSEEN and amount.nano > 0
    }


def _counted(amounts: Amounts, devices: DeviceMap) -> list[tuple[tuple[str, str, str], int]]:
    """Two resources that are the same to Slurm add up."""
    sums: dict[tuple[str, str, str], int] = {}
    for resource, count in _extended(amounts).items():
        if target := devices.target(resource):
            key = target.plugin, target.name, target.type
            sums[key] = sums.get(key, 0) + count
    return sorted(sums.items())


def _unmapped(amounts: Amounts, devices: DeviceMap) -> Iterator[Finding]:
    for resource in _extended(amounts):
        if devices.target(resource) is None:
            yield Problem(
                "spec.containers.resources",
                f"Slurm does not know what {resource} is",
                "leave it out, or have it added to the bridge's table of devices",
            )


def _two_ways_of_cpu(amounts: Amounts) -> Iterator[Finding]:
    if words.DRA_CPU in amounts and "cpu" in amounts:
        yield Problem(
            "spec.containers.resources",
            f"both cpu and {words.DRA_CPU} are asked for",
            "ask for one of the two in all containers",
        )


def _mixed(amounts: Amounts, devices: DeviceMap) -> Iterator[Finding]:
    """Slurm refuses a job that asks for any GPU and for one of a type."""
    gres = [
        (name, kind) for (plugin, name, kind), _ in _counted(amounts, devices) if plugin == "gres"
    ]
    for name, kind in gres:
        if kind and (name, "") in gres:
            yield Problem(
                "spec.containers.resources",
                f"both gres/{name} and gres/{name}:{kind} are asked for, which Slurm refuses",
                "ask for one kind of them in a pod",
            )
