"""The claim through which a pod gets the devices and CPUs that Slurm gave it. Pure.

Containers ask for devices of a class as if they were extended resources. Kubernetes has a claim
made for such a pod by its scheduler: which device goes to which container stands there.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from windlass.bridge import words
from windlass.bridge.devices import DeviceMap
from windlass.bridge.sharing import Device, Share
from windlass.bridge.slices import CPU, DeviceName, Inventory
from windlass.kube.meta import Meta, Part
from windlass.kube.objects import Container, Pod, PodSpec, Resources
from windlass.values import bitmap
from windlass.values.quantity import Quantity
from windlass.values.reason import Reason

EXTENDED: Final = "resource.kubernetes.io/extended-resource-claim"
FROM_CLASS: Final = "FromClass"
LONGEST: Final = 253
SIDECAR: Final = "Always"


@dataclass(frozen=True, slots=True)
class Wish:
    """Devices of a class that a container asks for."""

    container: str
    resource: str
    count: int
    passing: bool = False
    """Only until the pod has begun, with what others use after it."""

    @property
    def device_class(self) -> str:
        return self.resource.removeprefix(words.DEVICE_CLASS)


@dataclass(frozen=True, slots=True)
class DeviceClaim:
    """A claim, rendered: what is asked, what was given, and which container gets what."""

    name: str
    spec: Mapping[str, Any]
    results: tuple[Mapping[str, str], ...]
    mappings: tuple[Mapping[str, str], ...]

    @property
    def classes(self) -> tuple[tuple[str, str], ...]:
        """Each request with its class."""
        every = self.spec["devices"]["requests"]
        return tuple((each["name"], each["exactly"]["deviceClassName"]) for each in every)


def wishes(spec: PodSpec) -> tuple[Wish, ...]:
    """Mostly none, which is found out quickly."""
    if not any(map(_may_ask, (*(spec.containers or ()), *(spec.init_containers or ())))):
        return ()
    sidecars = [each for each in spec.init_containers or () if each.restart_policy == SIDECAR]
    passing = [each for each in spec.init_containers or () if each.restart_policy != SIDECAR]
    lasting = [wish for each in (*sidecars, *(spec.containers or ())) for wish in _asked(each)]
    first = [wish for each in passing for wish in _asked(each, passing=True)]
    return (*lasting, *first)


def _may_ask(container: Container) -> bool:
    found = container.resources
    if found is None:
        return False
    names = (*(found.limits or ()), *(found.requests or ()))
    return any(name.startswith(words.DEVICE_CLASS) for name in names)


def _asked(container: Container, *, passing: bool = False) -> Iterator[Wish]:
    resources = container.resources or Resources()
    amounts = {**(resources.limits or {}), **(resources.requests or {})}
    for resource, amount in sorted(amounts.items()):
        if resource.startswith(words.DEVICE_CLASS):
            written = amount if isinstance(amount, int) else str(amount)
            if count := Quantity.parse(written).ceil():
                yield Wish(container.name, resource, count, passing)


def claim_name(pod: Meta) -> str:
    """The same each time, so that a claim made before we were stopped is found again."""
    suffix = "-extended-resources-" + hashlib.sha256(pod.uid.encode()).hexdigest()[:8]
    return pod.name[: LONGEST - len(suffix)].rstrip(".-") + suffix


def claim(pod: Pod, share: Share, there: Inventory, devices: DeviceMap) -> DeviceClaim | Reason:
    """What a pod gets of its share; a reason where the drivers do not have what Slurm gave."""
    dealer = _Dealer(share, there, devices)
    requests: list[dict[str, Any]] = []
    results: list[dict[str, str]] = []
    mappings: list[dict[str, str]] = []
    served: dict[str, tuple[str, int]] = {}
    """By class: a request that init containers may use before its own container does."""
    for number, wish in enumerate(wishes(pod.spec)):
        name, many = served.get(wish.device_class, ("", 0))
        if not (wish.passing and many >= wish.count):
            name = f"request-{number}"
            given = dealer.deal(wish)
            if given is None:
                return _missing(wish)
            exactly = {"deviceClassName": wish.device_class, "allocationMode": "ExactCount"}
            requests.append({"name": name, "exactly": {**exactly, "count": wish.count}})
            results += [
                {"request": name, "driver": one.driver, "pool": one.pool, "device": one.name}
                for one in given
            ]
            served[wish.device_class] = name, max(many, wish.count)
        mappings.append(_mapping(wish, name))
    spec = {"devices": {"requests": requests}}
    return DeviceClaim(claim_name(pod.metadata), spec, tuple(results), tuple(mappings))


def _mapping(wish: Wish, request: str) -> dict[str, str]:
    return {
        "containerName": wish.container,
        "resourceName": wish.resource,
        "requestName": request,
    }


def _missing(wish: Wish) -> Reason:
    sentence = f"its node does not show {wish.count} of the devices of class {wish.device_class}"
    return Reason("DevicesMissing", f"{sentence} that Slurm gave it")


class _Dealer:
    """Gives each container its part of the pod's share."""

    def __init__(self, share: Share, there: Inventory, devices: DeviceMap) -> None:
        self._there = there
        self._map = devices
        self._free: dict[tuple[str, str], list[int]] = {}
        for device in share.devices:
            numbers = self._free.setdefault((device.name, device.type), [])
            numbers += bitmap.indices(device.numbers)
        self._cpus = list(bitmap.indices(share.cpus))

    def deal(self, wish: Wish) -> list[DeviceName] | None:
        if wish.device_class == CPU:
            return _picked(self._there.cpus, self._cpus, wish.count)
        target = self._map.target(wish.resource)
        numbers = self._free.get((target.name, target.type)) if target else None
        published = self._there.devices.get(wish.device_class, ())
        return None if numbers is None else _picked(published, numbers, wish.count)


def _picked(every: Sequence[DeviceName], numbers: list[int], count: int) -> list[DeviceName] | None:
    some = numbers[:count]
    if len(some) < count or any(number >= len(every) for number in some):
        return None
    del numbers[:count]
    return [every[number] for number in some]


# --- what administrators say of devices ------------------------------------------------------


class ClassSpec(Part, frozen=True, gc=False):
    config: list[dict[str, Any]] | None = None


class DeviceClass(Part, frozen=True, gc=False):
    metadata: Meta
    spec: ClassSpec = ClassSpec()


# --- what was given before --------------------------------------------------------------------


class Result(Part, frozen=True, gc=False):
    driver: str = ""
    pool: str = ""
    device: str = ""


class Allocated(Part, frozen=True, gc=False):
    results: list[Result] | None = None


class Allocation(Part, frozen=True, gc=False):
    devices: Allocated = Allocated()


class ClaimStatus(Part, frozen=True, gc=False):
    allocation: Allocation | None = None


class ResourceClaim(Part, frozen=True, gc=False):
    metadata: Meta
    status: ClaimStatus = ClaimStatus()

    @property
    def given(self) -> tuple[DeviceName, ...]:
        found = self.status.allocation
        results = (found.devices.results if found else None) or ()
        return tuple(DeviceName(each.driver, each.pool, each.device) for each in results)


def held(found: ResourceClaim, there: Inventory, devices: DeviceMap) -> Share:
    """The share that a claim stands for."""
    given = set(found.given)
    cpus = bitmap.of(number for number, cpu in enumerate(there.cpus) if cpu in given)
    kept = []
    for driver, published in there.devices.items():
        target = devices.target(words.DEVICE_CLASS + driver)
        bits = bitmap.of(number for number, one in enumerate(published) if one in given)
        if bits and target is not None:
            kept.append(Device(target.name, target.type, bits))
    return Share(cpus, tuple(kept))
