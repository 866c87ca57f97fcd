"""The metadata of what a custom resource owns: with it made, with it removed."""

from collections.abc import Mapping
from typing import Any

from windlass.kube.kinds import Kind
from windlass.kube.meta import Meta


def metadata(
    owner: Meta,
    kind: Kind,
    name: str,
    labels: Mapping[str, str],
    annotations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Metadata of a child that this owner manages."""
    made: dict[str, Any] = {
        "name": name,
        "namespace": owner.namespace,
        "labels": dict(labels),
        "ownerReferences": [{**reference(owner, kind), "controller": True}],
    }
    if annotations:
        made["annotations"] = dict(annotations)
    return made


def reference(owner: Meta, kind: Kind) -> dict[str, Any]:
    """A reference to one of several owners; none of them manages the child alone."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner.name,
        "uid": owner.uid,
        "blockOwnerDeletion": True,
    }
