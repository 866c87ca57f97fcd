"""slurmctld with the programs that run beside it: what changes reach it, what it is spared."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.kept_slurm import KeptSlurm
from windlass.local import images
from windlass.local.errors import TimedOut
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.local.waiting import wait_for


@pytest.fixture(scope="module")
def kept(
    as_root: None,
    folders: Folders,
    display: Display,
    explaining_logs: list[Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[KeptSlurm]:
    root = images.root_of("slurm", folders.cache, display, programs={})
    kept = KeptSlurm(root, tmp_path_factory.mktemp("kept"))
    explaining_logs.append(kept.contained.logs)
    kept.publish_conf()
    kept.start()
    kept.wait_for_report(ok=True)
    yield kept
    kept.stop()


@pytest.fixture
def slurm(kept: KeptSlurm) -> KeptSlurm:
    """It runs, and with a good configuration."""
    kept.wait_for_report(ok=True, candidate=kept.publish_conf())
    return kept


def test_a_change_is_in_force_within_two_seconds(slurm: KeptSlurm) -> None:
    began = time.monotonic()
    name = slurm.publish_conf("MaxJobCount=4321\n")
    slurm.wait_for_report(inForce=name, ok=True, error=None)
    assert "= 4321" in slurm.scontrol("show", "config")
    assert time.monotonic() - began < 2


@pytest.mark.parametrize("address", ["192.0.2.1", "192.0.2.2", "a-name-that-nobody-knows"])
def test_slurmctld_takes_up_another_address_whether_or_not_it_leads_anywhere(
    slurm: KeptSlurm, address: str
) -> None:
    text = slurm.conf.replace("(127.0.0.1)", f"({address})")
    anywhere = text.replace("CommunicationParameters=NoCtldInAddrAny\n", "")
    name = slurm.publish({"slurm.conf": anywhere})
    slurm.wait_for_report(inForce=name, ok=True, error=None)


def test_a_change_of_another_file_is_a_change(slurm: KeptSlurm) -> None:
    before = slurm.report()["inForce"]
    name = slurm.publish_conf(**{"cgroup.conf": "IgnoreSystemd=yes\n", "go.sh": "#!/bin/sh\n"})
    assert slurm.wait_for_report(inForce=name, ok=True)["inForce"] != before
    modes = slurm.contained.inside("stat", "-c", "%a %U %n", *files("cgroup.conf", "go.sh"))
    assert modes.split("\n")[:2] == [
        "644 slurm /etc/slurm/cgroup.conf",
        "755 slurm /etc/slurm/go.sh",
    ]


def files(*names: str) -> list[str]:
    return [f"/etc/slurm/{name}" for name in names]


def test_keys_are_closed_to_others(slurm: KeptSlurm) -> None:
    modes = slurm.contained.inside("stat", "-c", "%a %U", *files("slurm.key", "jwt.key"))
    assert modes.split("\n")[:2] == ["600 slurm", "600 slurm"]


BROKEN = {
    "an unknown key": ("\nFoo=1\n", 1, "Foo", "unrecognized key: Foo"),
    "a number that is none": ("MaxJobCount=abc\n", 0, "MaxJobCount", "not a valid number"),
    "an unknown key of a partition": ("PartitionName=p Fo=1\n", 0, "Fo", "unrecognized key: Fo"),
    "no line at all": ("what is this\n", 0, "what", "Parse error in file slurm.conf"),
    "a missing file": ("Include gone.conf\n", 0, "Include", "cannot stat file gone.conf"),
    "a missing topology": (
        *("TopologyPlugin=topology/tree\n", 0, "TopologyPlugin"),
        "topology/tree needs topology.yaml",
    ),
    "a partition of nobody": (
        *("PartitionName=bad Nodes=nope\n", 0, "PartitionName"),
        "Invalid node names in partition bad",
    ),
    "a partition twice": (
        *("PartitionName=all Nodes=ALL\n", 0, "PartitionName"),
        "duplicate entry for partition all",
    ),
    "a node twice": (
        *("NodeName=n1 CPUs=1\nNodeName=n1 CPUs=2\n", 1, "NodeName"),
        "Duplicated NodeHostName n1",
    ),
}


@pytest.mark.parametrize(("more", "line", "key", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_broken_never_reaches_the_running_slurmctld(
    more: str, line: int, key: str, message: str, slurm: KeptSlurm
) -> None:
    good, process = slurm.report()["inForce"], slurm.slurmctld()

    bad = slurm.publish_conf(more)
    report = slurm.wait_for_report(candidate=bad, ok=False)

    error = report["error"]
    assert message in error.pop("message")
    place = {"file": "slurm.conf", "line": slurm.conf.count("\n") + 1 + line, "key": key}
    assert error == place
    assert report["inForce"] == good
    assert (slurm.up(), slurm.slurmctld()) == (True, process)
    assert more not in slurm.contained.inside("cat", "/etc/slurm/slurm.conf")


def test_an_error_in_an_included_file_is_found_there(slurm: KeptSlurm) -> None:
    bad = slurm.publish_conf("Include more.conf\n", **{"more.conf": "# more\nBar=3\n"})
    error = slurm.wait_for_report(candidate=bad, ok=False)["error"]
    assert (error["file"], error["line"], error["key"]) == ("more.conf", 2, "Bar")


def test_a_restart_with_a_broken_configuration_starts_with_the_last_good_one(
    slurm: KeptSlurm,
) -> None:
    good = slurm.report()["inForce"]
    for more in ("Foo=1\n", "PartitionName=bad Nodes=nope\n"):
        bad = slurm.publish_conf(more)
        slurm.wait_for_report(candidate=bad, ok=False)
        slurm.stop()
        slurm.start()
        report = slurm.wait_for_report(candidate=bad, inForce=good, ok=False)
        assert report["error"]["line"] == slurm.conf.count("\n") + 1


def test_what_came_while_slurmctld_was_away_and_stops_it_is_taken_back(slurm: KeptSlurm) -> None:
    good = slurm.report()["inForce"]
    slurm.stop()
    bad = slurm.publish_conf("PartitionName=worse Nodes=nope\n")
    slurm.start()
    report = slurm.wait_for_report(candidate=bad, inForce=good, ok=False)
    assert "Invalid node names in partition worse" in report["error"]["message"]
    wait_for(slurm.up, "slurmctld is up", within=10)


def test_a_hurried_look_finds_the_same(slurm: KeptSlurm) -> None:
    before = slurm.report()["at"]
    slurm.contained.inside("pkill", "--signal=HUP", "--full", "reload.py watch")
    wait_for(lambda: slurm.report()["at"] != before, "a new report", within=5)
    assert slurm.report()["ok"]


def test_keys_are_kept_nowhere_but_in_memory(slurm: KeptSlurm) -> None:
    kept = [file for file in (slurm.folder / "state").rglob("*") if file.is_file()]
    assert (slurm.folder / "state/.windlass/last-good/slurm.conf").read_text() == slurm.conf
    assert not [file for file in kept if file.read_bytes() in slurm.keys.values()]


def test_new_keys_come_through_although_the_rest_is_broken(slurm: KeptSlurm) -> None:
    before = slurm.report()
    slurm.keys["jwt.key"] = b"another key of this Slurm, long enough"
    bad = slurm.publish_conf("Foo=1\n")
    report = wait_for(lambda: signed(slurm, candidate=bad), "a report signed anew", within=10)
    assert report["inForce"] == before["inForce"]
    assert report["keys"] != before["keys"]
    assert report["error"]["key"] == "Foo"


def signed(slurm: KeptSlurm, **wanted: object) -> Any:
    """The report, if it is signed with the key of now."""
    try:
        return slurm.wait_for_report(within=0, **wanted)
    except (AssertionError, TimedOut):
        return None


def test_the_log_comes_as_json_lines(slurm: KeptSlurm) -> None:
    lines = (slurm.contained.logs / "lines.log").read_text().splitlines()
    said = [json.loads(line) for line in lines]
    (first, *_) = [line for line in said if "Running as primary" in line["message"]]
    assert (first["daemon"], first["level"]) == ("slurmctld", "info")
    assert re.match(r"2\d{3}-\d\d-\d\dT.*\+00:00$", first["time"])


def test_a_reconfiguration_takes_no_five_seconds(slurm: KeptSlurm) -> None:
    began = time.monotonic()
    slurm.scontrol("reconfigure")
    assert time.monotonic() - began < 3
    assert "systemd might not" not in (slurm.contained.logs / "lines.log").read_text()
