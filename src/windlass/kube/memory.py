"""How the C library keeps memory: a setting of the whole process, for mains to make once."""

import ctypes
from typing import Final

_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_BUFFERS: Final = 32 << 20  # the most that glibc allows
_KEPT: Final = 128 << 20


def keep_buffers() -> bool:
    """Keep freed buffers instead of handing them back to the kernel; False where that is unknown.

    A list comes in pages of 4 MB. By default glibc returns each page's buffer to the kernel and
    faults it in again for the next: tens of thousands of page faults for 5,000 pods.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
    if mallopt is None:
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _BUFFERS)) and bool(mallopt(_TRIM_THRESHOLD, _KEPT))
