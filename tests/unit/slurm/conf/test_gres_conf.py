"""gres.conf as devices."""

import pytest

from windlass.slurm.conf import GRES_CONF, Broken, parse
from windlass.slurm.conf.gres_conf import Devices, autodetect, devices


def read(text: str) -> tuple[Devices, ...]:
    return devices(parse(text, GRES_CONF))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        (
            "Name=gpu File=/dev/nvidia[0-1]",
            Devices((), "gpu", "", 2, ("/dev/nvidia0", "/dev/nvidia1")),
        ),
        ("Name=gpu Type=a Count=4", Devices((), "gpu", "a", 4)),
        ("Name=gpu", Devices((), "gpu", "", 1)),
        (
            "Name=bandwidth Count=4K Flags=CountOnly",
            Devices((), "bandwidth", "", 4096, flags=("CountOnly",)),
        ),
        (
            "NodeName=w-[0-1] Name=gpu Cores=0-3 Count=1",
            Devices(("w-0", "w-1"), "gpu", "", 1, cores="0-3"),
        ),
        (
            "Name=gpu MultipleFiles=/dev/a,/dev/b",
            Devices((), "gpu", "", 1, ("/dev/a", "/dev/b"), multiple=True),
        ),
    ],
)
def test_a_line_is_read_as_devices(text: str, want: Devices) -> None:
    assert read(text) == (want,)


@pytest.mark.parametrize(
    ("text", "key", "problem"),
    [
        ("NodeName=w Count=4", "NodeName", "names no resource"),
        ("Name=gpu File=/dev/a[0-1] Count=3", "Count", "does not match the 2 files"),
        ("Name=gpu File=/dev/a[3-0]", "File", "runs downward"),
        ("Name=gpu File=/dev/a MultipleFiles=/dev/b", "MultipleFiles", "exclude each other"),
        ("Name=gpu Count=4x", "Count", "is no amount"),
        ("NodeName=n[1 Name=gpu", "NodeName", "never closed"),
    ],
)
def test_what_slurmd_would_refuse_is_told_with_line_and_key(
    text: str, key: str, problem: str
) -> None:
    with pytest.raises(Broken) as caught:
        read(f"AutoDetect=off\n{text}")
    (fault,) = caught.value.faults
    assert (fault.where.line, fault.key) == (2, key)
    assert problem in fault.problem


def test_a_node_looks_for_devices_as_its_own_line_says() -> None:
    document = parse("AutoDetect=nvml\nNodeName=a[1-2] AutoDetect=off\n", GRES_CONF)
    assert devices(document) == ()
    assert autodetect(document, "a2") == "off"
    assert autodetect(document, "b1") == "nvml"
    assert autodetect(parse("", GRES_CONF), "b1") is None
