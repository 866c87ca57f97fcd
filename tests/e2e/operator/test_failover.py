"""A backup slurmctld takes over while the first one cannot come back."""

from collections.abc import Iterator

import pytest

from tests.e2e.operator.conftest import WORKERS
from windlass.testing.operated import Operated, until

PRIMARY, BACKUP = "slurm-controller-0", "slurm-controller-1"
SHARED = f"""
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: state}}
spec:
  accessModes: [ReadWriteMany]
  resources: {{requests: {{storage: 1Gi}}}}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {{name: slurm}}
spec:
  ha: {{enabled: true}}
  persistence: {{existingClaim: state}}
  extraConf: SlurmctldTimeout=10
---{WORKERS}"""
# With no room for another pod in the namespace, one that is killed stays away.
FULL = """
apiVersion: v1
kind: ResourceQuota
metadata: {name: full}
spec: {hard: {pods: "0"}}
"""


@pytest.fixture
def pair(place: Operated) -> Iterator[Operated]:
    place.apply(SHARED)
    place.wait_idle(2)
    yield place
    place.kubectl("delete", "resourcequota", "full", "-n", place.namespace, "--ignore-not-found")


def ready(place: Operated, pod: str) -> bool:
    status = (place.get("pod", pod) or {}).get("status", {})
    listed = status.get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in listed)


def runs(place: Operated, pod: str) -> bool:
    return ((place.get("pod", pod) or {}).get("status") or {}).get("phase") == "Running"


@pytest.mark.timeout(300)
def test_jobs_run_on_and_new_ones_start_under_the_backup(pair: Operated) -> None:
    until(lambda: runs(pair, BACKUP), "the backup runs")
    assert ready(pair, PRIMARY)
    assert not ready(pair, BACKUP)
    number = pair.submit("sleep 600", "--ntasks=1")
    pair.wait_job(number, "RUNNING")
    pair.wait_saved()

    pair.apply(FULL)
    pair.kubectl("delete", "pod", PRIMARY, "-n", pair.namespace, "--force", "--grace-period=0")

    until(lambda: ready(pair, BACKUP), "the backup has taken over", 120)
    assert pair.get("pod", PRIMARY) is None
    asked = ("squeue", "--noheader", "--format=%T", f"--jobs={number}")
    assert pair.inside(BACKUP, "slurmctld", *asked).strip() == "RUNNING"
    body = "#!/bin/sh\n:\n"
    submit = ("timeout", "60", "sbatch", "--wait", "--output=/dev/null", "--ntasks=1")
    pair.inside(BACKUP, "slurmctld", *submit, text=body)
