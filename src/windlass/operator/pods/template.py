"""The template of a pod: labels and annotations in layers, a user's spec over ours."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from windlass.api import labels as known
from windlass.api.common import PodTemplate
from windlass.kube.meta import Meta
from windlass.operator.pods.merge import merge_pod_spec

# Bookkeeping of the tools that applied a custom resource; of no meaning on its pods.
NOT_INHERITED: Final = ("kubectl.kubernetes.io/last-applied-configuration",)


@dataclass(frozen=True, kw_only=True, slots=True)
class Layers:
    """What a pod's metadata is made of, the later over the earlier."""

    cr: Meta
    template: PodTemplate
    labels: Mapping[str, str]
    annotations: Mapping[str, str] = field(default_factory=dict)
    container: str


def pod_template(layers: Layers, spec: Mapping[str, Any]) -> dict[str, Any]:
    """A pod template, or the metadata and spec of a pod without a name."""
    return {
        "metadata": {"labels": _labels(layers), "annotations": _annotations(layers)},
        "spec": merge_pod_spec(spec, layers.template.spec),
    }


def inherited(cr: Meta) -> dict[str, str]:
    """The annotations of a custom resource that its children carry too."""
    given = cr.annotations or {}
    return {name: value for name, value in given.items() if name not in NOT_INHERITED}


def _labels(layers: Layers) -> dict[str, str]:
    user = layers.template.metadata
    return {
        **(layers.cr.labels or {}),
        **((user.labels if user else None) or {}),
        **layers.labels,
    }


def _annotations(layers: Layers) -> dict[str, str]:
    user = layers.template.metadata
    return {
        **inherited(layers.cr),
        **((user.annotations if user else None) or {}),
        **layers.annotations,
        known.DEFAULT_CONTAINER: layers.container,
    }
