from typing import Any

import pytest

from windlass.operator.pods.merge import merge_container, merge_pod_spec, merge_service_spec

OURS: dict[str, Any] = {
    "name": "slurmd",
    "image": "ours",
    "args": ["-Z"],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
    "ports": [{"name": "slurmd", "containerPort": 6818}],
    "securityContext": {"privileged": True, "capabilities": {"add": ["SYS_ADMIN"]}},
    "livenessProbe": {"httpGet": {"path": "/livez", "port": "slurmd"}, "periodSeconds": 10},
}


@pytest.mark.parametrize(
    ("user", "path", "value"),
    [
        ({"securityContext": {"privileged": False}}, ("securityContext", "privileged"), False),
        (
            {"securityContext": {"privileged": False}},
            ("securityContext", "capabilities"),
            {"add": ["SYS_ADMIN"]},
        ),
        ({"livenessProbe": {"periodSeconds": 0}}, ("livenessProbe", "periodSeconds"), 0),
        ({"image": ""}, ("image",), ""),
        ({"args": ["-vvv"]}, ("args",), ["-Z", "-vvv"]),
        (
            {"env": [{"name": "B", "value": ""}, {"name": "C", "value": "3"}]},
            ("env",),
            [{"name": "A", "value": "1"}, {"name": "B", "value": ""}, {"name": "C", "value": "3"}],
        ),
        ({"env": []}, ("env",), OURS["env"]),
        ({"env": [{"$patch": "replace"}]}, ("env",), []),
        (
            {"securityContext": {"capabilities": {"add": []}}},
            ("securityContext", "capabilities", "add"),
            [],
        ),
        (
            {"env": [{"name": "A", "$patch": "delete"}]},
            ("env",),
            [{"name": "B", "value": "2"}],
        ),
        (
            {"securityContext": {"capabilities": {"add": ["SYS_NICE"]}}},
            ("securityContext", "capabilities", "add"),
            ["SYS_NICE"],
        ),
        ({"securityContext": {"$patch": "replace"}}, ("securityContext",), {}),
        (
            {"livenessProbe": {"exec": {"command": ["true"]}}},
            ("livenessProbe",),
            {"exec": {"command": ["true"]}, "periodSeconds": 10},
        ),
        (
            {"livenessProbe": {"periodSeconds": 3}},
            ("livenessProbe", "httpGet"),
            {"path": "/livez", "port": "slurmd"},
        ),
    ],
)
def test_what_a_user_says_of_a_container_counts(
    user: dict[str, Any], path: tuple[str, ...], value: Any
) -> None:
    found: Any = merge_container(OURS, user)
    for step in path:
        found = found[step]
    assert found == value


def test_null_takes_our_field_away() -> None:
    assert "livenessProbe" not in merge_container(OURS, {"livenessProbe": None})


def test_merging_changes_neither_side() -> None:
    user = {"env": [{"name": "A", "value": "9"}]}
    merge_container(OURS, user)["env"].append({"name": "D"})

    assert OURS["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    assert user == {"env": [{"name": "A", "value": "9"}]}


def term(name: str) -> dict[str, Any]:
    labels = {"matchLabels": {"app": name}}
    return {"topologyKey": "kubernetes.io/hostname", "labelSelector": labels}


def anti_affinity(*names: str) -> dict[str, Any]:
    terms = [term(name) for name in names]
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


POD: dict[str, Any] = {
    "containers": [OURS],
    "volumes": [{"name": "etc", "emptyDir": {}}],
    "tolerations": [{"key": "ours", "operator": "Exists"}],
    "affinity": anti_affinity("ours"),
    "hostNetwork": True,
}


@pytest.mark.parametrize(
    ("user", "field", "value"),
    [
        ({"hostNetwork": False}, "hostNetwork", False),
        (
            {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
            "tolerations",
            [{"key": "ours", "operator": "Exists"}, {"key": "gpu", "operator": "Exists"}],
        ),
        ({"affinity": anti_affinity("mine")}, "affinity", anti_affinity("ours", "mine")),
        (
            {"volumes": [{"name": "data", "hostPath": {"path": "/d"}}]},
            "volumes",
            [{"name": "etc", "emptyDir": {}}, {"name": "data", "hostPath": {"path": "/d"}}],
        ),
        ({"nodeSelector": {"gpu": "yes"}}, "nodeSelector", {"gpu": "yes"}),
        ({"containers": [{"name": "more"}]}, "containers", [OURS, {"name": "more"}]),
        (
            {"initContainers": [{"name": "first"}]},
            "initContainers",
            [{"name": "first"}],
        ),
    ],
)
def test_what_a_user_says_of_a_pod_counts_and_loses_nothing_that_the_daemon_needs(
    user: dict[str, Any], field: str, value: Any
) -> None:
    assert merge_pod_spec(POD, user)[field] == value


def test_a_container_of_our_name_is_merged_and_not_repeated() -> None:
    merged = merge_pod_spec(POD, {"containers": [{"name": "slurmd", "image": "theirs"}]})

    assert [container["image"] for container in merged["containers"]] == ["theirs"]


def test_a_service_never_gets_external_addresses() -> None:
    merged = merge_service_spec({}, {"type": "LoadBalancer", "externalIPs": ["192.0.2.1"]})

    assert merged == {"type": "LoadBalancer"}
