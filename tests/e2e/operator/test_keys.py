"""Keys are changed while a job runs."""

import base64
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from windlass.local.errors import CommandFailed
from windlass.local.slurm import Slurm
from windlass.slurm.key_set import KeySet
from windlass.testing.operated import Operated, until

HASH = "slinky.slurm.net/slurm-key-hash"
DAEMONS = "slurmctld,slurmdbd,slurmrestd,slurmd,login"
WITH_ALL = {
    "accounting": {"enabled": True},
    "mariadb": {"enabled": True},
    "starter": {"nodeset": {"replicas": 2}},
}


def test_a_new_jwt_key_reaches_everybody_and_the_job_runs_on(slurm: Operated) -> None:
    number = slurm.submit("sleep 600", "--ntasks=1")
    slurm.wait_job(number, "RUNNING")
    fresh = base64.b64encode(os.urandom(32)).decode()

    slurm.patch("secret", "slurm-auth-jwt", {"data": {"jwt.key": fresh}})

    def shown() -> bool:
        inside = slurm.tried("sh", "-c", "base64 -w0 /etc/slurm/jwt.key")
        return inside == fresh

    until(shown, "slurmctld has the new key", 90)
    slurm.wait_condition("controller", "slurm", "Ready")
    slurm.wait_job(number, "RUNNING")
    slurm.slurm("scancel", number)


def test_keys_that_the_operator_made_are_never_made_again(slurm: Operated) -> None:
    before = slurm.get("secret", "slurm-auth-slurm")["data"]

    slurm.patch("controller", "slurm", {"metadata": {"annotations": {"looked": "again"}}})
    slurm.patch("controller", "slurm", {"spec": {"extraConf": "MessageTimeout=21"}})
    until(lambda: slurm.setting("MessageTimeout") == "21 sec", "the pass is over", 30)

    assert slurm.get("secret", "slurm-auth-slurm")["data"] == before


@dataclass(frozen=True)
class Whole:
    """A Slurm with every daemon there is, and the login pod that its users have."""

    chart: Slurm
    place: Operated

    def put(self, keys: KeySet) -> None:
        """One step of the how-to: into the Secret, and wait until every daemon has it."""
        before = self._hashes()
        encoded = base64.b64encode(str(keys).encode()).decode()
        self.place.patch("secret", "slurm-auth-slurm", {"data": {"slurm.jwks": encoded}})

        def everywhere() -> bool:
            after = self._hashes()
            return (
                len(after) == 1
                and not after & before
                and all(map(ready, self.pods()))
                and all(self._has(pod, str(keys)) for pod in self.pods())
            )

        until(everywhere, "every pod has the new keys", 180)

    def pods(self) -> list[Any]:
        return self.place.pods(f"app.kubernetes.io/name in ({DAEMONS})")

    def _hashes(self) -> set[str]:
        return {pod["metadata"]["annotations"].get(HASH, "") for pod in self.pods()}

    def _has(self, pod: Any, text: str) -> bool:
        words = ("exec", "-n", self.place.namespace, pod["metadata"]["name"], "--")
        try:
            return self.place.kubectl(*words, "cat", "/etc/slurm/slurm.jwks") == text
        except CommandFailed:
            return False

    def wait_accounted(self, job: str, state: str) -> None:
        """A user on the login pod finds the job in accounting."""
        words = f"sacct -X -n -P --jobs={job} --format=State || true"

        def so() -> bool:
            return self.chart.run("sh", "-c", words).startswith(state)

        until(so, f"job {job} is accounted as {state}", 60)

    def wait_for_rest(self, path: str) -> None:
        said = self.place.slurm("scontrol", "token", "username=slurm")
        jwt = said.strip().partition("=")[2]
        until(lambda: self.place.asked(path, jwt) == "200", f"slurmrestd answers {path}")


def ready(pod: Any) -> bool:
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return "deletionTimestamp" not in pod["metadata"] and conditions.get("Ready") == "True"


@pytest.fixture
def whole(operator: Slurm) -> Iterator[Whole]:
    namespace = f"keys-{uuid4().hex[:6]}"
    operator.kubectl("create", "namespace", namespace)
    chart = Slurm(operator.kubectl, operator.helm, operator.charts, WITH_ALL, namespace)
    chart.install()
    chart.wait_until_idle()
    yield Whole(chart, Operated(operator.kubectl, namespace))
    operator.kubectl("delete", "namespace", namespace, "--wait=false")


def test_slurm_key_is_replaced_step_by_step_and_no_job_is_lost(whole: Whole) -> None:
    place, login = whole.place, whole.chart
    old = base64.b64decode(place.get("secret", "slurm-auth-slurm")["data"]["slurm.key"])
    both = KeySet.of(old, "first").adding(secrets.token_bytes(64), "second")
    switched = both.signing_with("second")
    submit = ("sbatch", "--parsable", "--output=/dev/null", "--chdir=/tmp", "--ntasks=1")
    running = login.run(*submit, "--wrap=sleep 600").strip()
    place.wait_job(running, "RUNNING")

    for step in (both, switched, switched.without("first")):
        whole.put(step)
        fresh = login.run(*submit, "--wait", "--wrap=srun true").strip()
        place.wait_job(running, "RUNNING")
        whole.wait_accounted(fresh, "COMPLETED")
        whole.wait_for_rest("/slurm/v0.0.45/jobs/")
        whole.wait_for_rest("/slurmdb/v0.0.45/jobs/")

    place.slurm("scancel", running)
    place.wait_job(running, "CANCELLED")
    whole.wait_accounted(running, "CANCELLED")
    place.wait_idle(2)
