"""Our quantities beside those of a real API server.

It prints what it stores in canonical form, except where the number before the suffix already has a
multiple of three decimals (`1.500k`, `+2`): then it repeats what it was given.
"""

import json
import random

import pytest

from windlass.local.errors import CommandFailed
from windlass.testing.kube import RealKube
from windlass.values.malformed import Malformed
from windlass.values.quantity import Quantity

SEED = 20260505
CASES = """
    0 -0 0Gi +2 .5 5. 0.5 1000m 1500m 1000 1024 1024Ki 1.5Gi 1000Ki 0.5Ki 1.1Ki 0.0001Ki
    1e3 1E3 12e2 1500e-3 1e-3 1E 100u 1n 0.1n -1.5Gi -0.1n 1e-10 1.5e2 1023Mi 1025Mi
    1.0 0010 1.50 1.2345678901234 999999999999 1.000000000001Gi 4Ei 7E 0e5
"""


def written(chance: random.Random) -> str:
    number = f"{chance.uniform(0, 5000):.{chance.choice((0, 1, 3))}f}"
    suffixes: list[str] = ["", *"numkMGT", "Ki", "Mi", "Gi", "Ti", "e3", "E2", "e-2"]
    return chance.choice(("", "", "", "-")) + number + chance.choice(suffixes)


def stored(kube: RealKube, texts: list[str]) -> list[str]:
    """What the server keeps of these, as capacities of devices that do not exist."""
    values = {f"q{index}": {"value": text} for index, text in enumerate(texts)}
    names = list(values)
    devices = [
        {
            "name": f"d{start}",
            "capacity": {name: values[name] for name in names[start : start + 32]},
        }
        for start in range(0, len(names), 32)
    ]
    manifest = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "quantities"},
        "spec": {
            "driver": "quantity.windlass.test",
            "nodeName": "none",
            "pool": {"name": "none", "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }
    command = ("create", "--dry-run=server", "--validate=false", "-o", "json", "-f", "-")
    answer = json.loads(kube.kubectl(*command, text=json.dumps(manifest)))
    kept = {
        name: value
        for device in answer["spec"]["devices"]
        for name, value in device["capacity"].items()
    }
    return [kept[name]["value"] for name in names]


def test_the_api_server_prints_quantities_as_we_do(kube: RealKube) -> None:
    chance = random.Random(SEED)
    texts = [*CASES.split(), *(written(chance) for _ in range(400))]

    seen = dict(zip(texts, stored(kube, texts), strict=True))

    rewritten = {text: kept for text, kept in seen.items() if kept != text}
    assert len(rewritten) > 100
    assert {text: str(Quantity.parse(text)) for text in rewritten} == rewritten


@pytest.mark.parametrize("text", ["1 Gi", "1gi", "1K", "1e", "1.2.3", "abc", "0x10"])
def test_what_the_api_server_refuses_we_refuse(kube: RealKube, text: str) -> None:
    with pytest.raises(CommandFailed):
        stored(kube, [text])
    with pytest.raises(Malformed):
        Quantity.parse(text)


@pytest.mark.parametrize("text", ["Gi", ".", "-"])
def test_a_quantity_without_digits_is_zero_to_the_api_server_and_refused_by_us(
    kube: RealKube, text: str
) -> None:
    assert stored(kube, [text]) == ["0"]
    with pytest.raises(Malformed):
        Quantity.parse(text)
