"""Slurm's log lines, from a FIFO to JSON lines."""

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.unit.inpod.programs import program, running
from windlass.inpod.logs import Node, parsed
from windlass.local.waiting import wait_for

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    return tmp_path / "log" / "slurmctld.log"


@contextmanager
def reading(fifo: Path, **env: str) -> Iterator[subprocess.Popen[str]]:
    with running("logs", env={"SOCKET": str(fifo), "TZ": "UTC", **env}) as logs:
        wait_for(fifo.is_fifo, "the FIFO is there", within=10, every=0.01)
        yield logs


def write(fifo: Path, data: bytes) -> None:
    with fifo.open("wb") as file:
        file.write(data)


def printed(logs: subprocess.Popen[str]) -> str:
    assert logs.stdout is not None
    return logs.stdout.readline().rstrip("\n")


def read(logs: subprocess.Popen[str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(printed(logs))
    return answer


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "[2026-11-15T22:58:31.521] fatal: Invalid node names in partition bad",
            {"level": "fatal", "message": "Invalid node names in partition bad"},
        ),
        ("[2026-11-15T22:58:31.521] debug2: x", {"level": "debug2", "message": "x"}),
        ("[2026-11-15T22:58:31.521] Saving all slurm state", {"message": "Saving all slurm state"}),
        ("no head at all", {"message": "no head at all", "time": NOW}),
        ("[2026-99-99T22:58] odd time", {"message": "odd time", "time": NOW}),
        ("sched: Allocate JobId=12 NodeList=n[1-2,4] #CPUs=3", {"job": 12, "node": "n[1-2,4]"}),
        (
            "_slurm_rpc_submit_batch_job: JobId=7_3(9) InitPrio=1 usec=211",
            {"job": 9, "array": "7_3"},
        ),
        ("_job_complete: JobId=7 WEXITSTATUS 0", {"job": 7}),
        ("merging JobId=7 and JobId=8", {"job": 7, "jobs": [7, 8]}),
        ("launch task StepId=12.0 request from UID:1000", {"job": 12, "step": "12.0"}),
        (
            "[2026-11-15T22:58:31.521] [12.batch] error: task 0 failed",
            {"job": 12, "step": "12.batch", "level": "error", "message": "task 0 failed"},
        ),
        ("Launching batch job 12 for UID 0", {"job": 12}),
        ("Node worker-0 now responding", {"node": "worker-0"}),
        ("error: Nodes n[1-3],m1 not responding", {"node": "n[1-3],m1", "level": "error"}),
        ("update_node: node gpu-7 state set to DRAINING", {"node": "gpu-7"}),
        ("agent/is_node_resp: node:n1 RPC:REQUEST_PING : timed out", {"node": "n1"}),
        ('error: _find_node_record: lookup failure for node "nope"', {"node": "nope"}),
        ("Recovered state of 0 nodes", {"node": None, "job": None}),
        ("build_part_bitmap: No nodes in partition all", {"node": None}),
        ("error: This host is not a node in this cluster", {"node": None}),
    ],
)
def test_a_line_is_taken_apart(line: str, said: dict[str, object]) -> None:
    seen = parsed(line, "slurmctld", NOW)
    expected = {
        key: NOW.isoformat("T", "milliseconds") if key == "time" else value
        for key, value in said.items()
    }
    assert {key: seen.get(key) for key in said} == expected
    assert seen["daemon"] == "slurmctld"


def test_lines_come_out_as_json_with_their_own_time(fifo: Path) -> None:
    with reading(fifo) as logs:
        write(fifo, b"[2026-11-15T22:58:31.521] error: bad JobId=3\n")
        assert read(logs) == {
            "time": "2026-11-15T22:58:31.521+00:00",
            "daemon": "slurmctld",
            "level": "error",
            "message": "bad JobId=3",
            "job": 3,
        }


def test_raw_text_can_be_had(fifo: Path) -> None:
    with reading(fifo, LOG_FORMAT="text") as logs:
        write(fifo, b"[2026-11-15T22:58:31.521] error: bad\n")
        assert printed(logs) == "[2026-11-15T22:58:31.521] error: bad"


def test_writers_come_and_go(fifo: Path) -> None:
    with reading(fifo) as logs:
        for word in (b"one\n", b"two\n"):
            write(fifo, word)
            assert read(logs)["message"] == word.decode().strip()


def test_a_line_is_put_together_from_its_parts(fifo: Path) -> None:
    with reading(fifo) as logs, fifo.open("wb", buffering=0) as writer:
        writer.write(b"first ")
        writer.write(b"half\nsecond\n")
        assert [read(logs)["message"], read(logs)["message"]] == ["first half", "second"]


def test_a_line_that_never_ends_is_printed_all_the_same(fifo: Path) -> None:
    with reading(fifo) as logs:
        write(fifo, b"no end")
        assert read(logs)["message"] == "no end"


def test_junk_and_giants_are_survived(fifo: Path) -> None:
    with reading(fifo) as logs:
        write(fifo, b"\xff\xfe\x00 JobId=5\n\n" + b"x" * 200_000 + b"\nlast\n")
        first = read(logs)
        assert first["job"] == 5
        length = 0
        while (message := read(logs)["message"]) != "last":
            length += len(message)
        assert length == 200_000


def test_a_fifo_that_is_there_is_kept(fifo: Path) -> None:
    fifo.parent.mkdir()
    os.mkfifo(fifo, 0o600)
    before = fifo.stat().st_ino
    with reading(fifo) as logs:
        write(fifo, b"x\n")
        assert read(logs)["message"] == "x"
    assert fifo.stat().st_ino == before
    assert stat.S_IMODE(fifo.stat().st_mode) == 0o777


def test_it_ends_at_once_and_loses_nothing(fifo: Path) -> None:
    with reading(fifo) as logs:
        write(fifo, b"the first word\n")
        assert read(logs)["message"] == "the first word"  # it listens, and can be stopped
        logs.send_signal(signal.SIGSTOP)
        write(fifo, b"the last word\n")
        logs.send_signal(signal.SIGTERM)
        logs.send_signal(signal.SIGCONT)
        assert logs.wait(5) == 0
        assert read(logs)["message"] == "the last word"


def test_the_last_errors_are_kept_for_others(fifo: Path) -> None:
    with reading(fifo) as logs:
        write(fifo, b"fine\nerror: not fine\n")
        read(logs), read(logs)
    assert fifo.with_name("slurmctld.log.recent").read_text() == "error: not fine\n"


# --- A daemon in the foreground --------------------------------------------------------------

SAYS = """import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2})
print("slurmdbd: error: JobId=3 is bad", file=sys.stderr, flush=True)
while True:
    number = signal.sigwait({signal.SIGTERM, signal.SIGHUP, signal.SIGUSR2})
    print("slurmdbd: got", number, file=sys.stderr, flush=True)
    if number == signal.SIGTERM:
        sys.exit(4)
"""


@contextmanager
def following(*words: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    with running("logs", "--", *words, env={"DAEMON": "slurmdbd", **env}) as logs:
        yield logs


def test_a_daemon_in_the_foreground_is_read_and_gets_every_signal() -> None:
    with following(sys.executable, "-c", SAYS) as logs:
        said = read(logs)
        assert (said["level"], said["message"], said["job"]) == ("error", "JobId=3 is bad", 3)
        assert said["daemon"] == "slurmdbd"
        for number in (signal.SIGHUP, signal.SIGUSR2, signal.SIGTERM):
            logs.send_signal(number)
            assert read(logs)["message"] == f"got {number.value}"
        assert logs.wait(10) == 4


def test_what_a_daemon_in_the_foreground_says_can_be_had_raw() -> None:
    with following(sys.executable, "-c", SAYS, LOG_FORMAT="text") as logs:
        assert printed(logs) == "slurmdbd: error: JobId=3 is bad"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["sh", "-c", "exit 3"], 3),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL),
        (["no-such-daemon"], 127),
    ],
)
def test_it_ends_with_the_status_of_the_daemon(command: list[str], status: int) -> None:
    with following(*command) as logs:
        assert logs.wait(10) == status


def test_the_last_words_of_a_daemon_come_out_though_a_child_of_it_lives_on() -> None:
    leaves_one = "sleep 600 & echo $!; printf 'the last word'"
    with following("sh", "-c", leaves_one) as logs:
        orphan = int(read(logs)["message"])
        try:
            assert read(logs)["message"] == "the last word"
            assert logs.wait(10) == 0
        finally:
            os.kill(orphan, signal.SIGKILL)


def test_the_daemon_is_called_by_its_command_if_nothing_else_is_said() -> None:
    with running("logs", "--", "sh", "-c", "echo sh: fatal: x") as logs:
        said = read(logs)
    assert (said["daemon"], said["level"], said["message"]) == ("sh", "fatal", "x")


STAMP = "[2026-11-16T05:51:42.366+00:00] "


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f"{STAMP}sched: Allocate JobId=7", False),
        (f"{STAMP}warning: it is deprecated", False),
        (f"{STAMP}debug2: much", False),
        (f"{STAMP}error: no such node", True),
        (f"{STAMP}[7.batch] error: no such file", True),
        (f"{STAMP}fatal: no key", True),
        ("slurmdbd: fatal: no key", True),
        ("keeper: slurmctld is ready", True),
        ("Server listening on :: port 22.", True),
    ],
)
def test_what_the_log_file_has_is_not_told_again_unless_it_is_an_error(
    line: str, shown: bool
) -> None:
    says = f"printf '%s\\n' '{line}' 'the end'"
    with following("sh", "-c", says, LOG_FORMAT="text", LOG_BRIEF="yes") as logs:
        assert printed(logs) == (line if shown else "the end")


# --- The daemons of a worker or login node -------------------------------------------------------

SSSD_SAID = "(2026-11-16  5:51:42): [be[d]] [sdap_connect] (0x0020): connect failed [111]"


@pytest.mark.parametrize(
    ("line", "daemon", "level", "message"),
    [
        ("Server listening on :: port 22.", "sshd", "info", "Server listening on :: port 22."),
        ("debug1: inetd sockets", "sshd", "debug1", "inetd sockets"),
        ("keeper: sshd is ready", "keeper", "info", "sshd is ready"),
        ("[2026-11-16T05:51:42.366] error: no key", "sackd", "error", "no key"),
        ("sackd: fatal: no key", "sackd", "fatal", "no key"),
        (SSSD_SAID, "sssd", "error", "be[d]: connect failed [111]"),
        ("[sssd] [main] (0x3f7c0): Started", "sssd", "info", "sssd: Started"),
        ("[sssd] [main] (0x0010): no memory", "sssd", "fatal", "sssd: no memory"),
        ("[nss] [cache_req] (0x0400): looking", "sssd", "debug", "nss: looking"),
    ],
)
def test_on_a_node_each_daemon_is_known_by_its_way_to_begin_a_line(
    line: str, daemon: str, level: str, message: str
) -> None:
    said = Node("sackd").parsed(line, NOW)
    assert (said["daemon"], said["level"], said["message"]) == (daemon, level, message)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("slurmd: error: JobId=7 is late", ("slurmd", "error", "JobId=7 is late", 7)),
        ("[2026-11-16T05:51:42.366] [7.batch] done", ("slurmd", "info", "done", 7)),
        ("Accepted publickey for root", ("sshd", "info", "Accepted publickey for root", None)),
    ],
)
def test_on_a_worker_it_is_slurmd_that_speaks_for_slurm(
    line: str, said: tuple[str, str, str, int | None]
) -> None:
    found = Node("slurmd").parsed(line, NOW)
    assert (found["daemon"], found["level"], found["message"], found.get("job")) == said


def test_the_time_is_the_one_that_sssd_gives() -> None:
    said = Node("sackd").parsed(SSSD_SAID, NOW)
    stamp = datetime.fromisoformat(str(said["time"]))
    assert stamp.astimezone().replace(tzinfo=None) == datetime(2026, 11, 16, 5, 51, 42)


def test_an_indented_line_goes_on_with_the_one_before() -> None:
    node = Node("sackd")
    for line, daemon in ((SSSD_SAID, "sssd"), ("  more of it", "sssd"), ("Accepted x", "sshd")):
        assert node.parsed(line, NOW)["daemon"] == daemon


@pytest.mark.parametrize(("started", "speaker"), [("/usr/sbin/sshd", "sshd"), ("x", "slurmd")])
def test_what_a_node_says_comes_out_line_by_line(started: str, speaker: str) -> None:
    script = r"printf 'a line without a name\r\nkeeper: done\n'"
    with running("logs", "--node", "slurmd", "--", "sh", "-c", script, started) as logs:
        said = [read(logs), read(logs)]
    assert [(each["daemon"], each["message"]) for each in said] == [
        (speaker, "a line without a name"),
        ("keeper", "done"),
    ]


@pytest.mark.parametrize(
    "words", [["--"], ["slurmdbd"], ["--node"], ["--node", "slurmd"], ["--node", "slurmd", "--"]]
)
def test_a_wrong_command_line_is_answered_with_the_right_one(words: list[str]) -> None:
    done = subprocess.run([*program("logs"), *words], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"logs.py -- COMMAND" in done.stderr
