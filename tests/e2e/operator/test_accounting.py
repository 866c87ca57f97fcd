"""slurmdbd before a MariaDB that comes late and goes away meanwhile."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from windlass.local.slurm import Slurm
from windlass.testing.operated import Operated, until


@pytest.fixture(scope="module")
def accounted(operator: Slurm) -> Iterator[Slurm]:
    namespace = f"acct-{uuid4().hex[:6]}"
    operator.kubectl("create", "namespace", namespace)
    values = {
        "accounting": {"enabled": True},
        "mariadb": {"enabled": True},
        "starter": {"nodeset": {"replicas": 2}},
    }
    slurm = Slurm(operator.kubectl, operator.helm, operator.charts, values, namespace)
    slurm.install()
    slurm.wait_until_idle()
    yield slurm
    operator.kubectl("delete", "namespace", namespace, "--wait=false")


def test_a_job_across_two_workers_is_accounted(accounted: Slurm) -> None:
    job = accounted.run_job()

    said = [line.split() for line in sorted(job.output.splitlines())]
    assert [line[:5] for line in said] == [
        [f"{rank}:", "job", job.number, "task", str(rank)] for rank in (0, 1)
    ]
    assert {line[-1] for line in said} == {"slinky-0", "slinky-1"}
    assert "COMPLETED" in job.accounted


def test_a_job_that_ran_while_the_database_was_away_is_accounted_later(accounted: Slurm) -> None:
    place = Operated(accounted.kubectl, accounted.namespace)
    number = accounted.run("sbatch", "--parsable", "--output=/dev/null", "--wrap=sleep 8").strip()
    place.wait_job(number, "RUNNING")
    database = place.pods("app.kubernetes.io/name=mariadb")[0]["metadata"]

    place.kubectl("delete", "pod", database["name"], "-n", place.namespace)

    place.wait_job(number, "COMPLETED")
    words = ("sacct", "-X", "-n", "-P", f"--jobs={number}", "--format=State")

    def state() -> str:
        return accounted.run("sh", "-c", f"{' '.join(words)} || true").strip()

    until(lambda: state() == "COMPLETED", "the job is in the database", 180)


def test_without_its_database_accounting_waits_and_says_so(place: Operated) -> None:
    place.kubectl(
        *("create", "secret", "generic", "password", "-n", place.namespace),
        "--from-literal=password=secret",
    )
    place.apply(
        """
apiVersion: slinky.slurm.net/v1beta1
kind: Accounting
metadata: {name: late}
spec:
  storageConfig:
    host: nowhere.invalid
    username: slurm
    passwordKeyRef: {name: password, key: password}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: slurm}
spec:
  accountingRef: {name: late}
"""
    )

    def waits() -> bool:
        ready = place.condition("accounting", "late", "Ready")
        return bool(ready and "nowhere.invalid" in ready["message"])

    until(waits, "the condition names the database that does not answer", 90)
