"""`helm install`, with no values and with values that were written for Slinky."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from windlass.local.slurm import Slurm
from windlass.testing.operated import Operated, until

SLINKY = Path(__file__).parent / "slinky"


def installed(operator: Slurm, namespace: str, values: dict[str, Any]) -> Slurm:
    slurm = Slurm(operator.kubectl, operator.helm, operator.charts, values, namespace)
    slurm.install()
    return slurm


@pytest.fixture
def namespace(operator: Slurm) -> Iterator[str]:
    name = f"chart-{uuid4().hex[:6]}"
    operator.kubectl("create", "namespace", name)
    yield name
    operator.kubectl("delete", "namespace", name, "--wait=false")


def test_a_chart_without_values_gives_a_cluster_that_runs_a_job(
    operator: Slurm, namespace: str
) -> None:
    slurm = installed(operator, namespace, {})
    slurm.wait_until_idle(1)

    assert slurm.run("srun", "hostname").split() == ["slinky-0"]


def test_an_uninstall_leaves_the_data_and_a_second_install_finds_it(
    operator: Slurm, namespace: str
) -> None:
    slurm = installed(operator, namespace, {})
    slurm.wait_until_idle(1)
    number = slurm.run("sbatch", "--parsable", "--hold", "--wrap=true").strip()

    operator.helm.uninstall("slurm", namespace)
    place = Operated(operator.kubectl, namespace)
    until(lambda: place.get("pod", "slurm-controller-0") is None, "the pods are gone", 120)
    assert place.get("pvc", "statesave-slurm-controller-0") is not None
    slurm.install()
    slurm.wait_until_idle(1)

    assert number in slurm.run("squeue", "--noheader", "--format=%i").split()


def test_values_and_manifests_written_for_slinky_work_unchanged(
    operator: Slurm, namespace: str
) -> None:
    place = Operated(operator.kubectl, namespace)
    place.apply((SLINKY / "manifests.yaml").read_text())
    slurm = installed(operator, namespace, yaml.safe_load((SLINKY / "values.yaml").read_text()))

    slurm.wait_until_idle(1)

    assert slurm.run("srun", "--partition=debug", "hostname").split() == ["debug-0"]
    assert place.setting("ClusterName") == "moved"
    place.wait_condition("restapi", "slurm", "Ready")
