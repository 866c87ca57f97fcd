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


def ask(slurm: Operated, jwt: str, path: str) -> str:
    """The status that slurmrestd answers with, asked from a pod of the cluster."""
    address = slurm.get("restapi", "slurm")["status"]["address"]
    program = (
        "import sys,urllib.request as u,urllib.error as e\n"
        "r=u.Request(sys.argv[1],headers={'X-SLURM-USER-TOKEN':sys.argv[2]})\n"
        "try: print(u.urlopen(r,timeout=10).status)\n"
        "except e.HTTPError as error: print(error.code)\n"
        "except e.URLError as error: print(error.reason)\n"
    )
    words = ("python3", "-c", program, f"{address}{path}", jwt)
    return slurm.inside("slurm-controller-0", "slurmctld", *words).strip()


def test_a_token_opens_the_rest_api(rest: Operated) -> None:
    # A name that was asked for too early is unknown to the cluster's DNS for some seconds.
    until(lambda: ask(rest, token(rest), JOBS) == "200", "slurmrestd lists the jobs", 60)
    assert ask(rest, "no.such.token", JOBS) in ("401", "500", "511")


def test_a_token_is_renewed_before_it_ends(rest: Operated) -> None:
    first = token(rest)
    until(lambda: token(rest) != first, "there is a newer token", 30)
    claims = json.loads(base64.urlsafe_b64decode(token(rest).split(".")[1] + "=="))
    assert claims["sun"] == "slurm"
    until(lambda: ask(rest, token(rest), JOBS) == "200", "the new one opens it too", 30)


def test_a_token_secret_comes_back_when_deleted_and_goes_with_its_token(rest: Operated) -> None:
    rest.kubectl("delete", "secret", "alice-jwt-slurm", "-n", rest.namespace)
    until(lambda: token(rest), "the Secret is back")

    rest.kubectl("delete", "token", "alice", "-n", rest.namespace)
    until(lambda: rest.get("secret", "alice-jwt-slurm") is None, "the Secret is gone")
