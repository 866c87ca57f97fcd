"""What must never happen to bridged pods, whoever dies or is silent."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from tests.sim.bridge import holding
from tests.sim.bridge.kubelets import Kubelets
from tests.sim.bridge.objects import RANK, ended, host, kept, label, leaving, lives
from tests.sim.judge import Violated
from tests.sim.transcript import Transcript
from windlass.bridge import marker, words
from windlass.bridge.node_plan import COMMENT
from windlass.bridge.phases.gone import BY_US
from windlass.kube import kinds
from windlass.kube.requests import Request
from windlass.slurm.transport import Message
from windlass.testing.fake_allocation import FakeJob, Held
from windlass.testing.fake_kube import FakeKube
from windlass.testing.fake_slurm import FakeSlurm
from windlass.testing.virtual import clock
from windlass.values.hostlist import expand

Json = dict[str, Any]

NOTICED: Final = 2.5
"""After so many seconds of silence a bridge knows that Slurm does not answer."""
FRESH: Final = 3.0
"""A job that ended less than so many seconds ago may still be taken for a running one: Slurm is
asked again after half of that, and counts whole seconds."""
RACE: Final = 2.0
"""What an administrator said of a node may be overtaken for so long."""
UNHEARD: Final = 30.0
"""For so many seconds a bridge may not have heard that devices went away."""
MOST_WRITES: Final = 1500
ALIVE: Final = (["PENDING"], ["RUNNING"])


@dataclass
class Ground:
    """One cluster, as the judge sees it."""

    name: str
    kube: FakeKube
    kubelets: Kubelets
    given: dict[str, tuple[int, Held]] = field(default_factory=dict)
    """By the uid of a bound pod, its job and what that had of the node."""
    shrunk: dict[str, float] = field(default_factory=dict)
    """By node, when devices of it went away."""
    overtaken: set[str] = field(default_factory=set)
    """The uids of pods that were bound before that was heard of: kubelet refuses them."""

    @property
    def pods(self) -> dict[str, Json]:
        """By uid."""
        return {pod["metadata"]["uid"]: pod for _, pod in self.kube.all(kinds.POD)}

    def slurm_name(self, node: str) -> str:
        for key, found in self.kube.all(kinds.NODE):
            if key.name == node:
                return label(found, words.NODE_NAME) or node
        return node

    def has(self, node: str) -> bool:
        return any(key.name == node for key, _ in self.kube.all(kinds.NODE))

    def gives(self, slurm_name: str) -> bool:
        """Whether a node of that name is to be Slurm's."""
        return any(
            self.slurm_name(key.name) == slurm_name
            and words.EXTERNAL_NODE in (node["metadata"].get("labels") or {})
            for key, node in self.kube.all(kinds.NODE)
        )

    def runs(self, pod: Json) -> bool:
        """Whether its containers do, on a node that is heard of."""
        life = self.kubelets.lives.get(pod["metadata"]["uid"])
        return life is not None and life.runs and life.node not in self.kubelets.lost

    def refused(self) -> set[str]:
        """The uids of those that will not run where they are bound."""
        lives = self.kubelets.lives
        return {uid for uid in self.overtaken if uid not in lives or not lives[uid].runs}


@dataclass
class Judge:
    slurm: FakeSlurm
    transcript: Transcript
    grounds: dict[str, Ground] = field(default_factory=dict)
    marks: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By node, the reason of an administrator's drain, and since when."""
    silent_since: float | None = None
    writes: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    ranks: dict[int, dict[int, int]] = field(default_factory=dict)
    """By job: on which of its nodes which rank is."""

    def blame(self, what: str) -> None:
        self.found.append(what)
        self.transcript.say("JUDGE", what)

    def conclude(self) -> None:
        if len(self.writes) > MOST_WRITES:
            self.blame(f"{len(self.writes)} writes are too many")
        if self.found:
            raise Violated("; ".join(self.found))

    def look(self, who: str) -> None:
        """No node and no device is used twice."""
        for ground in self.grounds.values():
            crowds = holding.wrong(ground.kube, ground.given, ground.refused())
            for wrong in chain(crowds, holding.claimed(ground.kube)):
                self.blame(f"{who}: {ground.name}: {wrong}")

    def silent(self) -> bool:
        return self.silent_since is not None and clock() > self.silent_since + NOTICED

    def running(self, number: str) -> FakeJob | None:
        job = self.slurm.cluster.jobs.get(int(number)) if number else None
        return job if job is not None and job.job_state == ["RUNNING"] else None

    def lately(self, number: str) -> bool:
        """Whether a job ended so short a while ago that it may not be known yet."""
        job = self.slurm.cluster.jobs.get(int(number)) if number else None
        patience = FRESH if self.silent_since is None else FRESH + NOTICED
        now = self.slurm.cluster.now()
        return job is not None and now - job.end_time.number <= patience + 1


@dataclass(frozen=True)
class Eye:
    """Looks at the writes of one cluster's bridges."""

    judge: Judge
    ground: Ground

    def blame(self, what: str) -> None:
        self.judge.blame(what)

    # --- Kubernetes ----------------------------------------------------------------------------

    @contextmanager
    def over(self, who: str, request: Request[Any], *, late: bool = False) -> Iterator[None]:
        if request.name[1] in ("Lease", "Event"):
            yield
            return
        before = self.ground.pods
        yield
        self.judge.writes.append(f"{who} {request.method} {request.path}")
        self.judge.transcript.say(
            who, f"{' '.join(request.name)} {request.path.split('/pods/')[-1]}"
        )
        after = self.ground.pods
        for uid, pod in before.items():
            self._changed(who, pod, after.get(uid), late=late)
            if request.name == ("delete", "Pod") and not late:
                self._deleted(who, pod, after.get(uid))
        self.judge.look(who)

    def _changed(self, who: str, old: Json, new: Json | None, *, late: bool) -> None:
        name = old["metadata"]["name"]
        if new is not None and host(new) and not host(old):
            self._bound(who, new, late=late)
        if kept(old) and not (new is not None and kept(new)) and self.ground.runs(old):
            self.blame(f"{who} let go of {name}, which still runs")

    def _bound(self, who: str, pod: Json, *, late: bool) -> None:
        name, node, number = pod["metadata"]["name"], host(pod), label(pod, words.JOB_ID)
        job = self.judge.running(number)
        if job is None:
            if not late and not self.judge.lately(number):
                self.blame(f"{who} bound {name}, and job {number or 'none'} does not run")
            return
        held = job.held.get(self.ground.slurm_name(node))
        if not self.ground.has(node):
            return  # it vanished a moment ago, and the pod goes with it
        if held is None:
            self.blame(f"{who} bound {name} to {node}, which job {number} does not have")
            return
        uid = pod["metadata"]["uid"]
        self.ground.given[uid] = job.job_id, held
        if clock() < self.ground.shrunk.get(node, -UNHEARD) + UNHEARD:
            self.ground.overtaken.add(uid)
        same = [
            each
            for each in self.ground.pods.values()
            if label(each, words.JOB_ID) == number and host(each) == node and not ended(each)
        ]
        if wrong := holding.beyond(held, same):
            self.blame(f"{who} bound {name} to {node}: {wrong} of job {number}")
        self._ranked(who, pod, job)

    def _ranked(self, who: str, pod: Json, job: FakeJob) -> None:
        """Ranks follow Slurm's order of nodes, as long as nobody comes in another's place."""
        if not label(pod, RANK):
            return
        rank, order = int(label(pod, RANK)), expand(job.nodes)
        taken = self.judge.ranks.setdefault(job.job_id, {})
        place = order.index(self.ground.slurm_name(host(pod)))
        if rank in taken or not self._first(job):
            taken[-1] = 0  # from here on it is a matter of what is free
        taken[rank] = place
        places = [taken[each] for each in sorted(taken) if each >= 0]
        if -1 not in taken and places != sorted(places):
            self.blame(f"{who} bound the ranks of job {job.job_id} to nodes {places}")

    def _first(self, job: FakeJob) -> bool:
        """Whether all pods that the job was asked for are still there."""
        mark = marker.read(job.admin_comment)
        named = {key.name for key in mark.pods} if mark else set()
        lively = {pod["metadata"]["name"] for pod in self.ground.pods.values() if lives(pod)}
        return named <= lively

    def _deleted(self, who: str, pod: Json, new: Json | None) -> None:
        if leaving(pod) or not (new is None or leaving(new)):
            return
        name, number = pod["metadata"]["name"], label(pod, words.JOB_ID)
        if self.judge.running(number):
            self.blame(f"{who} deleted {name}, whose job {number} runs")
        if self.judge.silent():
            self.blame(f"{who} deleted {name} although Slurm does not answer")

    # --- Slurm ---------------------------------------------------------------------------------

    @contextmanager
    def over_slurm(self, who: str, message: Message) -> Iterator[None]:
        judge, cluster = self.judge, self.judge.slurm.cluster
        if len(judge.writes) > MOST_WRITES:
            raise Violated("it does nothing but write")
        if judge.silent():
            self.blame(f"{who} sent {message.method} {message.target} into the silence")
        judge.writes.append(f"{who} {message.method} {message.target}")
        path = message.target.split("/", 3)[-1]
        jobs = {number: _said(job) for number, job in cluster.jobs.items()}
        nodes = {name: (node.comment, *_state(node)) for name, node in cluster.nodes.items()}
        yield
        judge.transcript.say(who, f"{message.method} {path}")
        for number, job in list(cluster.jobs.items()):
            if number not in jobs:
                self._submitted(who, job)
            elif jobs[number] != _said(job):
                self._touched(who, job, was_alive=jobs[number][0] in ALIVE)
        for name, (comment, *before) in nodes.items():
            self._of_node(who, name, comment, tuple(before))
        judge.look(who)

    def _submitted(self, who: str, job: FakeJob) -> None:
        mark = marker.read(job.admin_comment)
        if mark is None or mark.cluster != self.ground.name:
            self.blame(f"{who} submitted job {job.job_id} that does not say whose it is")
            return
        for other in self.judge.slurm.cluster.jobs.values():
            twin = marker.read(other.admin_comment)
            if other is job or twin is None or twin.identity != mark.identity:
                continue
            if other.job_state in ALIVE:
                self.blame(f"{who} submitted job {job.job_id} beside job {other.job_id}")
            elif mark.key.kind == "Pod" and not other.comment.startswith(BY_US):
                self.blame(f"{who} submitted job {job.job_id} after job {other.job_id} had ended")

    def _touched(self, who: str, job: FakeJob, *, was_alive: bool) -> None:
        mark = marker.read(job.admin_comment)
        if mark is None or mark.cluster != self.ground.name:
            self.blame(f"{who} changed job {job.job_id}, which is somebody else's")
            return
        if not was_alive or job.job_state in ALIVE:
            return
        number = str(job.job_id)
        for pod in self.ground.pods.values():
            if label(pod, words.JOB_ID) == number and self.ground.runs(pod):
                self.blame(f"{who} ended job {number}, for which {pod['metadata']['name']} runs")

    def _of_node(self, who: str, name: str, comment: str, before: tuple[Any, ...]) -> None:
        node = self.judge.slurm.cluster.nodes.get(name)
        after = None if node is None else _state(node)
        if after == before:
            return
        if comment.startswith(COMMENT) and comment != COMMENT + self.ground.name:
            self.blame(f"{who} changed {name}, which belongs to {comment.removeprefix(COMMENT)}")
        reason, since = self.judge.marks.get(name, ("", 0.0))
        if before != ("DRAIN", reason) or clock() < since + RACE:
            return
        if node is None and not self.ground.gives(name):
            del self.judge.marks[name]  # with the node itself
            return
        self.blame(f"{who} made {after} of {name}, which an administrator had drained: {reason}")


def _said(job: FakeJob) -> tuple[Any, ...]:
    return job.job_state, job.comment, job.admin_comment, job.required_nodes, job.excluded_nodes


def _state(node: Any) -> tuple[str, str]:
    return ("DRAIN" if "DRAIN" in (node.state or ()) else ""), node.reason
