"""What `apply.differences` foresees is what the API server does, the real one and the fake."""

import asyncio
import copy
from typing import Any

import pytest

from tests.contract.kube_world import KubeWorld
from windlass.kube import kinds, requests
from windlass.kube.apply import differences
from windlass.kube.kinds import Kind
from windlass.kube.reflector import Talks
from windlass.kube.requests import FieldManager
from windlass.kube.wire import Anything, Document
from windlass.values.key import Key

NS = "applied"
US = FieldManager("windlass-test")
Json = dict[str, Any]


def named(name: str, **fields: Any) -> Json:
    metadata = {"name": name, "namespace": NS, "labels": {"app": name}, "annotations": {}}
    return {"metadata": metadata, **fields}


LABELS = {"matchLabels": {"app": "a"}}
POD_SPEC: Json = {
    "hostNetwork": False,
    "automountServiceAccountToken": False,
    "terminationGracePeriodSeconds": 30,
    "nodeSelector": {"zone": "a"},
    "tolerations": [{"key": "slurm", "operator": "Exists"}],
    "securityContext": {"runAsNonRoot": True},
    "initContainers": [],
    "containers": [
        {
            "name": "slurmd",
            "image": "slurmd:1",
            "args": ["-D", "-Z"],
            "ports": [{"containerPort": 6818, "name": "slurmd"}, {"containerPort": 53}],
            "env": [
                {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "EMPTY", "value": ""},
                {
                    "name": "CPUS",
                    "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}},
                },
            ],
            "resources": {"limits": {"cpu": 2, "memory": "1024Mi"}, "requests": {"cpu": "1500m"}},
            "readinessProbe": {"httpGet": {"path": "/", "port": "slurmd"}, "periodSeconds": 5},
            "volumeMounts": [{"name": "run", "mountPath": "/run"}],
        }
    ],
    "volumes": [
        {"name": "run", "emptyDir": {"sizeLimit": "1024Mi"}},
        {"name": "keys", "secret": {"secretName": "k", "items": [{"key": "a", "path": "b"}]}},
        {
            "name": "all",
            "projected": {
                "sources": [
                    {"configMap": {"name": "c"}},
                    {"serviceAccountToken": {"path": "token"}},
                    {"secret": {"name": "s", "items": [{"key": "a", "path": "b"}]}},
                ]
            },
        },
        {"name": "plain", "emptyDir": {}},
    ],
}
TEMPLATE = {"metadata": {"labels": {"app": "a"}}, "spec": POD_SPEC}
CLAIM = {
    "metadata": {"name": "state"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1024Mi"}},
    },
}
RENDERED: list[tuple[Kind, Json]] = [
    (kinds.CONFIG_MAP, named("config", data={"slurm.conf": "ClusterName=a\n"})),
    (kinds.SECRET, named("secret", data={"key": "AAEC"}, type="Opaque")),
    (
        kinds.SERVICE,
        named(
            "service",
            spec={
                "selector": {"app": "a"},
                "ports": [
                    {"port": 6817, "targetPort": "slurmctld", "name": "slurmctld"},
                    {"port": 53, "protocol": "UDP", "name": "dns"},
                ],
                "clusterIP": "None",
                "publishNotReadyAddresses": True,
            },
        ),
    ),
    (
        kinds.STATEFUL_SET,
        named(
            "stateful",
            spec={
                "replicas": 0,
                "serviceName": "a",
                "selector": LABELS,
                "template": TEMPLATE,
                "volumeClaimTemplates": [CLAIM],
            },
        ),
    ),
    (
        kinds.DEPLOYMENT,
        named(
            "deployment",
            spec={
                "replicas": 1,
                "selector": LABELS,
                "template": TEMPLATE,
                "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"}},
            },
        ),
    ),
    (kinds.POD, named("pod", spec=POD_SPEC)),
    (
        kinds.POD_DISRUPTION_BUDGET,
        named("budget", spec={"maxUnavailable": 1, "selector": LABELS}),
    ),
    (
        kinds.ROLE,
        named(
            "role",
            rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
        ),
    ),
    (
        kinds.ROLE_BINDING,
        named(
            "binding",
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "role"},
            subjects=[{"kind": "ServiceAccount", "name": "default", "namespace": NS}],
        ),
    ),
    (
        kinds.PERSISTENT_VOLUME_CLAIM,
        named("claim", spec=CLAIM["spec"]),
    ),
]


async def applied(client: Talks, kind: Kind, body: Json) -> Json:
    return (await client.send(requests.apply(kind, body, US, Document))).body


@pytest.mark.parametrize(("kind", "body"), RENDERED, ids=lambda value: getattr(value, "plural", ""))
def test_what_was_just_applied_needs_no_apply(world: KubeWorld, kind: Kind, body: Json) -> None:
    async def scenario() -> tuple[str, ...]:
        async with world.connected(NS) as client:
            return differences(body, await applied(client, kind, body), US.name)

    assert asyncio.run(scenario()) == ()


def without(path: str, body: Json) -> Json:
    """A copy of an object that lacks one field or item."""
    changed = copy.deepcopy(body)
    at: Any = changed
    *parents, last = [int(name) if name.isdigit() else name for name in path.split(".")]
    for name in parents:
        at = at[name]
    del at[last]
    return changed


CHANGES = [
    "metadata.labels.app",
    "spec.template.spec.nodeSelector",
    "spec.template.spec.hostNetwork",
    "spec.template.spec.tolerations",
    "spec.template.spec.containers.0.args.1",
    "spec.template.spec.containers.0.ports.1",
    "spec.template.spec.containers.0.env.1",
    "spec.template.spec.containers.0.resources.limits.memory",
    "spec.template.spec.volumes.1",
    "spec.template.spec.volumes.0.emptyDir.sizeLimit",
]


@pytest.mark.parametrize("path", CHANGES)
def test_what_is_taken_away_is_seen_and_applied_away(world: KubeWorld, path: str) -> None:
    kind, before = next((k, b) for k, b in RENDERED if k is kinds.DEPLOYMENT)
    after = without(path, before)

    async def scenario() -> None:
        async with world.connected(NS) as client:
            live = await applied(client, kind, before)
            assert differences(after, live, US.name)
            assert differences(after, await applied(client, kind, after), US.name) == ()

    asyncio.run(scenario())


def test_a_change_by_another_is_seen_and_taken_back(world: KubeWorld) -> None:
    kind, body = RENDERED[0]
    key = Key(NS, "config")
    theirs = {"data": {"slurm.conf": "ClusterName=b\n", "more": "x"}}

    async def scenario() -> None:
        async with world.connected(NS) as client:
            await applied(client, kind, body)
            await client.send(requests.merge_patch(kind, key, theirs, Anything))
            live = (await client.send(requests.get(kind, key, Document))).body
            assert differences(body, live, US.name) == ("data.slurm.conf",)
            live = await applied(client, kind, body)
            assert differences(body, live, US.name) == ()
            assert live["data"] == {"slurm.conf": "ClusterName=a\n", "more": "x"}

    asyncio.run(scenario())
