import pytest

from windlass.bridge.devices import DEFAULT, DeviceMap
from windlass.values.malformed import Malformed


@pytest.mark.parametrize(
    ("resource", "target"),
    [
        ("nvidia.com/gpu", "gres/gpu"),
        ("nvidia.com/mig-1g.10gb", "gres/gpu:1g.10gb"),
        ("nvidia.com/mig-3g.40gb", "gres/gpu:3g.40gb"),
        ("amd.com/gpu", "gres/gpu"),
        ("deviceclass.resource.kubernetes.io/gpu.nvidia.com", "gres/gpu:gpu.nvidia.com"),
        ("nvidia.com/mig-", "None"),
        ("nvidia.com/gpu.shared", "None"),
        ("example.com/fpga", "None"),
    ],
)
def test_the_usual_devices_are_known(resource: str, target: str) -> None:
    assert str(DEFAULT.target(resource)) == target


def test_the_longest_key_counts() -> None:
    table = DeviceMap.parse(
        {
            "a.b/*": "gres/any",
            "a.b/x-*": "gres/x:*",
            "a.b/x-1": "license/one",
        }
    )
    found = [str(table.target(f"a.b/{name}")) for name in ("y", "x-2", "x-1")]
    assert found == ["gres/any", "gres/x:2", "license/one"]


@pytest.mark.parametrize(
    ("resource", "target", "problem"),
    [
        ("", "gres/gpu", "'' is no resource of Kubernetes"),
        ("a*b", "gres/gpu", "'a\\*b' is no resource of Kubernetes"),
        ("a.b/c", "gpu", "'gpu' is nothing that Slurm counts"),
        ("a.b/c", "gres/", "'gres/' is nothing that Slurm counts"),
        ("a.b/c", "license/x:y", "'license/x:y' is nothing that Slurm counts"),
        ("a.b/c", "gres/gpu:*", "its \\* stands for nothing"),
    ],
)
def test_a_bad_line_of_the_table_is_refused(resource: str, target: str, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        DeviceMap.parse({resource: target})
