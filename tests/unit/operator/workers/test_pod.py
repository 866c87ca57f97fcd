import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.operator.conftest import Golden
from tests.unit.operator.documents import documents
from tests.unit.operator.workers.observed import membership, node_set, observed
from tests.unit.operator.workers.phases.courses import host
from windlass.operator.workers.identity import identity, identity_on
from windlass.operator.workers.logfile import SHOW
from windlass.operator.workers.pod import mould, worker_pod
from windlass.operator.workers.volumes import claims

FULL: dict[str, Any] = {
    "slurmd": {
        "image": "registry.example/slinkyproject/slurmd:26.05-ubuntu24.04",
        "args": ["-vvv"],
        "resources": {"limits": {"cpu": 8, "memory": "16Gi", "nvidia.com/gpu": 1}},
        "readinessProbe": {"exec": {"command": ["true"]}},
    },
    "logfile": {"image": "registry.example/library/alpine:latest"},
    "extraConf": "Gres=gpu:1 Feature=fast",
    "ordinalPadding": 2,
    "ssh": {"enabled": True, "sssdConfRef": {"name": "sssd", "key": "sssd.conf"}},
    "template": {
        "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
        "spec": {
            "hostname": "gpu-",
            "nodeName": "chosen-by-hand",
            "hostNetwork": True,
            "nodeSelector": {"gpu": "yes"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "volumes": [{"name": "scratch", "emptyDir": {}}],
        },
    },
    "volumeClaimTemplates": [
        {
            "metadata": {"name": "scratch"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    ],
}


def render(ordinal: int = 0, sssd: bytes | None = None, **spec: Any) -> dict[str, Any]:
    of = node_set(**spec)
    seen = observed(of, sssd_conf=sssd)
    return worker_pod(mould(seen, membership(), "abc"), identity(of, ordinal))


def container(pod: dict[str, Any]) -> dict[str, Any]:
    (found,) = [each for each in pod["spec"]["containers"] if each["name"] == "slurmd"]
    assert isinstance(found, dict)
    return found


def test_a_worker_with_nothing_said_becomes_this_pod(golden: Golden) -> None:
    golden("plain.yaml", documents([render()]))


def test_a_worker_with_everything_said_becomes_this_pod_and_claim(golden: Golden) -> None:
    of = node_set(**FULL)

    golden(
        "full.yaml",
        documents([*claims(of, identity(of, 3)), render(3, sssd=b"[sssd]", **FULL)]),
    )


def test_a_worker_that_comes_back_to_its_host_becomes_this_pod(golden: Golden) -> None:
    who = replace(identity(node_set(), 4), host="gpu7.rack2.example")
    shape = mould(observed(node_set(pinToNode=True)), membership(), "abc")

    golden("pinned.yaml", documents([worker_pod(shape, who)]))


def test_a_worker_of_a_host_becomes_this_pod_and_claim(golden: Golden) -> None:
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
                ]
            }
        }
    }
    template = {"spec": {"affinity": affinity, "nodeSelector": {"gpu": "yes"}}}
    of = node_set(
        scalingMode="DaemonSet",
        template=template,
        volumeClaimTemplates=FULL["volumeClaimTemplates"],
    )
    who = identity_on(of, host("gpu7.rack2.example"), failures=3)

    pod = worker_pod(mould(observed(of), membership(), "abc"), who)
    golden("host.yaml", documents([*claims(of, who), pod]))


@pytest.mark.parametrize(
    "spec",
    [
        {"slurmd": {"securityContext": {"privileged": False}}},
        {
            "slurmd": {"securityContext": {"privileged": True}},
            "template": {
                "spec": {
                    "containers": [{"name": "slurmd", "securityContext": {"privileged": False}}]
                }
            },
        },
    ],
    ids=["by the set", "by its template, which has the last word"],
)
def test_a_worker_without_privilege_asks_for_no_capability_either(spec: dict[str, Any]) -> None:
    assert container(render(**spec))["securityContext"] == {"privileged": False}


def test_a_worker_without_privilege_gets_what_its_user_adds() -> None:
    given = {"privileged": False, "capabilities": {"add": ["SYS_NICE"]}}

    assert container(render(slurmd={"securityContext": given}))["securityContext"] == given


def test_workers_share_a_node_only_where_that_is_asked_for() -> None:
    theirs = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "rack"}]
        }
    }

    shared = render(oversubscribeNode=True)
    added = render(template={"spec": {"affinity": theirs}})

    assert "affinity" not in shared["spec"]
    terms = added["spec"]["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert [term["topologyKey"] for term in terms] == ["kubernetes.io/hostname", "rack"]


def test_rendering_one_pod_leaves_the_next_as_it_was() -> None:
    of = node_set(**FULL)
    shape = mould(observed(of), membership(), "abc")

    first = worker_pod(shape, identity(of, 0))
    worker_pod(shape, identity(of, 1))

    assert worker_pod(shape, identity(of, 0)) == first


def test_claims_go_with_the_set_only_if_that_is_asked_for() -> None:
    kept = node_set(**FULL)
    deleted = node_set(**FULL, persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete"})

    assert "ownerReferences" not in claims(kept, identity(kept, 0))[0]["metadata"]
    owner = claims(deleted, identity(deleted, 0))[0]["metadata"]["ownerReferences"][0]
    assert owner["uid"] == "u-w"


def test_a_log_is_shown_without_python_and_its_fifo_is_kept(tmp_path: Path) -> None:
    fifo = tmp_path / "log" / "slurmd.log"
    with subprocess.Popen(
        ["sh", "-c", SHOW],
        env={**os.environ, "SOCKET": str(fifo)},
        stdout=subprocess.PIPE,
        text=True,
    ) as shown:
        assert shown.stdout is not None
        try:
            subprocess.run(
                ["sh", "-c", 'until [ -p "$0" ]; do :; done; echo slurmd started >"$0"', fifo],
                check=True,
                timeout=20,
            )
            assert shown.stdout.readline() == "slurmd started\n"
        finally:
            shown.terminate()
            shown.stdout.close()
        assert shown.wait(20) == 0
    assert fifo.is_fifo()
