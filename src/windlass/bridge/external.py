"""What a labelled node of Kubernetes is as an EXTERNAL node of Slurm. Pure.

What kubelet keeps for itself is not Slurm's to give, nor what daemons take: what counts is what can
be allocated without that, and less is told rather than more: CPUs rounded down to whole cores,
memory to `STEP`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from windlass.bridge import words
from windlass.bridge.amounts import NANO, allocatable, left
from windlass.bridge.devices import DeviceMap
from windlass.bridge.names import slurm_name
from windlass.bridge.slices import NOTHING, Inventory
from windlass.kube.objects import Node
from windlass.slurm import model
from windlass.values import gres
from windlass.values.gres import Gres

STEP: Final = 64
"""MiB. A kernel that keeps a little more for itself makes no other node."""
SMT: Final = "feature.node.kubernetes.io/cpu-hardware_multithreading"
"""Node Feature Discovery's label."""
GPU: Final = "gpu"
MEBIBYTE: Final = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    name: str
    address: str
    cpus: int
    threads: int
    memory: int
    gres: tuple[Gres, ...] = ()
    features: tuple[str, ...] = ()
    topology: str = ""

    @property
    def shape(self) -> tuple[object, ...]:
        """Nodes of one shape are made by one call."""
        return (self.cpus, self.threads, self.memory, self.gres, self.features, self.topology)

    def same_hardware(self, node: model.Node) -> bool:
        """What can only be changed by making the node anew."""
        return (self.cpus, self.memory, self.address, _counts(self.gres)) == (
            node.cpus,
            node.memory,
            node.address,
            _counts(gres.parse(node.gres)),
        )


def external(
    host: Node,
    devices: DeviceMap,
    taken: Mapping[str, int] = {},
    published: Inventory = NOTHING,
) -> External | None:
    """None for a node that nobody labelled, or that has nothing to give yet."""
    notes = host.metadata.annotations or {}
    if words.EXTERNAL_NODE not in (host.metadata.labels or {}):
        return None
    has = left(allocatable(host), taken) | published.amounts
    threads = published.threads or _threads(host)
    cpus = _cpus(has, published) // threads * threads
    memory = has.get("memory", 0) // (NANO * MEBIBYTE) // STEP * STEP
    address = _address(host)
    if not (cpus and memory and address):
        return None
    return External(
        name=slurm_name(host),
        address=address,
        cpus=cpus,
        threads=threads,
        memory=memory,
        gres=_tellable(tuple(_gres(has, devices))),
        features=_listed(notes.get(words.EXTERNAL_NODE_PARTITIONS, "")),
        topology=notes.get(words.TOPOLOGY, ""),
    )


def _threads(host: Node) -> int:
    return 2 if (host.metadata.labels or {}).get(SMT) == "true" else 1


def _cpus(has: Mapping[str, int], published: Inventory) -> int:
    """Where a driver gives CPUs away, those that it does not have cannot be given."""
    count = has.get("cpu", 0) // NANO
    return min(count, len(published.cpus)) if published.cores else count


def line(several: tuple[External, ...]) -> str:
    """As slurm.conf would describe nodes of one shape.

    The address is an IP in any case: slurmctld waits for names that do not resolve, under locks.
    """
    one = several[0]
    parts = [
        f"NodeName={','.join(each.name for each in several)}",
        f"NodeAddr={','.join(each.address for each in several)}",
        f"CPUs={one.cpus} Sockets=1 CoresPerSocket={one.cpus // one.threads}",
        f"ThreadsPerCore={one.threads} RealMemory={one.memory} State=EXTERNAL",
    ]
    if one.features:
        parts.append(f"Feature={','.join(one.features)}")
    if one.topology:
        parts.append(f"Topology={one.topology}")
    if one.gres:
        parts.append(f'Gres="{",".join(str(each) for each in one.gres)}"')
        parts += [f'GresConf="{_devices(each)}"' for each in one.gres if each.name == GPU]
    return " ".join(parts)


def _devices(one: Gres) -> str:
    """slurmctld wants a file for each device, and opens none."""
    kind = [f"type={one.type}"] if one.type else []
    files = [f"file={one.type or one.name}-{number}" for number in range(one.count)]
    return ",".join([f"count={one.count}", f"name={one.name}", *kind, *files])


def _tellable(several: tuple[Gres, ...]) -> tuple[Gres, ...]:
    """slurmctld 26.05 takes GPUs of one kind and nothing beside them, or others without GPUs: it
    reads one GresConf, wants one for GPUs, and each device in it. Of what it is not told it gives
    nothing away."""
    gpus = [one for one in several if one.name == GPU]
    return (max(gpus, key=lambda one: one.count),) if gpus else several


def _gres(has: Mapping[str, int], devices: DeviceMap) -> Iterator[Gres]:
    sums: dict[tuple[str, str], int] = {}
    for resource, amount in has.items():
        target = devices.target(resource)
        if target is not None and target.plugin == "gres" and amount > 0:
            at = target.name, target.type
            sums[at] = sums.get(at, 0) + amount // NANO
    for (name, kind), count in sorted(sums.items()):
        yield Gres(name, kind, count)


def _counts(several: tuple[Gres, ...]) -> dict[tuple[str, str], int]:
    return {(one.name, one.type): one.count for one in several}


def _address(host: Node) -> str:
    every = host.status.addresses or ()
    return next((each.address for each in every if each.type == "InternalIP"), "")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
