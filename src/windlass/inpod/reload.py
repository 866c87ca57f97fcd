"""Keeps slurmctld's /etc/slurm: checks what it is given, puts it in force, falls back if need be.

    python3 reload.py init      before slurmctld: fills CONF_DIR
    python3 reload.py watch     beside slurmctld: follows CANDIDATE_DIR for ever

The candidate is a folder that the kubelet fills from ConfigMaps and Secrets. What slurmctld reads
is another folder, in memory, written by this program only. A candidate goes through Slurm's own
parser, then into CONF_DIR, then `scontrol reconfigure` is run; slurmctld refuses what it cannot
live with and goes on as it was, and the files are put back. What slurmctld took is kept on its
state volume (`.windlass/last-good`, without keys), and so is the name of what it refused, so that
a restart does not fall over it. HUP has the candidate looked at again at once, changed or not.
Others may find slurmctld by the address of a Service; the commands of this program speak to it
directly, by a copy of the files (`.near` in CONF_DIR), so that no proxy can come in between.

| variable | default | what |
| --- | --- | --- |
| CANDIDATE_DIR | /mnt/slurm | the candidate |
| CONF_DIR | /etc/slurm | slurmctld's, shared with it |
| STATE_DIR | `StateSaveLocation` of the candidate | where the last good configuration is kept |
| RECENT | /var/log/slurm/slurmctld.log.recent | slurmctld's last errors, as logs.py keeps them |
| REPORT_FILE | /run/slurmctld-report.json | the report |
| REPORT_PORT | 6821 | where the report is served; 0: nowhere |
| JWT_KEY | CONF_DIR/jwt.key | what the report is signed with |

The report is JSON: `candidate` and `inForce` (fingerprints of the configuration without keys; the
latter is empty until slurmctld answered), `keys` (the fingerprint of the keys), `ok` (slurmctld
runs with the candidate), `error` (null, or `file`, `line`, `key`, `message`), `slurm` (the version
of its commands) and `at`.
`GET /report?nonce=N` answers it with `X-Windlass-Signature`, the HMAC-SHA256 in hexadecimal digits,
keyed with the content of jwt.key, of N and the body.

`fingerprint` is SHA-256 over every file in the order of their names, for each: the length of the
name in bytes as 8 bytes, most significant first, the name in UTF-8, then the content in the same
way. Names are relative to the folder, with `/`. Files named *.key, *.jwks and jwks.json are keys.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import hmac
import http.server
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
from dataclasses import dataclass, field
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Files = Mapping[str, bytes]
    Error = dict[str, object]

POLL = 0.25  # seconds between looks at the candidate
PARSE_TIME = 3.0  # Slurm waits a minute for a file that is not there
RECONFIGURE_TIME = 120.0
REASON_TIME = 2.0  # for the reason of a refusal to come through the log
STAGE = ".candidate"
NEAR = ".near"
MEMORY = ".windlass"
ETC = Path("/etc/slurm")  # what Slurm takes names in slurm.conf to be below
RUN = re.compile(
    r"^\s*(?:Task|Srun)?(?:Prolog|Epilog)(?:Slurmctld)?\s*=\s*\"?([^\s\"#]+)",
    re.IGNORECASE | re.MULTILINE,
)


# --- names and files --------------------------------------------------------------------------


def is_key(name: str) -> bool:
    return name.endswith((".key", ".jwks")) or name.rpartition("/")[2] == "jwks.json"


def fingerprint(files: Files) -> str:
    """A name for exact content; see the head of this file."""
    digest = hashlib.sha256()
    for name in sorted(files):
        for part in (name.encode(), files[name]):
            digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def conf_of(files: Files) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if not is_key(name)}


def keys_of(files: Files) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if is_key(name)}


def mode_of(name: str, files: Files) -> int:
    if is_key(name) or name == "slurmdbd.conf":
        return 0o600
    return 0o755 if files[name].startswith(b"#!") or is_run(name, files) else 0o644


def is_run(name: str, files: Files) -> bool:
    """Whether slurm.conf names it as a prolog or epilog: a slurmctld that may not run it ends."""
    text = files.get("slurm.conf", b"").decode(errors="replace")
    return any(fnmatchcase(f"{ETC}/{name}", str(ETC / found)) for found in RUN.findall(text))


def read(folder: Path) -> dict[str, bytes]:
    """All files of a folder. The kubelet's own names (`..data`) and hidden ones are left out."""
    # The kubelet swaps one link, so what is below its target is of one moment.
    top = Path(os.path.realpath(folder / "..data")) if (folder / "..data").exists() else folder
    found = {}
    for path, folders, names in os.walk(top, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for file in (Path(path) / name for name in names if not name.startswith(".")):
            found[file.relative_to(top).as_posix()] = file.read_bytes()
    return found


def stamp(folder: Path) -> object:
    """Something cheap that changes when the files of a folder do."""
    with contextlib.suppress(OSError):
        return str((folder / "..data").readlink())
    with contextlib.suppress(OSError):
        seen = [(entry.path, entry.stat()) for entry in os.scandir(folder)]
        return sorted((path, status.st_mtime_ns, status.st_size) for path, status in seen)
    return None


def write(folder: Path, files: Files) -> None:
    """Make the files of a folder these, each of them whole at any moment, slurm.conf last."""
    for name in sorted(files, key=lambda name: (name == "slurm.conf", name)):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.new")
        new.unlink(missing_ok=True)
        new.touch(mode=0o600)
        new.write_bytes(files[name])
        new.chmod(mode_of(name, files))
        new.replace(target)
    for name in read(folder).keys() - files.keys():
        (folder / name).unlink()


# --- what Slurm says --------------------------------------------------------------------------

PREFIX = re.compile(r"^(?:\[[^\]]*\] )?(?:\w+: )?(?:error|fatal): (?:_\w+: |s_p_\w+: )?")
PARSE_ERROR = re.compile(r"Parse error in file (?P<file>\S+) line (?P<line>\d+)")
INCLUDE = re.compile(r'"Include" failed in file (?P<file>\S+) line (?P<line>\d+)')
KEY = re.compile(r"unrecognized key: (\w+)|^(\w+) value [(\"]|line \d+: \"\s*(\w+)")
MISSING = re.compile(r"cannot stat file (\S+):")
RETRYING = re.compile(r", retrying in.*")
DEFINED = (
    (re.compile(r"partition \"?([\w.-]+)"), "PartitionName"),
    (re.compile(r"NodeHostName ([\w.-]+)"), "NodeName"),
)
NOISE = "Unable to process configuration file"


def explain(said: str, files: Files, folder: Path) -> Error:
    """Turn what Slurm said into the place to look at: file, line and key, where they are known."""
    said = RETRYING.sub("", said.replace(f"{folder}/", ""))
    lines = [PREFIX.sub("", line) for line in said.splitlines() if PREFIX.match(line)]
    lines = list(dict.fromkeys(line for line in lines if line != NOISE))
    telling = [line for line in lines if not INCLUDE.search(line)] or lines
    key = first(KEY, lines)
    place = (
        exact(PARSE_ERROR, lines)
        or (locate(files, rf"^\s*{key}\s*=") if key else None)
        or exact(INCLUDE, lines)
        or guess(lines, files)
    )
    message = "; ".join(telling) or said.strip()
    return {"file": None, "line": None, "key": key, "message": message, **place}


def exact(pattern: re.Pattern[str], lines: list[str]) -> Error | None:
    found = next((match for match in map(pattern.search, lines) if match), None)
    return {"file": found["file"], "line": int(found["line"])} if found else None


def first(pattern: re.Pattern[str], lines: list[str]) -> str | None:
    for found in map(pattern.search, lines):
        if found:
            return next(group for group in found.groups() if group)
    return None


def guess(lines: list[str], files: Files) -> Error:
    """The place of something that Slurm names without a place: a definition, a key, a value."""
    missing = first(MISSING, lines)
    place = locate(files, rf"^\s*Include\s.*{re.escape(missing)}") if missing else None
    if place:
        return {**place, "key": "Include"}
    for pattern, key in DEFINED:
        name = first(pattern, lines)
        place = locate(files, rf"\b{key}\s*=\s*\"?{re.escape(name)}\b") if name else None
        if place:
            return {**place, "key": key}
    for word in (word for line in lines for word in re.findall(r"[\w/.-]{4,}", line)):
        place = locate(files, rf"^\s*{re.escape(word)}\s*=")
        if place:
            return {**place, "key": word}
        place = locate(files, rf"=\s*\"?{re.escape(word)}") if "/" in word else None
        if place:
            return place
    return {}


def locate(files: Files, pattern: str) -> Error | None:
    """Where a pattern is found in the configuration; Slurm takes the last of several."""
    wanted = re.compile(pattern, re.IGNORECASE)
    place: Error | None = None
    for name in sorted(conf_of(files), key=lambda name: (name != "slurm.conf", name)):
        if name.endswith(".conf"):
            text = files[name].decode(errors="replace")
            for number, line in enumerate(text.splitlines(), 1):
                if wanted.search(line.partition("#")[0]):
                    place = {"file": name, "line": number}
    return place


def setting(files: Files, key: str) -> str | None:
    """The value of a parameter of slurm.conf."""
    text = files.get("slurm.conf", b"").decode(errors="replace")
    found = re.findall(rf"^\s*{key}\s*=\s*\"?([^\s\"#]+)", text, re.IGNORECASE | re.MULTILINE)
    return found[-1] if found else None


HOST = re.compile(rb"^(\s*SlurmctldHost\s*=\s*[^\s(#]+)\([^)]*\)", re.IGNORECASE | re.MULTILINE)


def near(files: Files) -> Files:
    """The files for those who run beside the only slurmctld; of several any may be the active."""
    if setting(files, "SlurmctldAddr") is not None:
        return files
    text, found = HOST.subn(rb"\1(127.0.0.1)", files.get("slurm.conf", b""))
    return {**files, "slurm.conf": text} if found == 1 else files


# --- Slurm's commands -------------------------------------------------------------------------

NOT_THERE = re.compile(r"Unable to contact|[Cc]onnect|Zero Bytes")
SILENT = re.compile(r"timed out")
NEEDS_FILE = {"topology/tree", "topology/block"}
SLURM_JWKS = "slurm.jwks"


@dataclass(frozen=True)
class Answer:
    ok: bool
    said: str


def run(*words: str, within: float, conf: Path | None = None) -> Answer:
    environment = {**os.environ, **({"SLURM_CONF": str(conf)} if conf else {})}
    try:
        done = subprocess.run(
            words,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=within,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return Answer(ok=False, said=(late.stdout or b"").decode(errors="replace"))
    return Answer(ok=done.returncode == 0, said=done.stdout.decode(errors="replace"))


def check(files: Files, stage: Path) -> Error | None:
    """What is wrong with a configuration, as far as can be told without slurmctld."""
    if "slurm.conf" not in files:
        return {
            "file": "slurm.conf",
            "line": None,
            "key": None,
            "message": "there is no slurm.conf",
        }
    topology = (setting(files, "TopologyPlugin") or "").lower()
    if topology in NEEDS_FILE and not {"topology.conf", "topology.yaml"} & files.keys():
        # slurmctld would wait for it for a minute, and answer nobody.
        place = locate(files, r"^\s*TopologyPlugin\s*=") or {}
        message = f"{topology} needs topology.yaml or topology.conf"
        return {"file": None, "line": None, "key": "TopologyPlugin", "message": message, **place}
    try:
        write(stage, files)
        parsed = run(
            *("scontrol", "show", "hostnames", "ok"),
            within=PARSE_TIME,
            conf=stage / "slurm.conf",
        )
        return None if parsed.ok else explain(parsed.said, files, stage)
    except FileNotFoundError:
        say("there is no scontrol here: the configuration goes unchecked to slurmctld")
        return None
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def check_keys(files: Files) -> Error | None:
    """What is wrong with slurm.jwks; slurmctld ends at once on one that it cannot read."""
    text = files.get(SLURM_JWKS)
    if text is None:
        return None
    try:
        entries = json.loads(text)["keys"]
        sizes = {each["kid"]: len(base64.b64decode(each["k"], validate=True)) for each in entries}
        signing = [each for each in entries if each.get("use") == "default"]
        good = len(sizes) == len(entries) and min(sizes.values()) >= 16 and len(signing) == 1
    except (AttributeError, KeyError, TypeError, ValueError):
        good = False
    message = "this is no set of keys of which one signs; the keys of before stay"
    return None if good else {"file": SLURM_JWKS, "line": None, "key": None, "message": message}


@functools.lru_cache(maxsize=1)
def slurm_version() -> str:
    """As in `slurm 26.05.5`; asking needs no configuration."""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        words = ["scontrol", "--version"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=5, check=False)
        return done.stdout.strip().rpartition(" ")[2]
    return ""


def slurmctld_answers() -> bool:
    return " is UP" in run("scontrol", "ping", within=10).said


# --- the report -------------------------------------------------------------------------------


@dataclass
class Report:
    """What the operator is told."""

    file: Path
    key: Path
    body: bytes = b"{}"

    def write(self, **said: object) -> None:
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.body = json.dumps({**said, "at": at}).encode()
        with contextlib.suppress(OSError):
            new = self.file.with_name(f".{self.file.name}.new")
            new.write_bytes(self.body)
            new.replace(self.file)

    def signed(self, nonce: str) -> tuple[bytes, str]:
        body = self.body
        key = self.key.read_bytes() if self.key.exists() else b""
        return body, hmac.new(key, nonce.encode() + body, hashlib.sha256).hexdigest()


def serve(report: Report, port: int) -> None:
    """Answer questions for the report from now on."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urllib.parse.urlsplit(self.path)
            if asked.path != "/report":
                self.send_error(404)
                return
            nonce = urllib.parse.parse_qs(asked.query).get("nonce", [""])[0]
            body, signature = report.signed(nonce)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Windlass-Signature", signature)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("0.0.0.0", port), Handler)  # noqa: S104
    threading.Thread(target=server.serve_forever, daemon=True).start()


# --- what is in force -------------------------------------------------------------------------


@dataclass
class Place:
    """The folders, and what is remembered on the state volume."""

    candidate: Path
    conf: Path
    state: Path | None

    def memory(self, files: Files) -> Path | None:
        where = self.state or setting(files, "StateSaveLocation")
        return Path(where) / MEMORY if where else None

    def last_good(self, files: Files) -> dict[str, bytes] | None:
        memory = self.memory(files)
        folder = memory / "last-good" if memory else None
        return read(folder.resolve()) if folder and folder.exists() else None

    def keep(self, files: Files) -> None:
        """Remember a configuration that slurmctld took."""
        conf, memory = conf_of(files), self.memory(files)
        if memory is None or self.last_good(files) == conf:
            return
        try:
            new = memory / f"good-{fingerprint(conf)[:16]}"
            write(new, conf)
            link = memory / "last-good.new"
            link.unlink(missing_ok=True)
            link.symlink_to(new.name)
            link.replace(memory / "last-good")
            (memory / "refused").unlink(missing_ok=True)
        except OSError as error:
            say(f"the last good configuration cannot be kept: {error}")
            return
        for old in memory.glob("good-*"):
            if old != new:
                shutil.rmtree(old, ignore_errors=True)

    def refuse(self, files: Files, error: Error) -> None:
        """Remember a configuration that slurmctld cannot live with."""
        memory = self.memory(files)
        if memory is not None:
            with contextlib.suppress(OSError):
                memory.mkdir(parents=True, exist_ok=True)
                said = {"candidate": fingerprint(conf_of(files)), "error": error}
                (memory / "refused").write_text(json.dumps(said))

    def refused(self, files: Files) -> Error | None:
        """Why slurmctld refused just this configuration before, if it did."""
        memory = self.memory(files)
        if memory is None or not (memory / "refused").exists():
            return None
        with contextlib.suppress(ValueError):
            said = json.loads((memory / "refused").read_text())
            if said["candidate"] == fingerprint(conf_of(files)):
                error: Error = said["error"]
                return error
        return None


def read_candidate(folder: Path) -> dict[str, bytes]:
    """The kubelet may take the files away while they are read; then there are newer ones."""
    for _ in range(20):
        with contextlib.suppress(FileNotFoundError):
            return read(folder)
        time.sleep(0.05)
    return read(folder)


def init(place: Place) -> None:
    """Fill slurmctld's folder with the candidate, or with what was good before."""
    files = read_candidate(place.candidate)
    place.conf.mkdir(parents=True, exist_ok=True)
    if bad_keys := check_keys(files):
        say(f"left out: {json.dumps(bad_keys)}")
        del files[SLURM_JWKS]
    error = check(files, place.conf / STAGE) or place.refused(files)
    good = place.last_good(files) if error else None
    if error:
        say(f"the configuration is not good: {json.dumps(error)}")
        say("slurmctld starts with the last good one" if good else "there is no other")
    write(place.conf, {**keys_of(files), **good} if good else files)


# --- following the candidate ------------------------------------------------------------------


@dataclass
class Errors:
    """slurmctld's last errors: those after a moment that was marked."""

    file: Path
    position: int = 0

    def mark(self) -> None:
        self.position = self.file.stat().st_size if self.file.exists() else 0

    def since(self) -> str:
        if not self.file.exists():
            return ""
        data = self.file.read_bytes()
        # It is cut off from time to time.
        return data[self.position if self.position <= len(data) else 0 :].decode(errors="replace")

    def fatal(self) -> str | None:
        lines = self.since().splitlines()
        ends = [number for number, line in enumerate(lines) if " fatal: " in f" {line}"]
        return "\n".join(lines[max(0, ends[-1] - 3) : ends[-1] + 1]) if ends else None

    def reason(self, otherwise: str) -> str:
        """Why slurmctld refused; the log takes a moment to come through."""
        deadline = time.monotonic() + REASON_TIME
        while self.fatal() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.fatal() or otherwise

    def silence_is_consent(self) -> bool:
        """Whether slurmctld, who did not answer in time, took the new configuration after all."""
        deadline = time.monotonic() + RECONFIGURE_TIME
        while self.fatal() is None and time.monotonic() < deadline:
            if slurmctld_answers():
                return self.fatal() is None
            time.sleep(POLL)
        return False


@dataclass
class Watcher:
    """Brings candidates into force, one after the other."""

    place: Place
    report: Report
    errors: Errors
    candidate: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)  # slurmctld's folder
    proven: bool = False  # slurmctld answered, and runs with these files
    untried: bool = False  # slurmctld was started with other files than the candidate
    before: dict[str, bytes] | None = None  # what it may run with, if files came while it was away
    error: Error | None = None

    def begin(self) -> None:
        self.take(read(self.place.conf))
        self.candidate = read_candidate(self.place.candidate)
        self.untried = self.candidate != self.files
        self.errors.mark()
        if self.untried:  # then `init` had a reason
            stage = self.place.conf / STAGE
            self.error = self.place.refused(self.candidate) or check(self.candidate, stage)
        self.tell()

    def tell(self) -> None:
        self.report.write(
            candidate=fingerprint(conf_of(self.candidate)),
            inForce=fingerprint(conf_of(self.files)) if self.proven else "",
            keys=fingerprint(keys_of(self.files)),
            ok=self.proven and self.candidate == self.files and self.error is None,
            error=self.error,
            slurm=slurm_version(),
        )

    def put(self, files: dict[str, bytes]) -> None:
        write(self.place.conf, files)
        self.take(files)

    def take(self, files: dict[str, bytes]) -> None:
        """Know the files of slurmctld's folder, and have them for our own commands."""
        write(self.place.conf / NEAR, near(files))
        self.files = files

    def prove(self) -> None:
        """See whether slurmctld came up with the files in its folder."""
        fatal = self.errors.fatal()
        if slurmctld_answers():
            self.proven, before, self.before = True, self.before, None
            if not self.untried:
                self.error = self.reconfigure(before) if before is not None else None
            self.settle()
        elif fatal is not None:
            self.errors.mark()
            self.fall_back(explain(fatal, self.files, self.place.conf))

    def fall_back(self, error: Error) -> None:
        """Offer the last good configuration to a slurmctld that does not start."""
        good = self.place.last_good(self.files)
        self.error = error
        if good is not None and good != conf_of(self.files):
            self.place.refuse(self.files, error)
            self.put({**keys_of(self.files), **good})
            self.untried, self.before = True, None
        self.settle()

    def settle(self) -> None:
        """Remember and report how things are."""
        if self.proven:
            self.place.keep(self.files)
        how = "in force" if self.proven else "waiting for slurmctld"
        why = f", not the candidate: {json.dumps(self.error)}" if self.error else ""
        say(f"{how}: {fingerprint(conf_of(self.files))}{why}")
        self.tell()

    def bring_into_force(self) -> None:
        """Read the candidate and do what it takes."""
        self.candidate = read_candidate(self.place.candidate)
        self.untried = False
        self.error = None if self.candidate == self.files else self.attempt()
        self.settle()

    def attempt(self) -> Error | None:
        bad_conf = check(self.candidate, self.place.conf / STAGE)
        bad_keys = check_keys(self.candidate)
        # Neither waits for somebody to mend the other.
        wanted = {
            **conf_of(self.files if bad_conf else self.candidate),
            **keys_of(self.files if bad_keys else self.candidate),
        }
        error, before = bad_conf or bad_keys, self.files
        if wanted == before:
            return error
        self.errors.mark()
        self.put(wanted)
        if self.proven:
            return self.reconfigure(before) or error
        self.before = self.before or before  # slurmctld may have read these already
        return error

    def reconfigure(self, before: dict[str, bytes]) -> Error | None:
        """Have slurmctld read the files; if it refuses, put back what was there before."""
        answer = run("scontrol", "reconfigure", within=RECONFIGURE_TIME)
        if answer.ok or (SILENT.search(answer.said) and self.errors.silence_is_consent()):
            return None
        if NOT_THERE.search(answer.said):
            self.proven, self.before = False, before
            return None
        error = explain(self.errors.reason(otherwise=answer.said), self.files, self.place.conf)
        self.place.refuse(self.files, error)
        self.put(before)
        return error


@dataclass
class Bell:
    """Waits that end when a signal comes."""

    woken: socket.socket
    hurried: bool = False
    stopped: bool = False

    def sleep(self, seconds: float) -> None:
        if select.select([self.woken], [], [], seconds)[0]:
            self.woken.recv(64)

    def hurry(self, *_: object) -> None:
        self.hurried = True

    def stop(self, *_: object) -> None:
        self.stopped = True


def hang_bell() -> Bell:
    woken, waker = socket.socketpair()
    waker.settimeout(0)
    bell = Bell(woken)
    signal.set_wakeup_fd(waker.detach())
    signal.signal(signal.SIGHUP, bell.hurry)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, bell.stop)
    return bell


def watch(watcher: Watcher, bell: Bell) -> None:
    seen = stamp(watcher.place.candidate)
    watcher.begin()
    while not bell.stopped:
        now = stamp(watcher.place.candidate)
        if not watcher.proven:
            watcher.prove()
        if now != seen or bell.hurried or (watcher.proven and watcher.untried):
            seen, bell.hurried = now, False
            watcher.bring_into_force()
        bell.sleep(POLL)


def say(text: str) -> None:
    print(f"reload: {text}", file=sys.stderr, flush=True)


def main(words: list[str]) -> int:
    def folder(name: str, otherwise: str) -> Path:
        return Path(os.environ.get(name) or otherwise)

    state = os.environ.get("STATE_DIR")
    place = Place(
        folder("CANDIDATE_DIR", "/mnt/slurm"),
        folder("CONF_DIR", "/etc/slurm"),
        Path(state) if state else None,
    )
    if words == ["init"]:
        init(place)
        return 0
    if words != ["watch"]:
        print(__doc__, file=sys.stderr)
        return 2
    bell = hang_bell()
    key = folder("JWT_KEY", str(place.conf / "jwt.key"))
    report = Report(folder("REPORT_FILE", "/run/slurmctld-report.json"), key)
    errors = Errors(folder("RECENT", "/var/log/slurm/slurmctld.log.recent"))
    port = int(os.environ.get("REPORT_PORT") or 6821)
    if port:
        serve(report, port)
    os.environ["SLURM_CONF"] = str(place.conf / NEAR / "slurm.conf")
    watch(Watcher(place, report, errors), bell)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
