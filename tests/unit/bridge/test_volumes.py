"""Where volumes let their pods run."""

from typing import Any

import msgspec
import pytest

from tests.unit.bridge.builders import pod
from tests.unit.bridge.staging import Stage, play
from windlass.bridge.volumes import (
    BOUND,
    SELECTED,
    Claim,
    Mount,
    StorageClass,
    Volume,
    claims_of,
    missing,
    open_claim,
    settled,
    takes,
)
from windlass.kube import kinds, requests
from windlass.kube.objects import Node
from windlass.kube.wire import Document
from windlass.values.key import Key
from windlass.values.reason import Reason

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def _on(*names: str, key: str = HOST) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": [*names]}]}


def _affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"required": {"nodeSelectorTerms": [*terms]}}


def _claim(**given: Any) -> dict[str, Any]:
    meta = {"name": "data", "namespace": "team", "uid": "c1", **given.pop("metadata", {})}
    spec = {
        "storageClassName": "local",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "10Gi"}},
    }
    return {"metadata": meta, "spec": {**spec, **given}}


def _volume(name: str = "v1", **given: Any) -> dict[str, Any]:
    meta = {"name": name, "resourceVersion": "7", "labels": given.pop("labels", None)}
    status = {"phase": given.pop("phase", "Available")}
    spec = {
        "storageClassName": "local",
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "nodeAffinity": _affinity(_on(f"host-of-{name}")),
    }
    return {"metadata": meta, "spec": {**spec, **given}, "status": status}


def _class(provisioner: str = "kubernetes.io/no-provisioner", **given: Any) -> StorageClass:
    body = {
        "metadata": {"name": "local"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
        **given,
    }
    return msgspec.convert(body, StorageClass)


def _node(**labels: str) -> Node:
    return msgspec.convert({"metadata": {"name": "n1", "labels": labels}}, Node)


def claim(**given: Any) -> Claim:
    return msgspec.convert(_claim(**given), Claim)


def volume(name: str = "v1", **given: Any) -> Volume:
    return msgspec.convert(_volume(name, **given), Volume)


def test_a_pod_names_its_claims() -> None:
    volumes = [
        {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "b", "emptyDir": {}},
        {"name": "c", "ephemeral": {"volumeClaimTemplate": {}}},
    ]
    found = list(claims_of(pod("p", spec={"volumes": volumes})))
    assert found == [(Key("team", "data"), ""), (Key("team", "p-c"), "uid-p")]


OWNED = {"ownerReferences": [{"kind": "Pod", "uid": "uid-p", "controller": True}]}


@pytest.mark.parametrize(
    ("found", "owner", "code"),
    [
        (None, "", "ClaimMissing"),
        (claim(), "", None),
        (claim(metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), "", "ClaimLeaving"),
        (claim(), "uid-p", "ClaimOfAnother"),
        (claim(metadata=OWNED), "uid-p", None),
    ],
)
def test_a_claim_that_cannot_be_used_says_why(
    found: Claim | None, owner: str, code: str | None
) -> None:
    reason = missing(Key("team", "data"), found, owner)
    assert (reason.code if reason else None) == code


@pytest.mark.parametrize(
    ("given", "labels", "takes_it"),
    [
        ({"nodeAffinity": None}, {}, True),
        ({"nodeAffinity": _affinity(_on("a"))}, {HOST: "a"}, True),
        ({"nodeAffinity": _affinity(_on("a"))}, {HOST: "b"}, False),
        ({"nodeAffinity": _affinity(_on("a"), _on("b"))}, {HOST: "b"}, True),
        ({"nodeAffinity": None, "labels": {ZONE: "west__east"}}, {ZONE: "east"}, True),
        ({"nodeAffinity": None, "labels": {ZONE: "west__east"}}, {ZONE: "north"}, False),
    ],
)
def test_a_bound_volume_reaches_some_nodes(
    given: dict[str, Any], labels: dict[str, str], takes_it: bool
) -> None:
    found = settled(claim(volumeName="v1"), volume(**given))
    assert isinstance(found, Mount)
    assert found.bound
    assert takes(found.terms, _node(**labels)) == takes_it


@pytest.mark.parametrize(
    ("kind", "given", "volumes", "code"),
    [
        (None, {"storageClassName": ""}, [], "ClaimNotBound"),
        (_class(volumeBindingMode="Immediate"), {}, [], "ClaimNotBound"),
        (_class("csi"), {"volumeName": "v1"}, [], "ClaimNotBound"),
        (_class(), {}, [], "NoVolumeLeft"),
        (_class(), {}, [volume(phase="Bound")], "NoVolumeLeft"),
        (_class(), {}, [volume(capacity={"storage": "9Gi"})], "NoVolumeLeft"),
        (_class(), {}, [volume(accessModes=["ReadOnlyMany"])], "NoVolumeLeft"),
        (_class(), {}, [volume(volumeMode="Block")], "NoVolumeLeft"),
        (_class(), {}, [volume(claimRef={"name": "x", "uid": "c2"})], "NoVolumeLeft"),
        (_class(), {"selector": {"matchLabels": {"disk": "fast"}}}, [volume()], "NoVolumeLeft"),
    ],
)
def test_a_claim_that_no_node_would_help_is_waited_for(
    kind: StorageClass | None, given: dict[str, Any], volumes: list[Volume], code: str
) -> None:
    found = open_claim(claim(**given), kind, volumes)
    assert isinstance(found, Reason)
    assert found.code == code


IN_WEST = [{"matchLabelExpressions": [{"key": ZONE, "values": ["west"]}]}]


@pytest.mark.parametrize(
    ("kind", "metadata", "volumes", "labels", "takes_it"),
    [
        (_class("csi"), {}, [], {}, True),
        (_class("csi", allowedTopologies=IN_WEST), {}, [], {ZONE: "west"}, True),
        (_class("csi", allowedTopologies=IN_WEST), {}, [], {ZONE: "east"}, False),
        (_class("csi"), {"annotations": {SELECTED: "n1"}}, [], {}, True),
        (_class("csi"), {"annotations": {SELECTED: "n2"}}, [], {}, False),
        (_class(), {}, [volume("a"), volume("b")], {HOST: "host-of-b"}, True),
        (_class(), {}, [volume("a"), volume("b")], {HOST: "host-of-c"}, False),
        (_class(), {}, [volume(nodeAffinity=None)], {}, True),
        (_class(), {}, [volume("a"), volume(claimRef={"uid": "c1"})], {HOST: "host-of-a"}, False),
    ],
)
def test_a_claim_that_waits_for_its_pod_goes_where_it_can_be_bound(
    kind: StorageClass,
    metadata: dict[str, Any],
    volumes: list[Volume],
    labels: dict[str, str],
    takes_it: bool,
) -> None:
    found = open_claim(claim(metadata=metadata), kind, volumes)
    assert isinstance(found, Mount)
    assert not found.bound
    assert takes(found.terms, _node(**labels)) == takes_it


def test_the_smallest_volume_that_fits_comes_first_and_many_hosts_are_one_term() -> None:
    large = volume("large", capacity={"storage": "1Ti"})
    small = [volume(f"v{number}") for number in range(5)]
    found = open_claim(claim(), _class(), [large, *small])
    assert isinstance(found, Mount)
    assert [each.name for each in found.candidates] == ["v0", "v1", "v2", "v3", "v4", "large"]
    assert found.terms is not None
    assert len(found.terms) == 1


# --- with the whole bridge at work ------------------------------------------------------------

USES = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]}


async def _nodes(stage: Stage) -> None:
    for name in ("n1", "n2"):
        await stage.node(name, labels={HOST: name})


async def _patch(stage: Stage, kind: Any, name: str, change: dict[str, Any]) -> None:
    at = Key("team" if kind.namespaced else "", name)
    await stage.kube.send(requests.merge_patch(kind, at, change, Document))


async def _make_class(stage: Stage, provisioner: str) -> None:
    body = {"provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer"}
    await stage.create(kinds.STORAGE_CLASS, "local", **body)


async def _make_volume(stage: Stage, name: str, host: str, phase: str = "Available") -> None:
    spec = _volume(name)["spec"]
    spec["nodeAffinity"] = _affinity(_on(host))
    await stage.create(kinds.PERSISTENT_VOLUME, name, spec=spec)
    status = {"status": {"phase": phase}}
    at = Key("", name)
    patch = requests.merge_patch(kinds.PERSISTENT_VOLUME, at, status, Document, "status")
    await stage.kube.send(patch)


async def _bind(stage: Stage, to: str) -> None:
    """What Kubernetes' controller of volumes does."""
    change = {"metadata": {"annotations": {BOUND: "yes"}}, "spec": {"volumeName": to}}
    await _patch(stage, kinds.PERSISTENT_VOLUME_CLAIM, "data", change)


def _found(stage: Stage, kind: Any, name: str) -> dict[str, Any]:
    found = stage.kube.find(kind, Key("team" if kind.namespaced else "", name))
    assert found is not None
    return found


def test_a_pod_waits_for_its_claim_and_goes_to_its_volume() -> None:
    async def story(stage: Stage) -> None:
        await _nodes(stage)
        await stage.pod("p", spec=USES)
        await stage.until(lambda: stage.condition("p").get("reason") == "ClaimMissing")
        await stage.create(kinds.PERSISTENT_VOLUME_CLAIM, "data", spec=_claim()["spec"])
        await stage.until(lambda: stage.condition("p").get("reason") == "ClaimNotBound")
        await _make_volume(stage, "v1", "n2", "Bound")
        await _bind(stage, "v1")
        assert await stage.until(lambda: stage.host("p") == "n2") < 10

    assert play(story).calls("POST /job/submit") == 1


def test_a_claim_is_told_the_node_and_the_pod_is_bound_when_it_is() -> None:
    def chosen(stage: Stage) -> str:
        notes = _found(stage, kinds.PERSISTENT_VOLUME_CLAIM, "data")["metadata"]
        return str(notes.get("annotations", {}).get(SELECTED, ""))

    async def story(stage: Stage) -> None:
        await _nodes(stage)
        await _make_class(stage, "csi.example.com")
        await stage.create(kinds.PERSISTENT_VOLUME_CLAIM, "data", spec=_claim()["spec"])
        await stage.pod("p", spec=USES)
        await stage.until(lambda: chosen(stage) == "n1")
        await stage.until(lambda: stage.condition("p").get("reason") == "VolumeNotBound")
        assert not stage.host("p")
        await _make_volume(stage, "v1", "n1", "Bound")
        await _bind(stage, "v1")
        assert await stage.until(lambda: stage.host("p") == "n1") < 3

    stage = play(story)
    asked = [" ".join(each.name) for each in stage.kube.asked]
    assert asked.count("patch PersistentVolumeClaim") == 2  # one is that of the test
    assert "watch PersistentVolumeClaim" not in asked


def test_a_local_volume_decides_and_is_given_to_the_claim() -> None:
    def owner(stage: Stage) -> str:
        spec = _found(stage, kinds.PERSISTENT_VOLUME, "v2")["spec"]
        return str((spec.get("claimRef") or {}).get("name", ""))

    async def story(stage: Stage) -> None:
        await _nodes(stage)
        await _make_class(stage, "kubernetes.io/no-provisioner")
        await _make_volume(stage, "v1", "n1", "Bound")
        await _make_volume(stage, "v2", "n2")
        await stage.create(kinds.PERSISTENT_VOLUME_CLAIM, "data", spec=_claim()["spec"])
        await stage.pod("p", spec=USES)
        await stage.until(lambda: owner(stage) == "data")
        await _bind(stage, "v2")
        await stage.until(lambda: stage.host("p") == "n2")

    play(story)


def test_pods_without_claims_ask_for_none() -> None:
    async def story(stage: Stage) -> None:
        await _nodes(stage)
        await stage.pod("p", spec={"volumes": [{"name": "tmp", "emptyDir": {}}]})
        await stage.until(lambda: bool(stage.host("p")))

    asked = play(story).kube.asked
    assert not [each for each in asked if "olume" in each.name[1]]
