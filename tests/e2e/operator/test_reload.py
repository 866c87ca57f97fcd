"""Changes of the configuration, while a job runs."""

from collections.abc import Iterator

import pytest

from windlass.testing.operated import Operated, until

WITHIN = 5.0  # seconds from the change to its being in force


@pytest.fixture
def job(slurm: Operated) -> Iterator[str]:
    """A job that runs all the while."""
    slurm.wait_idle(2)
    number = slurm.submit("sleep 600", "--nodes=1", "--ntasks=1")
    slurm.wait_job(number, "RUNNING")
    yield number
    assert slurm.job_state(number) == "RUNNING"
    slurm.slurm("scancel", number)


def restarts(slurm: Operated) -> list[tuple[str, int]]:
    """Which pods there are, and how often their containers were started."""
    return [
        (pod["metadata"]["uid"], each["restartCount"])
        for pod in slurm.pods("app.kubernetes.io/name in (slurmctld,slurmd)")
        for each in pod["status"]["containerStatuses"]
    ]


def test_extra_conf_is_in_force_within_seconds_and_nobody_is_restarted(
    slurm: Operated, job: str
) -> None:
    before = restarts(slurm)

    slurm.patch("controller", "slurm", {"spec": {"extraConf": "MessageTimeout=17"}})

    until(lambda: slurm.setting("MessageTimeout") == "17 sec", "slurmctld has it", WITHIN + 3)
    worker = slurm.pods("app.kubernetes.io/name=slurmd")[0]["metadata"]["name"]
    until(
        lambda: (
            "MessageTimeout=17"
            in slurm.inside(worker, "slurmd", "sh", "-c", "cat /run/slurm/conf/slurm.conf")
        ),
        "slurmd has it",
        WITHIN,
    )
    assert restarts(slurm) == before


def test_a_file_that_a_controller_names_is_followed(slurm: Operated, job: str) -> None:
    before = restarts(slurm)
    slurm.kubectl(
        *("create", "configmap", "files", "-n", slurm.namespace),
        "--from-literal=job_submit.lua=-- empty",
        "--from-literal=cgroup.conf=CgroupPlugin=autodetect\nIgnoreSystemd=yes",
    )
    slurm.patch("controller", "slurm", {"spec": {"configFileRefs": [{"name": "files"}]}})
    slurm.wait_condition("controller", "slurm", "Ready")

    slurm.patch(
        "configmap",
        "files",
        {"data": {"cgroup.conf": "CgroupPlugin=autodetect\nIgnoreSystemd=yes\nAllowedRAMSpace=98"}},
    )

    until(
        lambda: "98.0%" in slurm.setting("AllowedRAMSpace"),
        "the changed file is in force",
        WITHIN + 3,
    )
    assert restarts(slurm) == before


def test_a_broken_line_is_reported_and_the_last_good_configuration_stays(
    slurm: Operated, job: str
) -> None:
    slurm.patch("controller", "slurm", {"spec": {"extraConf": "MessageTimeout=18"}})
    until(lambda: slurm.setting("MessageTimeout") == "18 sec", "the good one is in force", 30)

    slurm.patch("controller", "slurm", {"spec": {"extraConf": "MessageTimeout=19\nNoSuchKey=yes"}})

    degraded = slurm.wait_condition("controller", "slurm", "Degraded", within=30)
    assert degraded["reason"] == "ConfigRejected"
    assert "NoSuchKey" in degraded["message"]
    assert "extraConf, line 2" in degraded["message"]
    assert slurm.setting("MessageTimeout") == "18 sec"

    slurm.kubectl("delete", "pod", "slurm-controller-0", "-n", slurm.namespace)
    until(lambda: slurm.tried("scontrol", "ping"), "slurmctld is back", 90)
    assert slurm.setting("MessageTimeout") == "18 sec"

    slurm.patch("controller", "slurm", {"spec": {"extraConf": "MessageTimeout=20"}})
    slurm.wait_condition("controller", "slurm", "Degraded", status="False", within=30)
    until(lambda: slurm.setting("MessageTimeout") == "20 sec", "the mended one is in force", 15)
