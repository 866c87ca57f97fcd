import os
import subprocess
import sys
from pathlib import Path

import pytest

from windlass.local.errors import CommandFailed, LocalError, TimedOut
from windlass.local.process import Identity, children, identify, run, run_lines
from windlass.local.waiting import wait_for

LEADERLESS = """
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
print("the others go on", flush=True)
exit_of_this_thread = {"x86_64": 60, "aarch64": 93}[platform.machine()]
ctypes.CDLL(None).syscall(exit_of_this_thread, 0)
"""


def test_a_program_that_fails_is_quoted_with_its_last_words() -> None:
    with pytest.raises(CommandFailed, match="ended with 3:\nwhy") as caught:
        run(["sh", "-c", "echo why >&2; exit 3"])
    assert caught.value.code == 3


def test_a_program_that_is_not_installed_is_named() -> None:
    with pytest.raises(LocalError, match="`no-such-program` is not installed"):
        run(["no-such-program"])


def test_what_a_program_needs_is_added_to_our_environment() -> None:
    assert run(["sh", "-c", "echo $WORD:${PATH:+path}"], env={"WORD": "said"}) == "said:path\n"


def test_lines_are_handed_over_as_they_come() -> None:
    lines: list[str] = []
    run_lines(["printf", "one\\ntwo\\n"], lines.append)
    assert lines == ["one", "two"]


def test_a_listener_that_fails_ends_the_program() -> None:
    def refuse(line: str) -> None:
        raise ZeroDivisionError(line)

    with pytest.raises(ZeroDivisionError):
        run_lines(["sh", "-c", "echo once; exec sleep 60"], refuse)


def test_a_process_is_known_by_its_start_and_not_by_its_number_alone() -> None:
    us = identify(os.getpid())
    assert us is not None
    assert us.alive()
    assert not Identity(us.pid, us.started + 1).alive()


def test_a_zombie_counts_as_gone() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        seen = identify(child.pid)
        assert seen is not None
        assert child.pid in children(os.getpid())
        seen.kill()
        assert wait_for(lambda: not seen.alive(), "it ends", within=5)


def test_a_process_whose_first_thread_alone_has_ended_is_still_there() -> None:
    """Its other threads hold its files and ports; Linux calls it a zombie all the same."""
    with subprocess.Popen([sys.executable, "-c", LEADERLESS], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"the others go on\n"
        stat = Path(f"/proc/{child.pid}/stat")
        wait_for(lambda: ") Z " in stat.read_text(), "the first thread ends", within=5)
        assert identify(child.pid) is not None
        child.kill()


def test_a_process_that_never_was_has_no_identity() -> None:
    assert identify(2**22 + 1) is None
    assert children(2**22 + 1) == []


def test_waiting_ends_with_the_first_answer() -> None:
    answers = iter([None, 0, "", "yes", "later"])
    assert wait_for(lambda: next(answers), "an answer", within=5, every=0) == "yes"


def test_waiting_gives_up_at_its_deadline_and_says_for_what() -> None:
    with pytest.raises(TimedOut, match="the moon: not so after 0 s"):
        wait_for(lambda: None, "the moon", within=0)
