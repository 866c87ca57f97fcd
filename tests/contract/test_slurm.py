"""The ground that other contract tests stand on: Slurm's REST API as it really answers."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from windlass.local.errors import LocalError
from windlass.local.waiting import wait_for
from windlass.testing import slurm as testing_slurm
from windlass.testing.slurm import RealSlurm

API = "/slurm/v0.0.45"
PROTOCOL_AUTHENTICATION_ERROR = 1007


def call(
    slurm: RealSlurm, method: str, path: str, body: object = None, token: str | None = None
) -> tuple[int, dict[str, Any]]:
    """Send one request; an empty token sends none."""
    headers = {"Content-Type": "application/json"}
    if token != "":
        headers["X-SLURM-USER-TOKEN"] = token or slurm.token()
    data = None if body is None else json.dumps(body).encode()
    url = f"{slurm.url}{API}{path}"
    request = urllib.request.Request(url, method=method, data=data, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            is_json = error.headers.get_content_type() == "application/json"
            return error.code, json.load(error) if is_json else {"text": error.read().decode()}


def forged(slurm: RealSlurm) -> str:
    """A token that says the right things, signed with another key."""
    header, payload, _ = slurm.token().split(".")
    return f"{header}.{payload}.bm90LXRoZS1rZXk"


def test_ping_is_answered_by_the_controller(slurm: RealSlurm) -> None:
    status, answer = call(slurm, "GET", "/ping/")

    (ping,) = answer["pings"]
    assert (status, ping["primary"], ping["responding"]) == (200, True, True)


def test_ten_nodes_created_in_one_call_are_seen_by_the_next_read(slurm: RealSlurm) -> None:
    conf = "NodeName=ten-[0-9] CPUs=4 RealMemory=1024 State=EXTERNAL NodeAddr=127.0.0.1"
    status, created = call(slurm, "POST", "/new/node/", {"node_conf": conf})
    _, answer = call(slurm, "GET", "/nodes/")

    assert (status, created["errors"]) == (200, [])
    seen = {node["name"]: node["partitions"] for node in answer["nodes"]}
    assert {f"ten-{index}": ["all"] for index in range(10)}.items() <= seen.items()


def test_no_token_is_refused_by_slurmrestd_and_not_in_json(slurm: RealSlurm) -> None:
    assert call(slurm, "GET", "/nodes/", token="") == (401, {"text": "Authentication failure"})


def test_a_wrong_token_is_refused_by_slurmctld(slurm: RealSlurm) -> None:
    """Slurmrestd passes tokens on unread, so this is not a 401."""
    status, answer = call(slurm, "GET", "/nodes/", token=forged(slurm))

    assert status == 511
    assert [error["error_number"] for error in answer["errors"]] == [PROTOCOL_AUTHENTICATION_ERROR]


def test_a_ping_with_a_wrong_token_is_a_success_that_says_no(slurm: RealSlurm) -> None:
    status, answer = call(slurm, "GET", "/ping/", token=forged(slurm))

    assert status == 200
    assert [ping["responding"] for ping in answer["pings"]] == [False]


def test_scontrol_sees_the_same_cluster(slurm: RealSlurm) -> None:
    call(slurm, "POST", "/new/node/", {"node_conf": "NodeName=seen CPUs=2 State=EXTERNAL"})

    assert "NodeName=seen " in slurm.scontrol("show", "node", "seen", "--oneliner")


def test_a_failed_start_shows_the_last_words_of_the_daemons(
    slurm: RealSlurm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(testing_slurm, "CONF", testing_slurm.CONF + "NoSuchKey=1\n")

    with pytest.raises(LocalError, match="unrecognized key: NoSuchKey"):
        RealSlurm(slurm.image_root, tmp_path / "broken").start()


START_AND_WAIT = """
import sys
from pathlib import Path
from windlass.testing.slurm import RealSlurm
slurm = RealSlurm(Path(sys.argv[1]), Path(sys.argv[2]))
slurm.start()
print(slurm.url, flush=True)
sys.stdin.read()
"""


def test_slurm_dies_with_the_process_that_started_it(slurm: RealSlurm, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT, slurm.image_root, tmp_path / "killed"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stdout is not None
        url = starter.stdout.readline().strip()
        starter.kill()

    def gone() -> bool:
        try:
            with urllib.request.urlopen(f"{url}{API}/ping/", timeout=1):
                return False
        except urllib.error.HTTPError as error:
            error.close()
            return False
        except OSError:
            return True

    wait_for(gone, "slurmrestd is gone", within=5)
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
