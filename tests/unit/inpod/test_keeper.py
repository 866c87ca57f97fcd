"""The keeper, with a daemon that hands over to a successor as Slurm's do."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.unit.inpod.programs import program, running
from windlass.local.waiting import wait_for

DAEMON = (sys.executable, str(Path(__file__).with_name("daemon.py")))
LAST_WORD = Path(__file__).with_name("last_word.py")


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def pid_of(said: str) -> int:
    word, pid = said.split()
    assert word == "up"
    return int(pid)


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"KEEPER_DIR": str(tmp_path)}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can go into; pytest closes the one above its own at every start."""
    with tempfile.TemporaryDirectory(prefix="keeper-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_it_lives_on_with_the_process_that_the_daemon_handed_over_to(env: dict[str, str]) -> None:
    with running("keeper", "--", *DAEMON, "7", env=env) as keeper:
        first = pid_of(line(keeper))
        keeper.send_signal(signal.SIGHUP)
        second = pid_of(line(keeper))
        assert line(keeper) == "barrier closed True"
        wait_for(lambda: gone(first), "the old process is reaped", within=10)
        assert keeper.poll() is None

        keeper.send_signal(signal.SIGTERM)

        assert keeper.wait(10) == 7
        assert gone(second)


def test_it_stops_the_process_that_the_daemon_hands_over_to_when_told_to_stop(
    env: dict[str, str],
) -> None:
    with running("keeper", "--", *DAEMON, "7", "late", env=env) as keeper:
        line(keeper)
        keeper.send_signal(signal.SIGTERM)
        second = pid_of(line(keeper))

        assert keeper.wait(20) == 7
        assert gone(second)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_the_last_word_of_a_daemon_with_fewer_rights_is_heard_when_it_is_reaped(
    open_folder: Path,
) -> None:
    words = (sys.executable, str(LAST_WORD), str(open_folder / "notify"))
    done = subprocess.run(words, check=True, capture_output=True)
    assert done.stdout == b"heard\n"


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_signals_reach_the_daemon(number: signal.Signals, env: dict[str, str]) -> None:
    with running("keeper", "--", *DAEMON, "0", env=env) as keeper:
        line(keeper)
        keeper.send_signal(number)
        assert line(keeper) == number.name.removeprefix("SIG")


def come(path: Path) -> None:
    path.write_text("new")


def be_replaced(path: Path) -> None:
    path.with_suffix(".new").write_text("other")
    path.with_suffix(".new").replace(path)


@pytest.mark.parametrize(
    ("before", "change"),
    [(None, come), ("old", be_replaced), ("old", Path.unlink)],
    ids=["comes", "is replaced", "goes"],
)
def test_the_daemon_is_told_when_a_file_that_it_follows_changes(
    before: str | None, change: Callable[[Path], None], env: dict[str, str], tmp_path: Path
) -> None:
    others, followed = tmp_path / "slurm.key", tmp_path / "slurm.jwks"
    if before is not None:
        followed.write_text(before)
    words = ("--follow", str(others), "--follow", str(followed), "--", *DAEMON, "0")
    with running("keeper", *words, env=env) as keeper:
        first = pid_of(line(keeper))
        change(followed)
        assert pid_of(line(keeper)) != first


def test_a_daemon_that_is_not_up_yet_is_told_of_nothing(
    env: dict[str, str], tmp_path: Path
) -> None:
    followed = tmp_path / "slurm.jwks"
    # It would die of HUP, and ends by itself once the keeper has looked twice.
    slow = ("sh", "-c", "echo up $$; sleep 2.5; exit 4")
    with running("keeper", "--follow", str(followed), "--", *slow, env=env) as keeper:
        line(keeper)
        come(followed)
        assert keeper.wait(10) == 4


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["sh", "-c", "exit 3"], 3),
        (["sh", "-c", "kill -KILL $$"], 128 + signal.SIGKILL),
        (["no-such-daemon"], 127),
    ],
)
def test_it_ends_with_the_status_of_the_daemon(
    command: list[str], status: int, env: dict[str, str]
) -> None:
    with running("keeper", "--", *command, env=env) as keeper:
        assert keeper.wait(10) == status


def test_a_daemon_that_dies_is_started_again_if_that_is_asked_for(env: dict[str, str]) -> None:
    with running("keeper", "--restart", "--", *DAEMON, "0", env=env) as keeper:
        first = pid_of(line(keeper))
        os.kill(first, signal.SIGKILL)
        second = pid_of(line(keeper))
        assert second != first

        keeper.send_signal(signal.SIGTERM)

        assert keeper.wait(10) == 0
        assert gone(second)


def test_it_can_be_stopped_while_the_daemon_is_resting(env: dict[str, str]) -> None:
    with running("keeper", "--restart", "--", "no-such-daemon", env=env) as keeper:
        assert keeper.stderr is not None
        assert "cannot be started" in keeper.stderr.readline()
        keeper.send_signal(signal.SIGTERM)
        assert keeper.wait(10) == 127


def test_others_are_kept_beside_the_daemon_and_end_with_it(env: dict[str, str]) -> None:
    other = ("sh", "-c", "echo up $$; exec sleep 600")
    with running("keeper", "--", "sleep", "600", "--also", *other, env=env) as keeper:
        first = pid_of(line(keeper))
        os.kill(first, signal.SIGKILL)
        second = pid_of(line(keeper))

        keeper.send_signal(signal.SIGTERM)

        assert keeper.wait(10) == 128 + signal.SIGTERM
        assert gone(second)


def test_orphans_are_reaped(env: dict[str, str]) -> None:
    leaves_one = ("sh", "-c", "(sh -c 'echo up $$' &); exec sleep 600")
    with running("keeper", "--", *leaves_one, env=env) as keeper:
        orphan = pid_of(line(keeper))
        wait_for(lambda: gone(orphan), "the orphan is reaped", within=10)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_a_user_of_the_container_cannot_pass_for_the_daemon(open_folder: Path) -> None:
    forge = (
        "import os,socket,sys; os.setuid(65534); s = socket.socket(1, 2);"
        "s.sendto(b'MAINPID=%d' % os.getpid(), sys.argv[1]); print('sent', flush=True)"
    )
    env = {"KEEPER_DIR": str(open_folder)}
    with running("keeper", "--", *DAEMON, "5", env=env) as keeper:
        line(keeper)
        (notify,) = open_folder.glob("*/notify-0")
        subprocess.run([sys.executable, "-c", forge, str(notify)], check=True)
        keeper.send_signal(signal.SIGTERM)
        assert keeper.wait(10) == 5


def test_it_leaves_nothing_behind(env: dict[str, str]) -> None:
    with running("keeper", "--", "true", env=env) as keeper:
        keeper.wait(10)
    assert not list(Path(env["KEEPER_DIR"]).iterdir())


@pytest.mark.parametrize(
    "words",
    [[], ["sleep"], ["--"], ["--", "true", "--also"], ["--now", "--"], ["--follow", "--", "true"]],
)
def test_a_wrong_command_line_is_answered_with_the_right_one(words: list[str]) -> None:
    done = subprocess.run([*program("keeper"), *words], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"keeper.py [--restart] [--follow FILE]... -- COMMAND" in done.stderr
