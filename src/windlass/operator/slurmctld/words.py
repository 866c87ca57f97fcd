"""Labels and annotations of what belongs to slurmctld."""

from typing import Final

from windlass.api import labels
from windlass.api.controller import Controller

NAME: Final = "slurmctld"
COMPONENT: Final = "controller"
CONFIG_SEEN: Final = "windlass.slurm.net/config-seen"
"""Of a pod. The kubelet looks at its volumes at once when this changes, not within a minute."""
SERVICE: Final = "windlass.slurm.net/service"
"""Of a Service that is one of several before the same pods."""
INTERNAL: Final = "internal"


def labels_of(controller: Controller) -> dict[str, str]:
    return labels.common(NAME, controller.metadata.name, COMPONENT)


def selector_of(controller: Controller) -> dict[str, str]:
    return labels.selector(NAME, controller.metadata.name)
