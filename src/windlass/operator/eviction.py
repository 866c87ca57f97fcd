"""Evictions of workers: a worker goes when its node is drained in Slurm and no job is there.

One with jobs is kept by the PodDisruptionBudget. One without may get a job in the moment in which
it is evicted, so it is refused here until its node is drained. Either way it is noted on the pod
that somebody asked; the operator drains the node, and whoever asks again succeeds in the end.

An Eviction does not show the labels of its pod, so the API server cannot choose for us and we are
asked about all pods. Where we cannot find out, the budget decides alone.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from windlass.api import labels
from windlass.api.node_set import NodeSet
from windlass.kube import kinds, requests
from windlass.kube.admission import Allowed, Decision, Denied, Handler, Review
from windlass.kube.errors import KubeError, NotFound
from windlass.kube.meta import Meta
from windlass.kube.objects import Pod
from windlass.kube.requests import Sends
from windlass.kube.wire import Anything
from windlass.operator.namesakes import for_that_one
from windlass.operator.workers.phases.show import PREFIX
from windlass.values.key import Key
from windlass.values.moments import moment, written

PATH: Final = "/validate--v1-eviction"
OFTEN: Final = timedelta(minutes=1)
"""Who asks every few seconds is noted once in this time."""
WITHIN: Final = 2.0
"""Seconds; the request waits for us."""

BUSY: Final = frozenset({"Allocated", "Completing", "Mixed"})

log = logging.getLogger(__name__)


def handler(client: Sends, now: Callable[[], datetime]) -> Handler:
    async def evict(review: Review) -> Decision:
        try:
            async with asyncio.timeout(WITHIN):
                return await _judge(client, review, now())
        except NotFound:
            return Allowed()
        except (KubeError, TimeoutError) as error:
            log.warning("eviction of %s/%s: %r", review.namespace, review.name, error)
            return Allowed()

    return evict


async def _judge(client: Sends, review: Review, now: datetime) -> Decision:
    key = Key(review.namespace, review.name)
    pod = await client.send(requests.get(kinds.POD, key, Pod))
    if not _is_worker(pod) or pod.metadata.deletion_timestamp is not None:
        return Allowed()
    busy = (pod.metadata.labels or {}).get(labels.POD_PROTECT) == "true"
    takes_jobs = not busy and _takes_jobs(pod) and await _is_protected(client, pod)
    if (busy or takes_jobs) and not _is_trial(review):
        await _note(client, pod.metadata, now)
    if not takes_jobs:
        return Allowed()
    sentence = "its Slurm node is drained first, so that no job is lost; ask again in a moment"
    return Denied(f"worker {review.name}: {sentence}", later=True)


def _is_worker(pod: Pod) -> bool:
    return (pod.metadata.labels or {}).get(labels.NAME) == "slurmd"


def _takes_jobs(pod: Pod) -> bool:
    """Whether Slurm knows it, and has jobs there or may start some, as far as the pod shows."""
    shown = {
        each.type.removeprefix(PREFIX)
        for each in pod.status.conditions or ()
        if each.type.startswith(PREFIX) and each.status == "True"
    }
    closed = bool(shown & {"Drain", "Down"}) and not shown & BUSY
    return bool(shown) and not closed


async def _is_protected(client: Sends, pod: Pod) -> bool:
    """Whether its NodeSet wants it protected at all."""
    owner = pod.metadata.controller
    if owner is None:
        return False
    key = Key(pod.metadata.namespace, owner.name)
    try:
        found = await client.send(requests.get(kinds.NODE_SET, key, NodeSet))
    except NotFound:
        return False
    return found.spec.workload_disruption_protection


def _is_trial(review: Review) -> bool:
    options: dict[str, Any] = (review.new or {}).get("deleteOptions") or {}
    return review.dry_run or bool(options.get("dryRun"))


async def _note(client: Sends, pod: Meta, now: datetime) -> None:
    asked = moment((pod.annotations or {}).get(labels.EVICTION_ASKED, ""))
    if asked is not None and now - asked <= OFTEN:
        return
    noted = {"annotations": {labels.EVICTION_ASKED: written(now)}, "uid": pod.uid}
    with for_that_one():
        patch = requests.merge_patch(kinds.POD, pod.key, {"metadata": noted}, Anything)
        await client.send(patch)
