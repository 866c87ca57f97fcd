import pytest

from windlass.bridge.configuration import Configuration, read
from windlass.bridge.devices import Target
from windlass.kube.meta import Meta
from windlass.values.malformed import Malformed

SLINKY = """
schedulerName: slurm-bridge-scheduler
slurmRestApi: http://slurm-restapi.slurm:6820
managedNamespaces: [team]
managedNamespaceSelector: {matchLabels: {slurm: "yes"}}
mcsLabel: kubernetes
partition: slurm-bridge
"""


def test_slinkys_file_is_read() -> None:
    found = read(SLINKY)
    managed = found.admission("me").managed
    assert managed.has(Meta(name="x", labels={"slurm": "yes"}))
    assert not managed.has(Meta(name="team"))
    assert found.settings("uid").cluster == "uid"


def test_an_empty_file_is_the_default() -> None:
    assert read("") == Configuration()


def test_devices_of_the_file_go_before_those_that_are_known() -> None:
    table = read("devices: {nvidia.com/gpu: 'gres/gpu:a100'}").device_map()
    assert table.target("nvidia.com/gpu") == Target("gres", "gpu", "a100")
    assert table.target("amd.com/gpu") == Target("gres", "gpu")


@pytest.mark.parametrize(
    "text",
    [
        "partitions: x",
        "partition: [x]",
        "{",
        "devices: {x: y}",
        "priorities: {urgent: fast}",
        "identities: {users: {a: {usr: x}}}",
    ],
)
def test_what_is_wrong_is_said(text: str) -> None:
    with pytest.raises(Malformed):
        read(text)
