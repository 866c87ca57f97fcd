"""Ends external jobs with the exit code of what ran for them; Slurm's REST API can only cancel.

    python3 agent.py HOST:PORT

`POST /windlass/v1/ends` takes up to 1,000 ends and answers for each in the same order:

    {"ends": [{"job": 7}, {"job": 8, "exit_code": 3}, {"job": 9, "signal": 9},
              {"job": 10, "out_of_memory": true}]}
    {"ends": [{"job": 7}, {"job": 8, "errno": 2021, "error": "Job/step already completing or
              completed"}, {"job": 9}, {"job": 10}]}

`GET /healthz` answers `{"slurm": "26.05"}`, or why nothing can be ended here.

It has no key and no power of its own: like slurmrestd, it hands slurmctld the token of whoever
asks (X-SLURM-USER-TOKEN), and slurmctld judges the token and what its user may do. A job that is
not external is never ended, whoever asks.

The work is libslurm's (LIBSLURM: its file, if it is not where packages put it). Its functions
change with releases: one that is not known here is not called, and every request is told so.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

LIBRARIES = (
    "usr/lib/*/slurm*/libslurmfull.so",
    "usr/lib*/slurm*/libslurmfull.so",
    "usr/local/lib*/slurm/libslurmfull.so",
    "opt/slurm/lib*/slurm/libslurmfull.so",
)
RELEASES = {45: "26.05"}  # by the number of libslurm's interface
THREADS = 8
PATIENCE = 20.0  # seconds for a client to say more
MOST_ENDS = 1000
MOST_BYTES = 1 << 20

NO_VAL = 0xFFFFFFFE
SHOW_ALL = 1
EXTERNAL_JOB = 1 << 24
SIG_OOM = 253
AUTHENTICATION = 1007
SILENCE = (*range(100, 114), *range(1000, 1005), *range(1013, 1026), *range(1800, 1806))
NOT_EXTERNAL = 2189


class Unusable(Exception):
    """Nothing can be ended here."""


class Refused(Exception):
    """A request that gets no answer but this."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Failed(Exception):
    """Slurm did not end a job."""

    def __init__(self, errno: int, sentence: str) -> None:
        super().__init__(sentence)
        self.errno = errno


# --- libslurm -----------------------------------------------------------------------------------


class StepId(ctypes.Structure):
    _fields_ = (
        ("sluid", ctypes.c_uint64),
        ("job", ctypes.c_uint32),
        ("step_het_comp", ctypes.c_uint32),
        ("step", ctypes.c_uint32),
    )


class Jobs(ctypes.Structure):
    _fields_ = (
        ("last_backfill", ctypes.c_long),
        ("last_update", ctypes.c_long),
        ("count", ctypes.c_uint32),
        ("first", ctypes.c_void_p),
    )


class Job(ctypes.Structure):
    """As far as it is read."""

    _fields_ = (
        ("account", ctypes.c_char_p),
        ("accrue_time", ctypes.c_long),
        ("admin_comment", ctypes.c_char_p),
        ("alloc_node", ctypes.c_char_p),
        ("alloc_sid", ctypes.c_uint32),
        ("array_bitmap", ctypes.c_void_p),
        ("array_job_id", ctypes.c_uint32),
        ("array_task_id", ctypes.c_uint32),
        ("array_max_tasks", ctypes.c_uint32),
        ("array_task_str", ctypes.c_char_p),
        ("assoc_id", ctypes.c_uint32),
        ("batch_features", ctypes.c_char_p),
        ("batch_flag", ctypes.c_uint16),
        ("batch_host", ctypes.c_char_p),
        ("bitflags", ctypes.c_uint64),
    )


class Slurm:
    """Of release 26.05. All threads may use it: what a token is given for is the thread's own."""

    def __init__(self, library: Any) -> None:
        self.library = library
        library.slurm_strerror.restype = ctypes.c_char_p
        library.slurm_load_job.argtypes = (
            ctypes.POINTER(ctypes.POINTER(Jobs)),
            StepId,
            ctypes.c_uint16,
        )
        library.slurm_complete_job.argtypes = (ctypes.POINTER(StepId), ctypes.c_uint32)
        library.slurm_free_job_info_msg.argtypes = (ctypes.POINTER(Jobs),)
        library.auth_g_thread_config.argtypes = (ctypes.c_char_p, ctypes.c_char_p)
        os.environ["SLURM_JWT"] = "daemon"  # tokens, and none of our own
        library.slurm_init(None)

    def end(self, job: int, status: int, token: bytes) -> None:
        """With a status as wait() has it; raises Failed."""
        self.checked(self.library.auth_g_thread_config(token, None))
        try:
            at = StepId(0, job, NO_VAL, NO_VAL)
            if not self.is_external(at):
                raise Failed(NOT_EXTERNAL, f"job {job} is no external job: it is not ended here")
            self.checked(self.library.slurm_complete_job(ctypes.byref(at), status))
        finally:
            self.library.auth_g_thread_clear()

    def is_external(self, at: StepId) -> bool:
        found = ctypes.POINTER(Jobs)()
        self.checked(self.library.slurm_load_job(ctypes.byref(found), at, SHOW_ALL))
        try:
            jobs = found.contents
            if jobs.count != 1:  # arrays and het jobs are of several
                return False
            return bool(Job.from_address(jobs.first).bitflags & EXTERNAL_JOB)
        finally:
            self.library.slurm_free_job_info_msg(found)

    def checked(self, result: int) -> None:
        if result:
            number = ctypes.get_errno()
            raise Failed(number, self.library.slurm_strerror(number).decode(errors="replace"))


def load() -> Slurm:
    """Raises Unusable. With a bad slurm.conf libslurm ends the process, and says why."""
    file = os.environ.get("LIBSLURM") or find()
    try:
        # Its plugins look for its functions among those that all may see.
        library = ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL, use_errno=True)
        interface = library.slurm_api_version() >> 16
    except (OSError, AttributeError) as error:
        raise Unusable(f"{file} is not usable: {error}") from error
    if interface not in RELEASES:
        known = ", ".join(f"{number} (Slurm {name})" for number, name in RELEASES.items())
        raise Unusable(f"{file} has interface {interface}, and only {known} is known here")
    return Slurm(library)


def find() -> str:
    for file in (file for each in LIBRARIES for file in sorted(Path("/").glob(each))):
        return str(file)
    raise Unusable("there is no libslurmfull.so here; LIBSLURM can say where it is")


# --- what is asked ------------------------------------------------------------------------------


def read(body: bytes) -> list[tuple[int, int]]:
    """Jobs, and the status of each as wait() has it."""
    try:
        ends = json.loads(body)["ends"]
        found = [(number(end, "job", 1, NO_VAL - 1), status(end)) for end in ends]
    except (ValueError, TypeError, KeyError) as error:
        raise Refused(HTTPStatus.BAD_REQUEST, f"this makes no sense: {error!r}") from error
    if len(found) > MOST_ENDS:
        raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {MOST_ENDS} ends")
    return found


def status(end: dict[str, Any]) -> int:
    how = set(end) - {"job"}
    if not how:
        return 0
    if how == {"exit_code"}:
        return number(end, "exit_code", 0, 255) << 8
    if how == {"signal"}:
        return number(end, "signal", 1, 64)
    if how == {"out_of_memory"} and end["out_of_memory"] is True:
        return SIG_OOM
    raise ValueError(f"one of exit_code, signal and out_of_memory: true, not {sorted(how)}")


def number(end: dict[str, Any], name: str, least: int, most: int) -> int:
    value = end[name]
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{name} is a number from {least} to {most}, not {value!r}")
    return value


def ended(slurm: Slurm, ends: list[tuple[int, int]], token: bytes) -> list[dict[str, Any]]:
    """A slurmctld that does not answer is asked once, and so it is by whoever has no good token."""
    answers = []
    silence: Failed | None = None
    for job, how in ends:
        answer: dict[str, Any] = {"job": job}
        try:
            if silence:
                raise silence
            slurm.end(job, how, token)
        except Failed as error:
            if error.errno == AUTHENTICATION:
                raise Refused(HTTPStatus.UNAUTHORIZED, f"slurmctld says: {error}") from error
            if error.errno in SILENCE:
                silence = error
            answer.update(errno=error.errno, error=str(error))
        say(f"job {job}: {answer.get('error') or f'ended with status {how >> 8}:{how & 255}'}")
        answers.append(answer)
    return answers


# --- HTTP ---------------------------------------------------------------------------------------


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    server: Server

    def do_GET(self) -> None:
        self.answered(self.health)

    def do_POST(self) -> None:
        self.answered(self.ends)

    def answered(self, work: Any) -> None:
        try:
            found = work()
        except Refused as error:
            self.send(error.status, {"error": str(error)})
        else:
            self.send(HTTPStatus.OK, found)

    def health(self) -> dict[str, str]:
        if self.path != "/healthz":
            raise Refused(HTTPStatus.NOT_FOUND, f"there is nothing at {self.path}")
        self.server.slurm()
        return {"slurm": ", ".join(RELEASES.values())}

    def ends(self) -> dict[str, Any]:
        if self.path != "/windlass/v1/ends":
            raise Refused(HTTPStatus.NOT_FOUND, f"there is nothing at {self.path}")
        token = self.headers.get("X-SLURM-USER-TOKEN", "").strip()
        if not token:
            raise Refused(HTTPStatus.UNAUTHORIZED, "there is no token in X-SLURM-USER-TOKEN")
        slurm, ends = self.server.slurm(), read(self.body())
        return {"ends": ended(slurm, ends, token.encode("latin-1"))}

    def body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit():
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "there is no Content-Length")
        if int(length) > MOST_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {MOST_BYTES} bytes")
        return self.rfile.read(int(length))

    def send(self, code: HTTPStatus, found: dict[str, Any]) -> None:
        content = json.dumps(found).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")  # whoever is silent holds none of our threads
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """What is done is told where it is done."""


class Server(HTTPServer):
    """Answers as many at a time as there are threads; the others wait."""

    request_queue_size = 128

    def __init__(self, at: tuple[str, int], pool: ThreadPoolExecutor) -> None:
        super().__init__(at, Handler)
        self.pool = pool
        self.found: Slurm | None = None
        self.fault = ""

    def find_slurm(self) -> None:
        try:
            self.found = load()
        except Unusable as error:
            self.fault = str(error)
            say(f"no job can be ended: {error}")

    def slurm(self) -> Slurm:
        if self.found is None:
            raise Refused(HTTPStatus.NOT_IMPLEMENTED, self.fault)
        return self.found

    def process_request(self, request: Any, client_address: Any) -> None:
        self.pool.submit(self.work, request, client_address)

    def work(self, request: Any, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError as error:
            say(f"{client_address[0]} broke off: {error}")
        finally:
            self.shutdown_request(request)


def say(text: str) -> None:
    print(f"agent: {text}", file=sys.stderr, flush=True)


def stop(*_: object) -> None:
    raise SystemExit(0)


def main(words: list[str]) -> None:
    if len(words) != 1:
        raise SystemExit(__doc__)
    host, _, port = words[0].rpartition(":")
    with ThreadPoolExecutor(THREADS) as pool, Server((host, int(port)), pool) as server:
        server.find_slurm()
        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        say(f"listening on {words[0]}")
        server.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1:])
