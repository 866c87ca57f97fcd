"""Writes that are meant for one object, named by its uid, and not for the next of its name."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from windlass.kube.errors import Invalid, NotFound

UID: Final = "metadata.uid"


@contextmanager
def for_that_one() -> Iterator[None]:
    """Let a patch with a uid come to nothing where that object is gone: the watch will tell us.

    The API server takes another uid for an attempt to change it.
    """
    try:
        yield
    except NotFound:
        return
    except Invalid as error:
        if all(cause.field != UID for cause in error.causes):
            raise
