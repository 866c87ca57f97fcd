"""The StatefulSet of slurmctld: its pod, its volumes, and the claim for its state."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from windlass.api import labels, names
from windlass.api.controller import Controller, Persistence
from windlass.kube.kinds import CONTROLLER
from windlass.operator import keys, owned
from windlass.operator.keys import Keys
from windlass.operator.plan import Body
from windlass.operator.pods.template import Layers, inherited, pod_template
from windlass.operator.slurmctld import identity, words
from windlass.operator.slurmctld.changes import restart_part
from windlass.operator.slurmctld.configuration import Configuration
from windlass.operator.slurmctld.containers import containers, init_containers
from windlass.operator.slurmctld.observe import Observed
from windlass.values.malformed import Malformed
from windlass.values.quantity import Quantity

STATE: Final = "statesave"
USUAL_CLAIM: Final = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "4Gi"}},
}
OURS: Final = frozenset({"enabled", "existingClaim", "retentionPolicy"})
FIXED: Final = ("serviceName", "selector", "podManagementPolicy", "volumeClaimTemplates")
"""What the API server does not let anyone change."""


def stateful_set(observed: Observed, made: Configuration) -> Body:
    controller = observed.controller
    owner = controller.metadata
    several = identity.replicas(controller) > 1
    spec: Body = {
        "replicas": identity.replicas(controller),
        "revisionHistoryLimit": 0,
        "serviceName": names.slurmctld_internal(owner.name),
        # Those that wait for the active one to fail are never ready, so nothing may wait for them;
        # what is outdated is then replaced by rollout.py.
        "podManagementPolicy": "Parallel" if several else "OrderedReady",
        "updateStrategy": {"type": "OnDelete" if several else "RollingUpdate"},
        "selector": {"matchLabels": words.selector_of(controller)},
        "template": _template(observed, made),
    }
    if claim := _claim(controller.spec.persistence):
        spec["volumeClaimTemplates"] = [claim]
        spec["persistentVolumeClaimRetentionPolicy"] = {
            "whenDeleted": controller.spec.persistence.retention_policy,
            "whenScaled": "Retain",
        }
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": owned.metadata(
            owner,
            CONTROLLER,
            names.slurmctld(owner.name),
            {**(owner.labels or {}), **words.labels_of(controller)},
            inherited(owner),
        ),
        "spec": spec,
    }


def must_be_made_anew(rendered: Body, live: Body | None) -> bool:
    """Whether a field that cannot be changed is not as it should be."""
    if live is None:
        return False
    want, have = rendered["spec"], live.get("spec") or {}
    claims = (
        len(want.get("volumeClaimTemplates") or ()),
        len(have.get("volumeClaimTemplates") or ()),
    )
    return claims[0] != claims[1] or not all(
        _within(want.get(key), have.get(key)) for key in FIXED if want.get(key) is not None
    )


# --- the pod ------------------------------------------------------------------------------------


def _template(observed: Observed, made: Configuration) -> Body:
    controller = observed.controller
    layers = Layers(
        cr=controller.metadata,
        template=controller.spec.template,
        labels=words.labels_of(controller),
        annotations=_hashes(observed, made),
        container="slurmctld",
    )
    spec: Body = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": names.SLURM_UID,
            "runAsGroup": names.SLURM_UID,
            "fsGroup": names.SLURM_UID,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {"podAntiAffinity": _apart(controller)},
        "initContainers": init_containers(observed),
        "containers": containers(observed),
        "volumes": _volumes(observed),
    }
    if identity.replicas(controller) == 1:
        # Commands in the pod that go by its name need neither DNS nor kube-proxy.
        alias = {"ip": "127.0.0.1", "hostnames": [identity.host(controller)]}
        spec["hostAliases"] = [alias]
    if (controller.spec.template.spec or {}).get("hostNetwork"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    return pod_template(layers, spec)


def _hashes(observed: Observed, made: Configuration) -> dict[str, str]:
    """What slurmctld reads only when it starts."""
    used = observed.keys
    return {
        labels.SLURM_KEY_HASH: keys.slurm_key_hash(observed.slurm_secret, used.slurm),
        labels.JWT_KEY_HASH: keys.jwt_key_hash(observed.jwt_secret, used.jwt),
        labels.SLURM_CONFIG_HASH: restart_part(made.slurm_conf),
    }


def _apart(controller: Controller) -> dict[str, Any]:
    term = {
        "labelSelector": {"matchLabels": words.selector_of(controller)},
        "topologyKey": "kubernetes.io/hostname",
    }
    if identity.replicas(controller) > 1:
        return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    wish = {"weight": 100, "podAffinityTerm": term}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}


# --- volumes ------------------------------------------------------------------------------------


def _volumes(observed: Observed) -> list[Body]:
    name = observed.controller.metadata.name
    used = observed.keys
    if observed.jwks is None:
        used = Keys(used.slurm, used.jwt)
    sources = [
        {"configMap": {"name": names.config(name)}},
        *keys.slurm_key_sources(used),
        *keys.jwt_key_sources(used),
    ]
    return [
        {"name": "slurm-etc", "emptyDir": {"medium": "Memory"}},
        {"name": "slurm-config", "projected": {"defaultMode": 0o440, "sources": sources}},
        {"name": "slurm-logfile", "emptyDir": {"medium": "Memory"}},
        {"name": "run", "emptyDir": {"medium": "Memory"}},
        {"name": "slurm-authsocket", "emptyDir": {}},
        {"name": "programs", "configMap": {"name": names.programs(name)}},
        *_state(observed.controller.spec.persistence),
    ]


def _state(persistence: Persistence) -> list[Body]:
    """Where the state is, unless in a claim that the StatefulSet makes."""
    if not persistence.enabled:
        return [{"name": STATE, "emptyDir": {}}]
    if persistence.existing_claim:
        source = {"claimName": persistence.existing_claim}
        return [{"name": STATE, "persistentVolumeClaim": source}]
    return []


def _claim(persistence: Persistence) -> Body | None:
    if not persistence.enabled or persistence.existing_claim:
        return None
    given = msgspec.to_builtins(persistence)
    spec = {name: value for name, value in given.items() if name not in OURS}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": STATE},
        "spec": {**USUAL_CLAIM, **spec},
    }


# --- comparing ----------------------------------------------------------------------------------


def _within(want: Any, have: Any) -> bool:
    """Whether all that is wanted is there; the server adds fields, and has its own 4096Mi."""
    if isinstance(want, Mapping):
        return isinstance(have, Mapping) and all(
            _within(value, have.get(key)) for key, value in want.items()
        )
    if isinstance(want, list):
        return (
            isinstance(have, list)
            and len(want) == len(have)
            and all(_within(one, other) for one, other in zip(want, have, strict=True))
        )
    return bool(want == have) or _same_amount(want, have)


def _same_amount(want: Any, have: Any) -> bool:
    try:
        return Quantity.parse(str(want)) == Quantity.parse(str(have))
    except Malformed:
        return False
