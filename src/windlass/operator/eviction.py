"""Whoever asks for the eviction of a worker with jobs is refused by the PodDisruptionBudget; that
he asked is noted on the pod, so that its node drains and he succeeds when the jobs have ended.

Every request passes here: the budget decides. An Eviction does not show the labels of its pod, so
the API server cannot choose for us and we are asked about all pods.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from windlass.api import labels
from windlass.kube import kinds, requests
from windlass.kube.admission import Allowed, Decision, Handler, Review
from windlass.kube.errors import KubeError
from windlass.kube.meta import Meta
from windlass.kube.requests import Sends
from windlass.kube.wire import Anything
from windlass.operator.namesakes import for_that_one
from windlass.values.key import Key
from windlass.values.moments import moment, written

PATH: Final = "/validate--v1-eviction"
OFTEN: Final = timedelta(minutes=1)
"""Who asks every few seconds is noted once in this time."""
WITHIN: Final = 2.0
"""Seconds; the request waits for us."""

log = logging.getLogger(__name__)


def handler(client: Sends, now: Callable[[], datetime]) -> Handler:
    async def evict(review: Review) -> Decision:
        if not _is_trial(review):
            try:
                async with asyncio.timeout(WITHIN):
                    await _note(client, Key(review.namespace, review.name), now())
            except (KubeError, TimeoutError) as error:
                log.warning("eviction of %s/%s: %r", review.namespace, review.name, error)
        return Allowed()

    return evict


def _is_trial(review: Review) -> bool:
    options: dict[str, Any] = (review.new or {}).get("deleteOptions") or {}
    return review.dry_run or bool(options.get("dryRun"))


async def _note(client: Sends, key: Key, now: datetime) -> None:
    with for_that_one():
        found = (await client.send(requests.get_metadata(kinds.POD, key))).metadata
        if _concerns(found, now):
            noted = {"annotations": {labels.EVICTION_ASKED: written(now)}, "uid": found.uid}
            patch = requests.merge_patch(kinds.POD, key, {"metadata": noted}, Anything)
            await client.send(patch)


def _concerns(pod: Meta, now: datetime) -> bool:
    given = pod.labels or {}
    protected = given.get(labels.NAME) == "slurmd" and given.get(labels.POD_PROTECT) == "true"
    asked = moment((pod.annotations or {}).get(labels.EVICTION_ASKED, ""))
    return protected and pod.deletion_timestamp is None and (asked is None or now - asked > OFTEN)
