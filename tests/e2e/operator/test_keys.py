"""Keys are changed while a job runs."""

import base64
import os
import secrets
from functools import partial

from windlass.slurm.key_set import KeySet
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


def put(slurm: Operated, keys: KeySet) -> None:
    """One step of the how-to: into the Secret, into every pod, into force."""
    text = str(keys)
    encoded = base64.b64encode(text.encode()).decode()
    before = key_hash(slurm)
    slurm.patch("secret", "slurm-auth-slurm", {"data": {"slurm.jwks": encoded}})
    until(lambda: key_hash(slurm) != before, "the operator has seen the new keys")
    slurm.kubectl(
        *("rollout", "status", "statefulset/slurm-controller"),
        *("-n", slurm.namespace, "--timeout=120s"),
    )
    until(lambda: slurm.tried("scontrol", "ping"), "slurmctld answers")
    pods = [
        (pod["metadata"]["name"], container)
        for container, label in (("slurmctld", "slurmctld"), ("slurmd", "slurmd"))
        for pod in slurm.pods(f"app.kubernetes.io/name={label}")
    ]
    for pod, container in pods:
        until(partial(has, slurm, pod, container, text), f"{pod} has the new file", 150)
    slurm.slurm("scontrol", "reconfigure")
    slurm.wait_idle(1)


def key_hash(slurm: Operated) -> str:
    template = slurm.get("statefulset", "slurm-controller")["spec"]["template"]
    return str(template["metadata"]["annotations"]["slinky.slurm.net/slurm-key-hash"])


def has(slurm: Operated, pod: str, container: str, text: str) -> bool:
    return slurm.inside(pod, container, "sh", "-c", "cat /etc/slurm/slurm.jwks || true") == text


def test_slurm_key_is_replaced_step_by_step_and_no_job_is_lost(slurm: Operated) -> None:
    old = base64.b64decode(slurm.get("secret", "slurm-auth-slurm")["data"]["slurm.key"])
    both = KeySet.of(old, "first").adding(secrets.token_bytes(64), "second")
    number = slurm.submit("sleep 600", "--ntasks=1")
    slurm.wait_job(number, "RUNNING")

    for step in (both, both.signing_with("second"), both.signing_with("second").without("first")):
        put(slurm, step)
        slurm.wait_job(number, "RUNNING")
        assert slurm.slurm("srun", "--nodes=1", "--exclude=" + host(slurm, number), "true") == ""

    slurm.slurm("scancel", number)
    slurm.wait_job(number, "CANCELLED")
    slurm.wait_idle(2)


def host(slurm: Operated, number: str) -> str:
    return slurm.slurm("squeue", "--noheader", "--format=%N", f"--jobs={number}").strip()
