"""Whose job a pod is: of the user and account that its namespace names, as accounting shows."""

from tests.e2e.bridge.manifests import more, pod
from windlass.bridge import words
from windlass.testing.bridged import Bridged, job_of

USER, ACCOUNT = "games", "physics"
"""A user whom every image knows."""


def test_a_pod_is_its_namespaces_users_and_waits_until_they_have_an_account(
    elsewhere: Bridged,
) -> None:
    run, namespace = elsewhere.bridge.slurm.run, elsewhere.bridge.namespace
    notes = (f"{words.NAMESPACE_USER}={USER}", f"{words.NAMESPACE_ACCOUNT}={ACCOUNT}")
    elsewhere.bridge.kubectl("annotate", "namespace", namespace, *notes)
    run("sacctmgr", "--immediate", "add", "account", ACCOUNT)
    elsewhere.apply(more(pod("whose", "1"), spec=f"schedulerName: {words.SCHEDULER}"))
    assert "account" in elsewhere.wait_reason("whose", "SlurmRefused")

    run("sacctmgr", "--immediate", "add", "user", USER, f"account={ACCOUNT}")
    number = job_of(elsewhere.wait_phases("Succeeded", 1)["whose"])
    assert elsewhere.accounted(number, "User", "Account") == [USER, ACCOUNT]
