"""What a RestApi owns: a Deployment, a Service, a budget, and our programs."""

from typing import Any, Final

from windlass.api import labels, names
from windlass.api.rest_api import RestApi
from windlass.kube import kinds
from windlass.operator import owned
from windlass.operator.keys import slurm_key_hash
from windlass.operator.pods.logged import PROGRAM
from windlass.operator.pods.service import Door, service
from windlass.operator.pods.template import Layers, inherited, pod_template
from windlass.operator.slurmrestd import agent
from windlass.operator.slurmrestd.conf_hash import conf_hash
from windlass.operator.slurmrestd.observe import Observed
from windlass.operator.slurmrestd.pod import DAEMON, PROXY, pod, programs_name

COMPONENT: Final = "restapi"


def door(rest_api: RestApi) -> dict[str, Any]:
    """The Service."""
    name = rest_api.metadata.name
    place = Door(
        name=names.slurmrestd(name),
        port_name=DAEMON,
        port=names.SLURMRESTD_PORT,
        # The name of a port of an init container is not known to every Kubernetes we run on.
        target=names.SLURMRESTD_PORT if rest_api.spec.tls else DAEMON,
        labels=_labels(rest_api),
        selector=labels.selector(DAEMON, name),
        beside=(agent.service_port(),) if rest_api.spec.agent.enabled else (),
    )
    return service(rest_api.metadata, kinds.REST_API, place, rest_api.spec.service)


def programs(observed: Observed) -> dict[str, Any]:
    files = [PROGRAM]
    files += [PROXY] if observed.wants_tls else []
    files += agent.FILES if observed.wants_agent else []
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(observed.rest_api, programs_name(observed.rest_api)),
        "data": {file: observed.programs[file] for file in files},
    }


def budget(rest_api: RestApi) -> dict[str, Any]:
    """Of several, all but one go on while nodes are emptied."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(rest_api, names.slurmrestd(rest_api.metadata.name)),
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": labels.selector(DAEMON, rest_api.metadata.name)},
        },
    }


def deployment(observed: Observed) -> dict[str, Any]:
    """Started again one after the other when what slurmrestd reads once changes."""
    rest_api = observed.rest_api
    name = rest_api.metadata.name
    layers = Layers(
        cr=rest_api.metadata,
        template=rest_api.spec.template,
        labels=labels.common(DAEMON, name, COMPONENT),
        annotations=_hashes(observed),
        container=DAEMON,
    )
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": _metadata(rest_api, names.slurmrestd(name)),
        "spec": {
            "replicas": rest_api.spec.replicas,
            "revisionHistoryLimit": 0,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1},
            },
            "selector": {"matchLabels": labels.selector(DAEMON, name)},
            "template": pod_template(layers, pod(observed)),
        },
    }


def _hashes(observed: Observed) -> dict[str, str]:
    keys = observed.keys
    assert keys is not None
    return {
        labels.SLURM_CONFIG_HASH: conf_hash(observed.conf or ""),
        labels.SLURM_KEY_HASH: slurm_key_hash(observed.slurm_key, keys.slurm),
    }


def _metadata(rest_api: RestApi, name: str) -> dict[str, Any]:
    at = rest_api.metadata
    return owned.metadata(at, kinds.REST_API, name, _labels(rest_api), inherited(at))


def _labels(rest_api: RestApi) -> dict[str, str]:
    own = labels.common(DAEMON, rest_api.metadata.name, COMPONENT)
    return {**(rest_api.metadata.labels or {}), **own}
