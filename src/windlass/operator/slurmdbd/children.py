"""What an Accounting owns: a Secret with slurmdbd.conf, a Service, a StatefulSet, our programs."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from windlass.api import labels, names
from windlass.api.accounting import Accounting, StorageConfig
from windlass.kube import kinds
from windlass.operator import owned
from windlass.operator.hashes import digest_map
from windlass.operator.keys import (
    entry,
    jwt_key_hash,
    jwt_key_sources,
    slurm_key_hash,
    slurm_key_sources,
)
from windlass.operator.pods.logged import PROGRAM, PROGRAMS, command
from windlass.operator.pods.merge import merge_container
from windlass.operator.pods.service import Door, service
from windlass.operator.pods.template import Layers, inherited, pod_template
from windlass.operator.slurmdbd.conf import CA, CERTIFICATE, ETC, PRIVATE_KEY
from windlass.operator.slurmdbd.observe import Observed

DAEMON: Final = "slurmdbd"
COMPONENT: Final = "accounting"
CONF: Final = "slurmdbd.conf"
WAITING: Final = "database"
"""The init container that waits until the database answers."""
WAITER: Final = "wait_for_database.py"
MODE: Final = 0o600
INHERITED: Final = ("image", "imagePullPolicy", "resources")


def secret(accounting: Accounting, conf: str) -> dict[str, Any]:
    """slurmdbd.conf, with the password in it."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(accounting, names.slurmdbd(accounting.metadata.name)),
        "data": {CONF: base64.b64encode(conf.encode()).decode()},
    }


def programs(observed: Observed) -> dict[str, Any]:
    name = f"{names.slurmdbd(observed.accounting.metadata.name)}-programs"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(observed.accounting, name),
        "data": {file: observed.programs[file] for file in (WAITER, PROGRAM)},
    }


def door(accounting: Accounting) -> dict[str, Any]:
    """The Service."""
    name = accounting.metadata.name
    place = Door(
        name=names.slurmdbd(name),
        port_name=DAEMON,
        port=names.SLURMDBD_PORT,
        target=DAEMON,
        labels=_labels(accounting),
        selector=labels.selector(DAEMON, name),
    )
    return service(accounting.metadata, kinds.ACCOUNTING, place, accounting.spec.service)


def stateful_set(observed: Observed, conf: str) -> dict[str, Any]:
    """One slurmdbd that is started again when its configuration or a key changes."""
    accounting = observed.accounting
    name = names.slurmdbd(accounting.metadata.name)
    layers = Layers(
        cr=accounting.metadata,
        template=accounting.spec.template,
        labels=labels.common(DAEMON, accounting.metadata.name, COMPONENT),
        annotations=_hashes(observed, conf),
        container=DAEMON,
    )
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": _metadata(accounting, name),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 0,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels.selector(DAEMON, accounting.metadata.name)},
            "template": pod_template(layers, _pod(observed)),
        },
    }


def _metadata(accounting: Accounting, name: str) -> dict[str, Any]:
    at = accounting.metadata
    return owned.metadata(at, kinds.ACCOUNTING, name, _labels(accounting), inherited(at))


def _labels(accounting: Accounting) -> dict[str, str]:
    own = labels.common(DAEMON, accounting.metadata.name, COMPONENT)
    return {**(accounting.metadata.labels or {}), **own}


# --- when to start again -------------------------------------------------------------------


def _hashes(observed: Observed, conf: str) -> dict[str, str]:
    keys = observed.keys
    assert keys is not None
    jwks = observed.text(keys.jwks.name, keys.jwks.key) if keys.jwks else None
    return {
        labels.SLURM_KEY_HASH: slurm_key_hash(observed.secret(keys.slurm.name), keys.slurm),
        labels.JWT_KEY_HASH: jwt_key_hash(observed.secret(keys.jwt.name), keys.jwt, jwks),
        labels.SLURMDBD_CONF_HASH: digest_map({CONF: conf, **storage_files(observed)}),
    }


def storage_files(observed: Observed) -> Mapping[str, bytes]:
    """What is there of the certificates for the database, by the place it is mounted at."""
    tls = observed.storage.tls if observed.storage else None
    found: dict[str, bytes | None] = {}
    if tls and tls.ca_ref:
        text = observed.text(tls.ca_ref.name, tls.ca_ref.key)
        found[CA] = text.encode() if text is not None else None
    if tls and tls.ca_secret_ref:
        found[CA] = entry(observed.secret(tls.ca_secret_ref.name), tls.ca_secret_ref.key)
    if tls and tls.certificate_ref:
        pair = observed.secret(tls.certificate_ref.name)
        found |= {CERTIFICATE: entry(pair, "tls.crt"), PRIVATE_KEY: entry(pair, "tls.key")}
    return {place: content for place, content in found.items() if content is not None}


# --- the pod -------------------------------------------------------------------------------


def _pod(observed: Observed) -> dict[str, Any]:
    container = merge_container(
        _container(observed.images.slurmdbd), observed.accounting.spec.slurmdbd
    )
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            **_user(),
            "fsGroup": names.SLURM_UID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "initContainers": [_waiting(observed, container)],
        "containers": [container],
        "volumes": [
            {"name": "slurm-etc", "projected": {"defaultMode": MODE, "sources": _files(observed)}},
            {"name": "run", "emptyDir": {"medium": "Memory"}},
            {
                "name": "programs",
                "configMap": {"name": programs(observed)["metadata"]["name"]},
            },
        ],
    }


def _user() -> dict[str, Any]:
    return {"runAsNonRoot": True, "runAsUser": names.SLURM_UID, "runAsGroup": names.SLURM_UID}


def _confined() -> dict[str, Any]:
    """The user, and nothing that a database client has no need of."""
    return {
        **_user(),
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


def _container(image: str) -> dict[str, Any]:
    tcp = {"tcpSocket": {"port": DAEMON}}
    patient = {**tcp, "failureThreshold": 6, "periodSeconds": 10}
    return {
        "name": DAEMON,
        "image": image,
        "command": command("slurmdbd", "-D"),
        "ports": [{"name": DAEMON, "containerPort": names.SLURMDBD_PORT, "protocol": "TCP"}],
        # slurmdbd upgrades its tables before it listens, and that may take hours.
        "startupProbe": {**tcp, "failureThreshold": 2160, "periodSeconds": 10},
        "livenessProbe": patient,
        "readinessProbe": {**tcp, "periodSeconds": 2},
        "securityContext": _confined(),
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "slurm-etc", "mountPath": ETC, "readOnly": True},
            {"name": "run", "mountPath": "/run"},
            {"name": "programs", "mountPath": PROGRAMS, "readOnly": True},
        ],
    }


def _waiting(observed: Observed, daemon: Mapping[str, Any]) -> dict[str, Any]:
    """slurmdbd itself ends or is silent without its database; this one says what it waits for."""
    storage = observed.storage
    assert storage is not None
    return {
        "name": WAITING,
        **{field: daemon[field] for field in INHERITED if field in daemon},
        "command": ["python3", f"{PROGRAMS}/{WAITER}"],
        "args": [storage.host, str(storage.port)],
        "env": [{"name": "MARKER", "value": "/run/waited-for-database"}],
        "securityContext": _confined(),
        "volumeMounts": [
            {"name": "programs", "mountPath": PROGRAMS, "readOnly": True},
            {"name": "run", "mountPath": "/run"},
        ],
    }


def _files(observed: Observed) -> list[dict[str, Any]]:
    keys, storage = observed.keys, observed.storage
    assert keys is not None
    assert storage is not None
    conf = names.slurmdbd(observed.accounting.metadata.name)
    return [
        {"secret": {"name": conf, "items": [{"key": CONF, "path": CONF}]}},
        *slurm_key_sources(keys),
        *jwt_key_sources(keys),
        *_tls_sources(storage),
    ]


def _tls_sources(storage: StorageConfig) -> list[dict[str, Any]]:
    tls = storage.tls
    sources: list[dict[str, Any]] = []
    if tls and tls.ca_ref:
        items = [{"key": tls.ca_ref.key, "path": CA}]
        sources.append({"configMap": {"name": tls.ca_ref.name, "items": items}})
    if tls and tls.ca_secret_ref:
        items = [{"key": tls.ca_secret_ref.key, "path": CA}]
        sources.append({"secret": {"name": tls.ca_secret_ref.name, "items": items}})
    if tls and tls.certificate_ref:
        items = [{"key": "tls.crt", "path": CERTIFICATE}, {"key": "tls.key", "path": PRIVATE_KEY}]
        sources.append({"secret": {"name": tls.certificate_ref.name, "items": items}})
    return sources
