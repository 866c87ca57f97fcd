"""Keys are changed while a job runs."""

import base64
import os

from windlass.testing.operated import Operated, until


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
