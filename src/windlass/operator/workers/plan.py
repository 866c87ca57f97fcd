"""What is to be done about a NodeSet.

No pod is removed in which a job may run. Nothing is drained here: a worker that is too many, or of
an old revision, goes when it is on no node yet, has ended, or when Slurm says that its node is
drained and idle. Until then it stays, and the status says so.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Final

from windlass.api import labels
from windlass.kube.kinds import (
    CONFIG_MAP,
    PERSISTENT_VOLUME_CLAIM,
    POD,
    POD_DISRUPTION_BUDGET,
    SERVICE,
)
from windlass.kube.objects import Pod
from windlass.operator.membership import Membership
from windlass.operator.plan import Action, Apply, Create, Delete, Plan, Tell
from windlass.operator.pods.refreshing import refreshed
from windlass.operator.workers import ssh
from windlass.operator.workers.budget import workers_budget
from windlass.operator.workers.decisions import BURST, Decisions, decide
from windlass.operator.workers.facts import unplaced
from windlass.operator.workers.mirrored import marks
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.pod import Mould, key_hash, mould, worker_pod
from windlass.operator.workers.refusing import Refusal, refusal
from windlass.operator.workers.resources import best_effort
from windlass.operator.workers.revision import revision
from windlass.operator.workers.service import workers_service
from windlass.operator.workers.status import next_available, status
from windlass.operator.workers.verdicts import BEST_EFFORT, Judged, faults, told, waiting
from windlass.operator.workers.volumes import claims
from windlass.values.reason import Reason

LOOK_AGAIN: Final = 60.0
MORE_AT_ONCE: Final = 1.0


def plan(observed: Observed, now: datetime) -> Plan:
    refused = refusal(observed)
    if refused is not None or observed.membership is None:
        judged = Judged(observed.node_set.status.node_set_hash, Decisions(), refused)
        said = tuple(_tell_refusal(observed, refused))
        actions = (*_marks(observed, now), *_shared(observed), *said)
        return Plan(actions, status(observed, judged, now), LOOK_AGAIN)
    return _serve(observed, observed.membership, now)


def _serve(observed: Observed, cluster: Membership, now: datetime) -> Plan:
    wanted = revision(observed.node_set, observed.sssd_conf)
    decided = decide(observed, wanted)
    shape = mould(observed, cluster, wanted)
    judged = Judged(wanted, decided, best_effort=best_effort(shape.spec))
    marked = _marks(observed, now)
    actions = (
        *marked,
        *_shared(observed),
        *_removals(decided),
        *_new_workers(shape, decided),
        *_new_keys(observed, cluster),
        *_tell(observed, judged),
    )
    more = decided.more or len(marked) == BURST
    again = MORE_AT_ONCE if more else next_available(observed, now)
    return Plan(actions, status(observed, judged, now), again)


def _marks(observed: Observed, now: datetime) -> tuple[Action, ...]:
    return tuple(islice(marks(observed, now), BURST))


def _shared(observed: Observed) -> Iterator[Action]:
    """What all NodeSets of the cluster have in common, and this one's sshd_config."""
    node_set = observed.node_set
    namespace, cluster = node_set.metadata.namespace, node_set.spec.controller_ref.name
    if observed.membership is not None:
        yield Apply(SERVICE, workers_service(namespace, cluster, observed.siblings))
        yield Apply(POD_DISRUPTION_BUDGET, workers_budget(namespace, cluster, observed.siblings))
    if node_set.spec.ssh.enabled:
        yield Apply(CONFIG_MAP, ssh.config_map(node_set))


def _new_workers(shape: Mould, decided: Decisions) -> Iterator[Action]:
    for worker in decided.make:
        for claim in claims(shape.node_set, worker):
            yield Create(PERSISTENT_VOLUME_CLAIM, claim)
        yield Create(POD, worker_pod(shape, worker))


def _new_keys(observed: Observed, cluster: Membership) -> Iterator[Action]:
    """slurmd reads its keys again when it is reconfigured: they must be there by then."""
    running = (pod for pod in observed.pods if pod.spec.node_name)
    return islice(refreshed(running, labels.SLURM_KEY_HASH, key_hash(cluster)), BURST)


def _removals(decided: Decisions) -> Iterator[Action]:
    ended = Reason("WorkerEnded", "its containers have ended; it is made anew")
    surplus = Reason("ScaleIn", "it is one too many and no job is in it")
    old = Reason("Update", "it is of an old revision and no job is in it")
    yield from _delete(decided.replace, ended)
    yield from _delete(decided.scale_in, surplus)
    yield from _delete(decided.update, old)


def _delete(pods: Iterable[Pod], reason: Reason) -> Iterator[Action]:
    for pod in pods:
        meta = pod.metadata
        # A pod that we saw on no node may be on one by now: it goes only if nothing has changed.
        seen = meta.resource_version if unplaced(pod) else ""
        yield Delete(POD, meta.key, meta.uid, reason, seen)


def _tell(observed: Observed, judged: Judged) -> Iterator[Action]:
    decided = judged.decided
    if decided.make:
        first, last = decided.make[0].pod, decided.make[-1].pod
        sentence = f"{len(decided.make)} workers are made, {first} to {last}"
        yield Tell(warning=False, reason=Reason("ScalingUp", sentence), action="ScaleUp")
    if decided.scale_in:
        sentence = f"{len(decided.scale_in)} workers are removed; no job is in them"
        yield Tell(warning=False, reason=Reason("ScalingDown", sentence), action="ScaleDown")
    wait = waiting(observed, decided)
    if wait is not None and not told(observed.node_set, wait):
        yield Tell(warning=False, reason=wait, action="Wait")
    # Only the first is remembered by a condition, so only that is told.
    fault = next(faults(observed, decided), None)
    if fault is not None and not told(observed.node_set, fault):
        yield Tell(warning=True, reason=fault, action="Sync")
    new = observed.node_set.status.node_set_hash != judged.revision
    if judged.best_effort and new and observed.node_set.spec.replicas:
        yield Tell(warning=True, reason=BEST_EFFORT, action="Sync")


def _tell_refusal(observed: Observed, refused: Refusal | None) -> Iterator[Action]:
    """Once; events keep the words of Slinky."""
    if refused is None or refused.passes or told(observed.node_set, refused.reason):
        return
    reason = refused.reason
    if reason.code in ("ControllerMissing", "ControllerElsewhere"):
        reason = Reason("ControllerRefFailed", reason.sentence)
    yield Tell(warning=True, reason=reason, action="Sync")
