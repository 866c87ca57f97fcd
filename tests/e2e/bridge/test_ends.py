"""How a pod ends is how its job ends. Of one that succeeds, the first pods tell."""

from tests.e2e.bridge.manifests import pod
from windlass.local.waiting import wait_for
from windlass.testing.bridged import Bridged, job_of


def ended(bridged: Bridged, number: str, state: str, code: str) -> None:
    """Accounting has it so; it adds who cancelled a job."""

    def so() -> bool:
        shown, exited = bridged.accounted(number, "State", "ExitCode")
        return shown.split()[:1] == [state] and exited == code

    wait_for(so, f"job {number} is {state} {code} in accounting", within=30, every=0.3)


def test_a_pod_that_fails_has_a_job_that_failed_with_its_code(bridged: Bridged) -> None:
    bridged.apply(pod("fails").replace("sleep 300", "exit 7"))
    pods = bridged.wait_phases("Failed", 1)
    ended(bridged, job_of(pods["fails"]), "FAILED", "7:0")


def test_a_pod_that_its_user_deletes_has_a_job_that_is_cancelled(bridged: Bridged) -> None:
    bridged.apply(pod("unwanted"))
    pods = bridged.wait_phases("Running", 1)
    bridged.delete("pod", "unwanted")
    ended(bridged, job_of(pods["unwanted"]), "CANCELLED", "0:0")
    wait_for(lambda: not bridged.pods(), "the pod is gone", within=30, every=0.3)
