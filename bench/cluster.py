"""What a Slurm costs that the operator runs: `python -m bench.cluster`, part of `make bench`.

A local cluster of two nodes with the operator on it, and beside it, on the same machine and in the
same run, a Slurm of one slurmctld and two slurmd with the same slurm.conf that no Kubernetes has a
hand in: the floor of the first job, of the array and of the change. The floor of the operator's
rest is its rest with nothing to look after. Needs root; it removes what it made.

What the array takes longer in pods is mostly the kubelets' doing: they follow every cgroup that
Slurm makes for a task. With both of them stopped 1,000 tasks took 1.05 times the floor.
"""

import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from windlass.local import binaries, images
from windlass.local.helm import Helm
from windlass.local.layout import sources
from windlass.local.progress import Display
from windlass.local.slurm import IMAGES, NAMESPACE, OPERATOR_NAMESPACE, RELEASE, Slurm
from windlass.mains import windlass
from windlass.testing.direct_slurm import DirectSlurm, Workers
from windlass.testing.local import LocalCluster
from windlass.testing.operated import Operated, documents

NAME: Final = "windlass-bench"
WORKERS: Final = Workers(count=2, cpus=1, memory=1024)
TASKS, ROUNDS = 1_000, 5
CONTROLLERS, REST, SETTLED = 10, 60, 20
TICKS_A_SECOND: Final = 100
VALUES: Final[dict[str, Any]] = {
    "starter": {
        "nodeset": {
            "replicas": WORKERS.count,
            "slurmd": {
                "resources": {"limits": {"cpu": WORKERS.cpus, "memory": f"{WORKERS.memory}Mi"}}
            },
        }
    }
}

FIRST_JOB: Final = ("srun", f"--nodes={WORKERS.count}", "--ntasks-per-node=1", "hostname")
# Timed where it runs: what it costs to get a shell there is no part of it. To look must cost little
# too, and no more with each round: without --only-job-state squeue reads every job that has ended.
ARRAY: Final = """
began=$(date +%s%N)
number=$(sbatch --parsable --array=1-{tasks} --output=/dev/null --wrap=/bin/true)
while squeue --noheader --only-job-state | grep --quiet .; do sleep 0.5; done
ended=$(date +%s%N)
echo $(( (ended - began) / 1000000 )) \\
  $(squeue --noheader --array --states=COMPLETED --jobs="$number" | wc -l)
"""
# scontrol asks the slurmd of its own host, and slurmctld; a daemon may be away for a moment.
SLURMD_HAS: Final = 'scontrol show slurmd 2> /dev/null | grep --quiet "^Slurmd Debug .*= {level}$"'
SLURMCTLD_HAS: Final = 'scontrol show config 2> /dev/null | grep --quiet "^SlurmdDebug .*= {name}$"'
UNTIL: Final = "timeout 60 sh -c 'until {condition}; do sleep 0.05; done'"
LEVELS: Final = {"verbose": 4, "debug": 5}

Shell = Callable[[str], str]


# --- what is printed --------------------------------------------------------------------------


def show(what: str, took: float, floor: float, *, limit: float = 0, ratio: float = 0) -> None:
    bounds = f"limit {limit:g} s" if limit else f"limit {ratio:g} times" if ratio else ""
    times = took / floor if floor else float("inf")
    print(
        f"{what:<52}{took:8.2f} s  floor {floor:7.2f} s  ratio {times:6.2f}  {bounds}", flush=True
    )


# --- the two Slurms ---------------------------------------------------------------------------


@contextmanager
def local_cluster() -> Iterator[LocalCluster]:
    folders, display = windlass.folders(), Display(Console(stderr=True))
    programs = binaries.ensure(["kubernetes", "helm"], folders.cache, display)
    cluster = LocalCluster(NAME, folders, programs["kubectl"])
    cluster.local("down")
    cluster.local("up", "--nodes", "2")
    try:
        yield cluster
    finally:
        cluster.local("down")


def install_operator(cluster: LocalCluster) -> Slurm:
    folders = windlass.folders()
    helm = binaries.ensure(["helm"], folders.cache, Display(Console(stderr=True)))["helm"]
    for image in IMAGES:
        cluster.local("image", "load", image)
    slurm = Slurm(cluster.kubectl, Helm(helm, cluster.folder.kubeconfig), sources("charts"), VALUES)
    slurm.install_operator()
    rollout = ("rollout", "status", "deployment", "--timeout=120s", "-n", OPERATOR_NAMESPACE)
    slurm.kubectl(*rollout)
    return slurm


@contextmanager
def direct_slurm() -> Iterator[tuple[DirectSlurm, float]]:
    """One that runs, and the seconds that it took to its first finished job."""
    cache = windlass.folders().cache
    root = images.root_of("slurm", cache, Display(Console(stderr=True)), programs={})
    with tempfile.TemporaryDirectory() as folder:
        slurm = DirectSlurm(root, Path(folder) / "slurm", WORKERS)
        began = time.monotonic()
        slurm.start()
        try:
            slurm.run(*FIRST_JOB)
            yield slurm, time.monotonic() - began
        finally:
            slurm.stop()


# --- the first job ----------------------------------------------------------------------------


def first_job(slurm: Slurm) -> float:
    began = time.monotonic()
    slurm.install()
    slurm.wait_until_idle(WORKERS.count)
    slurm.run(*FIRST_JOB)
    return time.monotonic() - began


# --- the array --------------------------------------------------------------------------------


def array(shell: Shell, tasks: int = TASKS) -> float:
    milliseconds, done = shell(ARRAY.format(tasks=tasks)).split()
    assert int(done) == tasks, f"{done} of {tasks} tasks are done"
    return int(milliseconds) / 1000


def arrays(operated: Shell, direct: Shell) -> tuple[float, float]:
    """By turns, and of the rounds the one whose ratio is in the middle.

    What else the machine does comes and goes: the best of each would compare a quiet minute of one
    with a loud minute of the other.
    """
    rounds = [(array(direct), array(operated)) for _ in range(ROUNDS)]
    floor, took = sorted(rounds, key=lambda each: each[1] / each[0])[ROUNDS // 2]
    return took, floor


# --- the change -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """How a setting is changed somewhere, and shells beside the daemons to which it must come."""

    change: Callable[[str], object]
    slurmctld: Shell
    slurmd: tuple[Shell, ...]

    def in_force(self, name: str) -> float:
        """Change the setting; the seconds until the last daemon has it."""
        has = SLURMD_HAS.format(level=LEVELS[name])
        waits = [(shell, has) for shell in self.slurmd]
        waits.append((self.slurmctld, SLURMCTLD_HAS.format(name=name)))
        with ThreadPoolExecutor(len(waits)) as pool:
            began = time.monotonic()
            self.change(name)
            running = [
                pool.submit(shell, UNTIL.format(condition=condition)) for shell, condition in waits
            ]
            for each in running:
                each.result()
            return time.monotonic() - began

    def worst(self) -> float:
        return max(self.in_force(name) for name in (*LEVELS, *LEVELS))


def direct_place(slurm: DirectSlurm) -> Place:
    def change(name: str) -> None:
        slurm.change(f"SlurmdDebug={name}")
        slurm.run("scontrol", "reconfigure")

    def shell(host: str) -> Shell:
        return lambda script: slurm.run_on(host, "sh", "-c", script)

    return Place(change, direct_shell(slurm), tuple(shell(worker) for worker in slurm.workers))


def direct_shell(slurm: DirectSlurm) -> Shell:
    return lambda script: slurm.run("sh", "-c", script)


def operated_place(slurm: Operated) -> Place:
    before = slurm.get("controller", slurm.name)["spec"].get("extraConf") or ""

    def change(name: str) -> None:
        text = f"{before}\nSlurmdDebug={name}\n"
        slurm.patch("controller", slurm.name, {"spec": {"extraConf": text}})

    def shell(pod: str) -> Shell:
        return lambda script: slurm.inside(pod, "slurmd", "sh", "-c", script)

    workers = [pod["metadata"]["name"] for pod in slurm.pods("app.kubernetes.io/name=slurmd")]
    assert len(workers) == WORKERS.count, workers
    slurmctld: Shell = lambda script: slurm.slurm("sh", "-c", script)  # noqa: E731
    return Place(change, slurmctld, tuple(shell(pod) for pod in workers))


# --- the rest ---------------------------------------------------------------------------------


def cpu_seconds(cluster: LocalCluster, pods: Iterable[str]) -> float:
    """What the processes of these pods (by uid) have used so far, as the machine has it."""
    marks = [f"pod{uid}" for uid in pods]
    ticks = 0
    for pid in cluster.processes():
        with suppress(FileNotFoundError, ProcessLookupError):
            if any(mark in Path(f"/proc/{pid}/cgroup").read_text() for mark in marks):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                ticks += sum(map(int, fields[11:13]))
    return ticks / TICKS_A_SECOND


def at_rest(cluster: LocalCluster) -> float:
    """CPU seconds that the operator and its webhook use in a minute."""
    listed = cluster.kubectl.get("pods", "-n", OPERATOR_NAMESPACE)["items"]
    uids = [pod["metadata"]["uid"] for pod in listed]
    time.sleep(SETTLED)
    before = cpu_seconds(cluster, uids)
    assert before > 0, "no process of the operator was found"
    time.sleep(REST)
    return cpu_seconds(cluster, uids) - before


def add_controllers(slurm: Slurm) -> None:
    place = Operated(slurm.kubectl, "bench-rest")
    slurm.kubectl("create", "namespace", place.namespace)
    names = [f"rest-{number}" for number in range(CONTROLLERS)]
    place.apply(documents(*(_controller(name) for name in names)))
    for name in names:
        place.wait_condition("controller", name, "Ready", within=300)


def _controller(name: str) -> dict[str, Any]:
    kind = {"apiVersion": "slinky.slurm.net/v1beta1", "kind": "Controller"}
    return {**kind, "metadata": {"name": name}, "spec": {}}


# --- all of it --------------------------------------------------------------------------------


def measure_slurm(slurm: Slurm) -> None:
    with direct_slurm() as (direct, started):
        show("helm install to the first finished job", first_job(slurm), started, limit=60)
        operated: Shell = lambda script: slurm.run("sh", "-c", script)  # noqa: E731
        took, floor = arrays(operated, direct_shell(direct))
        show(f"{TASKS:,} tasks of a job array, two workers", took, floor, ratio=1.2)
        place = operated_place(Operated(slurm.kubectl, NAMESPACE, RELEASE))
        bare = direct_place(direct).worst()
        show("a change in force on every daemon, worst of 4", place.worst(), bare, limit=5)


def main() -> None:
    with local_cluster() as cluster:
        slurm = install_operator(cluster)
        nothing = at_rest(cluster)
        measure_slurm(slurm)
        slurm.helm.uninstall(RELEASE, NAMESPACE)
        add_controllers(slurm)
        what = f"CPU in {REST} s of rest with {CONTROLLERS} Controllers"
        show(what, at_rest(cluster), nothing, limit=1)


if __name__ == "__main__":
    main()
