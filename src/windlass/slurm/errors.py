"""What can go wrong in talking to Slurm: one class for each decision the caller can take.

    SlurmError
    ├── Absent         there is no such thing       the work on it is done, or not begun
    ├── Refused        Slurm said no                tell the user; the same call fails again
    │   └── Unsupported    this server cannot       use another way, or an older feature
    ├── Unauthorized   not you                      fetch another token, or ask an administrator
    ├── Busy           not now                      the same call later
    └── Unavailable    nobody answered              retry with backoff; nothing is known meanwhile

Which class an error belongs to is decided here from Slurm's numbers and the HTTP status, never from
its words: they change between releases.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Final


class Errno(IntEnum):
    """The numbers of slurm_errno.h that a decision depends on."""

    UNSPECIFIED = -1
    EPERM = 1
    EPIPE = 32
    ECONNREFUSED = 111
    SLURM_COMMUNICATIONS_CONNECTION_ERROR = 1001
    SLURM_PROTOCOL_AUTHENTICATION_ERROR = 1007
    SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR = 1800
    SLURMCTLD_COMMUNICATIONS_BACKOFF = 1804
    ESLURM_INVALID_PARTITION_NAME = 2000
    ESLURM_ACCESS_DENIED = 2002
    ESLURM_MAX_JOB_COUNT = 2007
    ESLURM_USER_ID_MISSING = 2010
    ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE = 2015
    ESLURM_NODES_BUSY = 2016
    ESLURM_INVALID_JOB_ID = 2017
    ESLURM_INVALID_NODE_NAME = 2018
    ESLURM_TRANSITION_STATE_NO_UPDATE = 2020
    ESLURM_ALREADY_DONE = 2021
    ESLURM_JOB_PENDING = 2024
    ESLURM_IN_STANDBY_MODE = 2027
    ESLURM_INVALID_NODE_STATE = 2028
    ESLURM_INVALID_FEATURE = 2029
    ESLURM_BATCH_ONLY = 2039
    ESLURM_INVALID_ACCOUNT = 2045
    ESLURM_INVALID_PARENT_ACCOUNT = 2046
    ESLURM_INVALID_LICENSES = 2048
    ESLURM_RESERVATION_ACCESS = 2052
    ESLURM_RESERVATION_INVALID = 2053
    ESLURM_RESERVATION_BUSY = 2055
    ESLURM_PROLOG_RUNNING = 2061
    ESLURM_INVALID_QOS = 2066
    ESLURM_INVALID_GRES = 2072
    ESLURM_JOB_NOT_PENDING = 2073
    ESLURM_PARTITION_IN_USE = 2075
    ESLURM_JOB_NOT_RUNNING = 2085
    ESLURM_REBOOT_IN_PROGRESS = 2120
    ESLURM_IN_STANDBY_USE_BACKUP = 2131
    ESLURM_USER_ID_UNKNOWN = 2166
    ESLURM_NODE_ALREADY_EXISTS = 2168
    ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE = 2178
    ESLURM_INVALID_NODE_STATE_TRANSITION = 2180
    ESLURM_INVALID_EXTERNAL_JOB = 2189
    ESLURM_DB_CONNECTION = 7000
    ESLURM_JOBS_RUNNING_ON_ASSOC = 7001
    ESLURM_DB_CONNECTION_INVALID = 7008
    ESLURM_NO_REMOVE_DEFAULT_ACCOUNT = 7009
    ESLURM_INVALID_CLUSTER_NAME = 7104
    ESLURM_REST_INVALID_QUERY = 9000
    ESLURM_REST_EMPTY_RESULT = 9003
    ESLURM_REST_AUTH_FAIL = 9008
    ESLURM_DATA_CONV_FAILED = 9202
    ESLURM_DATA_FLAGS_INVALID = 9207
    ESLURM_DATA_PARSE_BAD_INPUT = 9216


def symbol(number: int) -> str:
    """Slurm's name of an error number, or the number itself where we have no use for its name."""
    try:
        return Errno(number).name
    except ValueError:
        return f"ERRNO_{number}"


class SlurmError(Exception):
    """Slurm did not do what it was asked; `sentence` is for people."""

    def __init__(self, sentence: str, errno: int = 0) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.errno = errno

    @property
    def name(self) -> str:
        """Slurm's own name of the error, such as ESLURM_NODES_BUSY."""
        return symbol(self.errno)


class Absent(SlurmError):
    """No such object. The caller treats its work on it as done."""


class Refused(SlurmError):
    """Slurm said no. The caller tells the user and does not send the same again."""


class Unsupported(Refused):
    """This server's REST API has no such call or field. The caller goes another way."""


class Unauthorized(SlurmError):
    """The token is missing, wrong or expired, or its user may not do this."""


class Busy(SlurmError):
    """Not now: in use, in transition, or too many requests. The caller sends the same later."""


class Unavailable(SlurmError):
    """Nobody answered. The caller retries with backoff and assumes nothing meanwhile."""

    def __init__(self, sentence: str, errno: int = 0, *, sent: bool = False) -> None:
        super().__init__(sentence, errno)
        self.sent = sent
        """Whether Slurm may have carried the call out all the same."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One entry of the list of errors in an answer."""

    errno: int
    error: str
    description: str = ""

    @property
    def sentence(self) -> str:
        # Slurm repeats itself: without an errno its `error` says "No error".
        told = [self.description, self.error if self.errno else ""]
        return ": ".join(text for text in told if text) or f"error {self.errno}"


_UNREACHABLE: Final = frozenset(
    {
        # Linux's numbers for a broken connection: slurmctld died in the middle of the call.
        Errno.EPIPE,
        *range(100, 114),
        *range(1000, 1005),  # SLURM_COMMUNICATIONS_*
        *range(1013, 1026),  # the newer ones of them, and SLURM_SHUTTING_DOWN
        *range(1800, 1806),  # SLURMCTLD_COMMUNICATIONS_*
        *range(5003, 5006),  # sockets
        Errno.ESLURM_IN_STANDBY_MODE,
        Errno.ESLURM_IN_STANDBY_USE_BACKUP,
        Errno.ESLURM_DB_CONNECTION,
        Errno.ESLURM_DB_CONNECTION_INVALID,
    }
)

_UNHEARD: Final = frozenset(
    {
        Errno.ECONNREFUSED,
        Errno.SLURM_COMMUNICATIONS_CONNECTION_ERROR,
        Errno.SLURMCTLD_COMMUNICATIONS_CONNECTION_ERROR,
        Errno.ESLURM_IN_STANDBY_MODE,
        Errno.ESLURM_IN_STANDBY_USE_BACKUP,
    }
)
"""With these slurmctld cannot have carried the call out."""

_NOT_YOU: Final = frozenset(
    {
        Errno.SLURM_PROTOCOL_AUTHENTICATION_ERROR,
        *range(6000, 6012),  # ESLURM_AUTH_*
        Errno.ESLURM_REST_AUTH_FAIL,
        Errno.ESLURM_ACCESS_DENIED,
        # Slurm says "Invalid user id" to a user that may not do this.
        Errno.ESLURM_USER_ID_MISSING,
    }
)

_NOT_NOW: Final = frozenset(
    {
        Errno.SLURMCTLD_COMMUNICATIONS_BACKOFF,
        Errno.ESLURM_MAX_JOB_COUNT,
        Errno.ESLURM_NODES_BUSY,
        Errno.ESLURM_TRANSITION_STATE_NO_UPDATE,
        Errno.ESLURM_RESERVATION_BUSY,
        Errno.ESLURM_PROLOG_RUNNING,
        Errno.ESLURM_PARTITION_IN_USE,
        Errno.ESLURM_REBOOT_IN_PROGRESS,
        Errno.ESLURM_JOBS_RUNNING_ON_ASSOC,
    }
)


def error_for(
    fault: Fault, *, absent: frozenset[int], safe: bool, silence: frozenset[int] = frozenset()
) -> SlurmError:
    """The error that this fault is; `absent` and `silence` are this call's own numbers for that."""
    number, sentence = fault.errno, fault.sentence
    if number in absent:
        return Absent(sentence, number)
    if number in _NOT_NOW:
        return Busy(sentence, number)
    # A read that failed without a number could not reach slurmctld (job and jobs/state do that).
    if number in _UNREACHABLE | silence or (safe and number == Errno.UNSPECIFIED):
        return Unavailable(sentence, number, sent=number not in _UNHEARD)
    if number in _NOT_YOU:
        return Unauthorized(sentence, number)
    return Refused(sentence, number)


_BY_STATUS: Final[dict[int, type[SlurmError]]] = {
    401: Unauthorized,
    403: Unauthorized,
    404: Unsupported,
    405: Unsupported,
    429: Busy,
    511: Unauthorized,
}
_GAVE_UP: Final = frozenset({408, 500, 502, 503, 504})


def error_of_status(status: int, text: str) -> SlurmError:
    """The error of an answer that lists none: slurmrestd itself, or a proxy before it, said no."""
    sentence = f"HTTP {status}: {text.strip()[:300]}"
    if status in _GAVE_UP:  # after it had passed the request on, for all we know
        return Unavailable(sentence, sent=True)
    return _BY_STATUS.get(status, Refused)(sentence)
