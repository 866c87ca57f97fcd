"""Sums of pods. The cases of `pod_totals.json` were added up by Kubernetes 1.36.3's own code."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.api.validation.findings import Problem
from windlass.bridge import devices
from windlass.bridge.devices import DeviceMap
from windlass.bridge.resources import Needs, assess, greatest, limits, requests
from windlass.kube.objects import PodSpec
from windlass.values.gres import Gres
from windlass.values.quantity import Quantity

TOTALS = json.loads((Path(__file__).parent / "pod_totals.json").read_text())
DRA = "deviceclass.resource.kubernetes.io/"


def pod(*containers: dict[str, Any], **more: Any) -> PodSpec:
    return msgspec.convert({"containers": list(containers), **more}, PodSpec)


def asks(**amounts: Any) -> dict[str, Any]:
    return {"resources": {"requests": {name: str(n) for name, n in amounts.items()}}}


def limited(**amounts: Any) -> dict[str, Any]:
    return {"resources": {"limits": {name: str(n) for name, n in amounts.items()}}}


def sidecar(**amounts: Any) -> dict[str, Any]:
    return {**asks(**amounts), "restartPolicy": "Always"}


def devised(**amounts: Any) -> dict[str, Any]:
    return {"resources": {"limits": {name: str(n) for name, n in amounts.items()}}}


@pytest.mark.parametrize(
    ("spec", "cpus", "memory"),
    [
        (pod(), 1, None),
        (pod({}), 1, None),
        (pod(asks(cpu="100m")), 1, None),
        (pod(asks(cpu="1001m")), 2, None),
        (pod(asks(cpu="600m"), asks(cpu="600m")), 2, None),
        (pod(asks(cpu=1), limited(cpu=4)), 4, None),
        (pod(asks(memory="1")), 1, 1),
        (pod(asks(memory="1Mi")), 1, 1),
        (pod(asks(memory="0")), 1, None),
        (pod(asks(memory="1000M")), 1, 954),
        (pod(asks(cpu=1), initContainers=[asks(cpu=3), asks(cpu=2)]), 3, None),
        (pod(asks(cpu=2), initContainers=[sidecar(cpu=1), asks(cpu=1)]), 3, None),
        (pod(asks(cpu=2), initContainers=[sidecar(cpu=1), asks(cpu=3)]), 4, None),
        (pod(asks(cpu=2), initContainers=[asks(cpu=3), sidecar(cpu=1)]), 3, None),
        (pod(asks(cpu=2), resources={"requests": {"cpu": "5"}}), 5, None),
        (pod(asks(cpu=5), resources={"requests": {"cpu": "2"}}), 2, None),
        (pod(asks(cpu=1, memory="1Gi"), overhead={"cpu": "250m", "memory": "1Mi"}), 2, 1025),
    ],
)
def test_what_a_pod_takes(spec: PodSpec, cpus: int, memory: int | None) -> None:
    found = assess(spec, devices.DEFAULT)
    assert (found.needs.cpus, found.needs.memory) == (cpus, memory)
    assert not found.findings


@pytest.mark.parametrize("case", TOTALS)
def test_sums_are_those_of_kubernetes(case: dict[str, Any]) -> None:
    spec = msgspec.convert(case["spec"], PodSpec)
    assert requests(spec) == _quantities(case["requests"])
    assert limits(spec) == _quantities(case["limits"])


def _quantities(written: dict[str, str] | None) -> dict[str, Quantity]:
    return {name: Quantity.parse(amount) for name, amount in (written or {}).items()}


amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 9).map(str)
)
containers = st.builds(
    lambda r, m, always: {
        "resources": {"requests": r, "limits": m},
        **({"restartPolicy": "Always"} if always else {}),
    },
    amounts,
    amounts,
    st.booleans(),
)


@given(st.lists(containers, max_size=4), st.lists(containers, max_size=4))
def test_a_pod_needs_what_it_uses_at_its_worst_moment(
    running: list[dict[str, Any]], starting: list[dict[str, Any]]
) -> None:
    """Written down moment by moment: each start of an init container, then all that stays."""
    moments: list[list[dict[str, Any]]] = []
    stays: list[dict[str, Any]] = []
    for container in starting:
        moments.append([*stays, container])
        if "restartPolicy" in container:
            stays.append(container)
    moments.append([*stays, *running])

    spec = pod(*running, initContainers=starting)
    for side, found in (("requests", requests(spec)), ("limits", limits(spec))):
        for name in ("cpu", "memory", "nvidia.com/gpu"):
            used = [sum(int(c["resources"][side].get(name, 0)) for c in m) for m in moments]
            assert found.get(name, Quantity(0)) == Quantity.parse(max(used))


@given(st.lists(containers, min_size=1, max_size=3), st.lists(containers, max_size=3))
def test_what_is_asked_of_slurm_covers_what_kubernetes_will_want(
    running: list[dict[str, Any]], starting: list[dict[str, Any]]
) -> None:
    spec = pod(*running, initContainers=starting)
    needs, wanted = assess(spec, devices.DEFAULT).needs, requests(spec)
    assert needs.memory != 0
    assert Quantity.parse(needs.cpus) >= wanted.get("cpu", Quantity(0))
    assert Quantity.parse(f"{needs.memory or 0}Mi") >= wanted.get("memory", Quantity(0))
    gpus = sum(one.count for one in needs.gres)
    assert Quantity.parse(gpus) >= wanted.get("nvidia.com/gpu", Quantity(0))


@pytest.mark.parametrize(
    ("amounts", "needs"),
    [
        ({"nvidia.com/gpu": 2}, Needs(gres=(Gres("gpu", "", 2),))),
        ({"nvidia.com/gpu": 0}, Needs()),
        ({"nvidia.com/gpu": 1, "amd.com/gpu": 2}, Needs(gres=(Gres("gpu", "", 3),))),
        (
            {"nvidia.com/mig-1g.10gb": 2, "nvidia.com/mig-2g.20gb": 1},
            Needs(gres=(Gres("gpu", "1g.10gb", 2), Gres("gpu", "2g.20gb", 1))),
        ),
        ({"example.com/cad": 3}, Needs(licenses=(("cad", 3),))),
        ({f"{DRA}dra.cpu": 6}, Needs(cpus=6)),
        ({f"{DRA}gpu.nvidia.com": 1}, Needs(gres=(Gres("gpu", "gpu.nvidia.com", 1),))),
        ({"ephemeral-storage": "10Gi"}, Needs()),
    ],
)
def test_devices_become_gres_or_licences(amounts: dict[str, Any], needs: Needs) -> None:
    found = assess(pod(devised(**amounts)), TABLE)
    assert found.needs == needs
    assert not found.findings


TABLE = DeviceMap(
    (*DeviceMap.parse({"example.com/cad": "license/cad"}).targets, *devices.DEFAULT.targets)
)


@pytest.mark.parametrize(
    ("amounts", "sentence"),
    [
        ({"example.com/fpga": 1}, "Slurm does not know what example.com/fpga is"),
        ({"hugepages-2Mi": "4Mi"}, "Slurm does not know what hugepages-2Mi is"),
        ({f"{DRA}x": 1}, f"Slurm does not know what {DRA}x is"),
        ({"cpu": 1, f"{DRA}dra.cpu": 1}, f"both cpu and {DRA}dra.cpu are asked for"),
        (
            {"nvidia.com/gpu": 1, "nvidia.com/mig-1g.5gb": 1},
            "both gres/gpu and gres/gpu:1g.5gb are asked for, which Slurm refuses",
        ),
    ],
)
def test_what_slurm_cannot_count_is_refused_by_name(amounts: dict[str, Any], sentence: str) -> None:
    (found,) = assess(pod(devised(**amounts)), TABLE).findings
    assert isinstance(found, Problem)
    assert found.sentence == sentence


def test_the_greatest_needs_cover_every_member() -> None:
    launcher = Needs(cpus=4, memory=100, licenses=(("a", 1),))
    worker = Needs(cpus=2, memory=None, gres=(Gres("gpu", "", 8),), licenses=(("a", 2),))
    assert greatest([launcher, worker]) == Needs(4, 100, (Gres("gpu", "", 8),), (("a", 2),))
    assert greatest([]) == Needs()
