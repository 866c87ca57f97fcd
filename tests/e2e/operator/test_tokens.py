"""slurmrestd, and the tokens to use it with."""

import base64
import json

import pytest

from windlass.testing.operated import Operated, until

REST = """
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {name: slurm}
spec:
  controllerRef: {name: slurm}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Token
metadata: {name: alice}
spec:
  username: slurm
  controllerRef: {name: slurm}
  lifetime: 20s
"""

JOBS = "/slurm/v0.0.45/jobs/"


@pytest.fixture(scope="module")
def rest(slurm: Operated) -> Operated:
    slurm.apply(REST)
    slurm.wait_condition("restapi", "slurm", "Ready")
    slurm.wait_condition("token", "alice", "Ready")
    return slurm


def token(slurm: Operated) -> str:
    secret = slurm.get("secret", "alice-jwt-slurm")
    return base64.b64decode(secret["data"]["SLURM_JWT"]).decode() if secret else ""


def test_a_token_opens_the_rest_api(rest: Operated) -> None:
    # A name that was asked for too early is unknown to the cluster's DNS for some seconds.
    until(lambda: rest.asked(JOBS, token(rest)) == "200", "slurmrestd lists the jobs", 60)
    assert rest.asked(JOBS, "no.such.token") in ("401", "500", "511")


def test_a_token_is_renewed_before_it_ends(rest: Operated) -> None:
    first = token(rest)
    until(lambda: token(rest) != first, "there is a newer token", 30)
    claims = json.loads(base64.urlsafe_b64decode(token(rest).split(".")[1] + "=="))
    assert claims["sun"] == "slurm"
    until(lambda: rest.asked(JOBS, token(rest)) == "200", "the new one opens it too", 30)


def test_a_token_secret_comes_back_when_deleted_and_goes_with_its_token(rest: Operated) -> None:
    rest.kubectl("delete", "secret", "alice-jwt-slurm", "-n", rest.namespace)
    until(lambda: token(rest), "the Secret is back")

    rest.kubectl("delete", "token", "alice", "-n", rest.namespace)
    until(lambda: rest.get("secret", "alice-jwt-slurm") is None, "the Secret is gone")
