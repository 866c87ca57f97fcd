"""What the daemons say, as lines that machines read."""

import json

from windlass.testing.operated import Operated, until


def lines(slurm: Operated, pod: str, container: str = "logfile") -> list[dict[str, object]]:
    text = slurm.kubectl("logs", pod, "-c", container, "-n", slurm.namespace)
    return [json.loads(line) for line in text.splitlines()]


def test_logs_are_json_with_daemon_level_and_job(slurm: Operated) -> None:
    number = slurm.submit("true", "--ntasks=1")
    slurm.wait_job(number, "COMPLETED")

    def said() -> list[dict[str, object]]:
        found = lines(slurm, "slurm-controller-0")
        return [line for line in found if str(line.get("job")) == number]

    about = until(said, f"slurmctld's log names job {number}", 30)
    assert {line["daemon"] for line in about} == {"slurmctld"}
    assert all(line["level"] and line["message"] and line["time"] for line in about)


def test_a_worker_logs_too(slurm: Operated) -> None:
    worker = slurm.pods("app.kubernetes.io/name=slurmd")[0]["metadata"]["name"]
    assert {line["daemon"] for line in lines(slurm, worker)} == {"slurmd"}
    assert "keeper" in {line["daemon"] for line in lines(slurm, worker, "slurmd")}
