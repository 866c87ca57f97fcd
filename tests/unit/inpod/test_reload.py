"""The keeper of /etc/slurm, with a Slurm that is a shell script."""

import base64
import hashlib
import hmac
import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.unit.inpod.programs import program, running
from windlass.inpod.reload import conf_of, explain, fingerprint, keys_of, near, setting
from windlass.local.waiting import wait_for
from windlass.slurm.key_set import KeySet
from windlass.testing.ports import free_ports

TWO_KEYS = KeySet.of(b"a" * 16, "a").adding(b"b" * 16, "b")

# It refuses a file with the word Foo at once, and one with the word nope as slurmctld does.
SCONTROL = """#!/bin/sh
case $1 in
show)
  grep -q Foo "$SLURM_CONF" || exit 0
  echo "scontrol: error: _parse_next_key: Parsing error at unrecognized key: Foo" >&2
  exit 1;;
ping)
  cp "$SLURM_CONF" "$TOP/asked"
  test -e "$TOP/up" && echo "Slurmctld(primary) at here is UP";;
reconfigure)
  cp "$SLURM_CONF" "$TOP/asked"
  echo reconfigure >> "$TOP/calls"
  grep -q nope "$TOP/conf/slurm.conf" || exit 0
  echo "[2026-01-01T00:00:00.000] fatal: Invalid node names in partition bad" >> "$TOP/recent"
  echo "slurm_reconfigure error:Unspecified error" >&2
  exit 1;;
esac
"""


@dataclass(frozen=True)
class Pod:
    top: Path
    port: int

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": f"{self.top}/bin:{os.environ['PATH']}",
            "TOP": str(self.top),
            "CANDIDATE_DIR": str(self.top / "candidate"),
            "CONF_DIR": str(self.top / "conf"),
            "STATE_DIR": str(self.top / "state"),
            "RECENT": str(self.top / "recent"),
            "REPORT_FILE": str(self.top / "report.json"),
            "REPORT_PORT": str(self.port),
        }

    def candidate(self, **files: str) -> str:
        contents = {name.replace("_", "."): text for name, text in files.items()}
        for name, text in contents.items():
            new = self.top / "candidate" / f".{name}"
            new.write_text(text)
            new.replace(self.top / "candidate" / name)
        return fingerprint(conf_of({name: text.encode() for name, text in contents.items()}))

    def init(self) -> None:
        subprocess.run([*program("reload"), "init"], env=self.env, check=True)

    @contextmanager
    def watching(self) -> Iterator[subprocess.Popen[str]]:
        with running("reload", "watch", env=self.env) as process:
            yield process

    def conf(self, name: str = "slurm.conf") -> str:
        return (self.top / "conf" / name).read_text()

    def report(self, fits: Callable[[Any], bool]) -> Any:
        def fitting() -> Any:
            file = self.top / "report.json"
            report = json.loads(file.read_text()) if file.exists() else None
            return report if report and fits(report) else None

        return wait_for(fitting, "such a report", within=10, every=0.02)


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    for name in ("bin", "candidate", "state"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin/scontrol").write_text(SCONTROL)
    (tmp_path / "bin/scontrol").chmod(0o755)
    (tmp_path / "up").touch()
    return Pod(tmp_path, free_ports(1)[0])


def test_a_fingerprint_is_what_its_description_says() -> None:
    said = bytes(7) + b"\x01" + b"a" + bytes(7) + b"\x02" + b"xy"
    said += bytes(7) + b"\x01" + b"b" + bytes(8)
    assert fingerprint({"b": b"", "a": b"xy"}) == hashlib.sha256(said).hexdigest()


def test_keys_are_told_from_configuration() -> None:
    files = dict.fromkeys(["slurm.conf", "slurm.key", "jwks.json", "slurm.jwks", "job.sh"], b"")
    assert sorted(conf_of(files)) == ["job.sh", "slurm.conf"]
    assert sorted(keys_of(files)) == ["jwks.json", "slurm.jwks", "slurm.key"]


CONF = b"""\
ClusterName=c # MaxNodeCount=9
AuthType=auth/none2
maxnodecount=5
PartitionName=a Nodes=ALL
PartitionName=bad Nodes=nope
Include /etc/slurm/more.conf
"""


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ("scontrol: error: Parsing error at unrecognized key: Foo", (None, None, "Foo")),
        ("scontrol: error: _parse_next_key: Parsing error at unrecognized key: Bar",
         ("more.conf", 2, "Bar")),
        ("scontrol: error: MaxNodeCount value (5x) is not a valid number",
         ("slurm.conf", 3, "MaxNodeCount")),
        ('scontrol: error: CPUs value "x" is not a valid number\n'
         'scontrol: error: Parse error in file /s/slurm.conf line 19: " CPUs=x"',
         ("slurm.conf", 19, "CPUs")),
        ("scontrol: error: MaxNodeCount only compatible with cons_tres",
         ("slurm.conf", 3, "MaxNodeCount")),
        ("scontrol: error: cannot create auth context for auth/none2", ("slurm.conf", 2, None)),
        ("[2026-01-01T00:00:00.000] fatal: Invalid node names in partition bad",
         ("slurm.conf", 5, "PartitionName")),
        ('scontrol: error: "Include" failed in file /s/slurm.conf line 6', ("slurm.conf", 6, None)),
        ("scontrol: error: s_p_parse_file: cannot stat file /etc/slurm/more.conf: No such file, "
         "retrying in 1sec up to 60sec", ("slurm.conf", 6, "Include")),
        ("something else", (None, None, None)),
    ],
)  # fmt: skip
def test_what_slurm_says_leads_to_a_place(
    said: str, place: tuple[str | None, int | None, str | None]
) -> None:
    files = {"slurm.conf": CONF, "more.conf": b"#\nBar=1\n", "slurm.key": b"Foo=1"}
    error = explain(said, files, Path("/s"))
    assert (error["file"], error["line"], error["key"]) == place
    assert error["message"]
    assert "retrying" not in str(error["message"])


def test_the_last_of_several_settings_counts() -> None:
    assert setting({"slurm.conf": b"a=1\nA = 2 # x\n#A=3\n"}, "A") == "2"


def test_init_copies_the_candidate_with_the_modes_that_slurm_wants(pod: Pod) -> None:
    pod.candidate(slurm_conf="a=1", slurm_key="k", job_sh="#!/bin/sh")
    pod.init()
    modes = {file.name: file.stat().st_mode & 0o777 for file in (pod.top / "conf").iterdir()}
    assert modes == {"slurm.conf": 0o644, "slurm.key": 0o600, "job.sh": 0o755}


@pytest.mark.parametrize(
    ("line", "mode"),
    [
        ("PrologSlurmctld=/etc/slurm/job.sh", 0o755),
        ("prolog = job.sh # ours", 0o755),
        ('Epilog="/etc/slurm/*.sh"', 0o755),
        ("TaskEpilog=/etc/slurm/job.sh", 0o755),
        ("SrunProlog=/etc/slurm/other.sh", 0o644),
        ("Prolog=/opt/job.sh", 0o644),
        ("#Prolog=/etc/slurm/job.sh", 0o644),
        ("PrologFlags=job.sh", 0o644),
    ],
)
def test_a_script_that_slurm_conf_names_can_be_run_though_it_does_not_say_how(
    pod: Pod, line: str, mode: int
) -> None:
    pod.candidate(slurm_conf=f"a=1\n{line}\n", job_sh="exit 0")
    pod.init()
    assert (pod.top / "conf" / "job.sh").stat().st_mode & 0o777 == mode


def test_init_takes_a_bad_candidate_if_there_is_nothing_better(pod: Pod) -> None:
    pod.candidate(slurm_conf="Foo=1")
    pod.init()
    assert pod.conf() == "Foo=1"


def test_what_slurmctld_took_is_what_a_restart_falls_back_to(pod: Pod) -> None:
    pod.candidate(slurm_conf="a=1", slurm_key="old")
    pod.init()
    with pod.watching():
        pod.report(lambda report: report["ok"])

    pod.candidate(slurm_conf="Foo=1", slurm_key="new")
    pod.init()

    assert (pod.conf(), pod.conf("slurm.key")) == ("a=1", "new")


def test_why_the_candidate_is_not_in_force_is_known_from_the_first_report_on(pod: Pod) -> None:
    pod.candidate(slurm_conf="a=1")
    pod.init()
    with pod.watching():
        pod.report(lambda report: report["ok"])
    (pod.top / "report.json").unlink()
    (pod.top / "up").unlink()
    pod.candidate(slurm_conf="Foo=1")
    pod.init()
    with pod.watching():
        report = pod.report(bool)
    assert (report["ok"], report["inForce"], report["error"]["key"]) == (False, "", "Foo")


def test_a_good_candidate_comes_into_force(pod: Pod) -> None:
    first = pod.candidate(slurm_conf="a=1")
    pod.init()
    with pod.watching():
        pod.report(lambda report: report["inForce"] == first)
        second = pod.candidate(slurm_conf="a=2")
        report = pod.report(lambda report: report["inForce"] == second)
    assert (report["ok"], report["error"], pod.conf()) == (True, None, "a=2")
    assert (pod.top / "calls").read_text() == "reconfigure\n"


def test_its_own_commands_need_no_service_to_reach_slurmctld(pod: Pod) -> None:
    pod.candidate(slurm_conf="SlurmctldHost=a(10.96.3.4)")
    pod.init()
    with pod.watching():
        pod.report(lambda report: report["ok"])
        assert (pod.top / "asked").read_text() == "SlurmctldHost=a(127.0.0.1)"
        second = pod.candidate(slurm_conf="SlurmctldHost=a(10.96.7.7)\nb=1", more_conf="c=1")
        pod.report(lambda report: report["inForce"] == second)
    assert (pod.top / "asked").read_text() == "SlurmctldHost=a(127.0.0.1)\nb=1"
    assert (pod.top / "conf/.near/more.conf").read_text() == "c=1"
    assert pod.conf() == "SlurmctldHost=a(10.96.7.7)\nb=1"


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        (b"A=1\n slurmctldhost = a(b.c) # x\n", b"A=1\n slurmctldhost = a(127.0.0.1) # x\n"),
        (b"SlurmctldHost=a\n", b"SlurmctldHost=a\n"),
        (b"#SlurmctldHost=a(b)\n", b"#SlurmctldHost=a(b)\n"),
        (b"SlurmctldHost=a(b)\nSlurmctldHost=c(d)\n", b"SlurmctldHost=a(b)\nSlurmctldHost=c(d)\n"),
        (b"SlurmctldHost=a(b)\nSlurmctldAddr=e\n", b"SlurmctldHost=a(b)\nSlurmctldAddr=e\n"),
    ],
)
def test_only_one_who_is_alone_is_the_one_beside(text: bytes, beside: bytes) -> None:
    assert near({"slurm.conf": text, "slurm.key": b"k"}) == {
        "slurm.conf": beside,
        "slurm.key": b"k",
    }


def test_a_file_that_is_gone_from_the_candidate_goes(pod: Pod) -> None:
    pod.candidate(slurm_conf="a=1", cgroup_conf="b=1")
    pod.init()
    with pod.watching():
        before = pod.report(lambda report: report["ok"])["inForce"]
        (pod.top / "candidate/cgroup.conf").unlink()
        pod.report(lambda report: report["ok"] and report["inForce"] != before)
    assert not (pod.top / "conf/cgroup.conf").exists()


@pytest.mark.parametrize(
    ("bad", "key", "calls"),
    [("Foo=1", "Foo", 0), ("PartitionName=bad Nodes=nope", "PartitionName", 1)],
)
def test_a_bad_candidate_does_not(pod: Pod, bad: str, key: str, calls: int) -> None:
    first = pod.candidate(slurm_conf="a=1")
    pod.init()
    with pod.watching():
        pod.report(lambda report: report["ok"])
        second = pod.candidate(slurm_conf=bad)
        report = pod.report(lambda report: report["candidate"] == second)
    assert (report["ok"], report["inForce"], pod.conf()) == (False, first, "a=1")
    assert (report["error"]["line"], report["error"]["key"]) == (1, key)
    made = (pod.top / "calls").read_text() if calls else ""
    assert made.count("reconfigure") == calls


@pytest.mark.parametrize(
    "bad",
    [
        "{broken",
        "[]",
        '{"keys": []}',
        '{"keys": [7]}',
        str(TWO_KEYS).replace('"default"', '"other"'),
        str(TWO_KEYS).replace('"kid": "b"', '"kid": "a"'),
        str(TWO_KEYS).replace(base64.b64encode(b"b" * 16).decode(), "c2hvcnQ="),
    ],
)
def test_keys_that_slurmctld_would_die_of_do_not_reach_it(pod: Pod, bad: str) -> None:
    pod.candidate(slurm_conf="a=1", slurm_key="old", slurm_jwks=str(TWO_KEYS))
    pod.init()
    with pod.watching():
        pod.report(lambda report: report["ok"])
        conf = pod.candidate(slurm_conf="a=2", slurm_key="new", slurm_jwks=bad)
        report = pod.report(lambda report: report["inForce"] == conf)
    assert report["error"]["file"] == "slurm.jwks"
    assert pod.conf() == "a=2", "the configuration does not wait for better keys"
    assert (pod.conf("slurm.jwks"), pod.conf("slurm.key")) == (str(TWO_KEYS), "old")


def test_init_leaves_out_keys_that_slurmctld_would_die_of(pod: Pod) -> None:
    pod.candidate(slurm_conf="a=1", slurm_key="old", slurm_jwks="{broken")
    pod.init()
    assert not (pod.top / "conf/slurm.jwks").exists()
    assert pod.conf("slurm.key") == "old"


def test_nothing_is_in_force_until_slurmctld_answers(pod: Pod) -> None:
    (pod.top / "up").unlink()
    name = pod.candidate(slurm_conf="a=1")
    pod.init()
    with pod.watching():
        report = pod.report(lambda report: report["candidate"] == name)
        assert (report["inForce"], report["ok"]) == ("", False)
        (pod.top / "up").touch()
        pod.report(lambda report: report["inForce"] == name)


def test_a_change_that_came_before_slurmctld_answered_is_read_again_by_it(pod: Pod) -> None:
    (pod.top / "up").unlink()
    pod.candidate(slurm_conf="a=1")
    pod.init()
    with pod.watching():
        pod.report(bool)
        second = pod.candidate(slurm_conf="a=2")
        pod.report(lambda report: report["candidate"] == second)
        (pod.top / "up").touch()
        pod.report(lambda report: report["inForce"] == second)
    assert (pod.top / "calls").read_text() == "reconfigure\n"


def test_the_report_is_served_with_a_signature(pod: Pod) -> None:
    pod.candidate(slurm_conf="a=1", jwt_key="secret")
    pod.init()
    with pod.watching():
        pod.report(lambda report: report["ok"])
        url = f"http://127.0.0.1:{pod.port}/report?nonce=17"
        with urllib.request.urlopen(url, timeout=5) as answer:
            body, signature = answer.read(), answer.headers["X-Windlass-Signature"]
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{pod.port}/", timeout=5)
        refused.value.close()
    assert signature == hmac.new(b"secret", b"17" + body, hashlib.sha256).hexdigest()


def test_it_ends_at_once(pod: Pod) -> None:
    pod.candidate(slurm_conf="a=1")
    pod.init()
    with pod.watching() as process:
        pod.report(lambda report: report["ok"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0


def test_a_wrong_command_line_is_answered_with_the_right_one() -> None:
    done = subprocess.run([*program("reload"), "go"], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"reload.py watch" in done.stderr
