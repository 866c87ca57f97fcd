"""The Deployment of login pods."""

from collections.abc import Mapping
from typing import Any

from windlass.api import labels, names
from windlass.api.login_set import LoginSet
from windlass.kube.kinds import LOGIN_SET
from windlass.operator import joining, owned
from windlass.operator.hashes import digest, digest_map
from windlass.operator.keys import slurm_key_hash, slurm_key_sources
from windlass.operator.logins import ssh_config, words
from windlass.operator.logins.containers import initconf, login
from windlass.operator.logins.observe import Observed
from windlass.operator.membership import Membership
from windlass.operator.pods.template import Layers, inherited, pod_template


def deployment(observed: Observed, cluster: Membership) -> dict[str, Any]:
    """As long as only root's keys change, this stays the same and sessions go on."""
    login_set = observed.login_set
    owner = login_set.metadata
    spec: dict[str, Any] = {
        "replicas": login_set.spec.replicas,
        "revisionHistoryLimit": 0,
        "selector": {"matchLabels": words.selector_labels(owner)},
        "template": _template(observed, cluster),
    }
    if login_set.spec.strategy:
        spec["strategy"] = login_set.spec.strategy
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": owned.metadata(
            owner,
            LOGIN_SET,
            owner.name,
            {**(owner.labels or {}), **words.common_labels(owner)},
            inherited(owner),
        ),
        "spec": spec,
    }


def _template(observed: Observed, cluster: Membership) -> dict[str, Any]:
    login_set = observed.login_set
    layers = Layers(
        cr=login_set.metadata,
        template=login_set.spec.template,
        labels=words.common_labels(login_set.metadata),
        annotations=_hashes(observed, cluster),
        container=words.CONTAINER,
    )
    domain = joining.workers_domain(cluster.controller, observed.site.domain)
    spec: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "dnsConfig": {"searches": [domain]},
        "initContainers": [initconf(login_set, observed.site.images.login)],
        "containers": [login(observed, cluster.controller)],
        "volumes": _volumes(observed, cluster),
    }
    if (login_set.spec.template.spec or {}).get("hostNetwork"):
        spec["dnsPolicy"] = "ClusterFirstWithHostNet"
    return pod_template(layers, spec)


def _hashes(observed: Observed, cluster: Membership) -> Mapping[str, str]:
    """What a running pod does not notice by itself; sessions end when one of these changes."""
    config = ssh_config.sshd_config(observed.login_set.spec.extra_sshd_config)
    hashes = {
        labels.SLURM_KEY_HASH: slurm_key_hash(cluster.slurm_secret, cluster.keys.slurm),
        labels.SSH_HOST_KEYS_HASH: digest_map(observed.host_keys),
        labels.SSHD_CONF_HASH: digest(config),
    }
    if observed.sssd_conf is not None:
        hashes[labels.SSSD_CONF_HASH] = digest(observed.sssd_conf)
    return hashes


def _volumes(observed: Observed, cluster: Membership) -> list[dict[str, Any]]:
    login_set = observed.login_set
    name = login_set.metadata.name
    sources = slurm_key_sources(cluster.keys)
    config = names.ssh_config(name)
    keys = [{"key": words.AUTHORIZED_KEYS, "path": "root"}]
    volumes: list[dict[str, Any]] = [
        {"name": "slurm-etc", "emptyDir": {"medium": "Memory"}},
        {
            "name": "slurm-config",
            "projected": {"defaultMode": 0o600, "sources": sources},
        },
        {"name": "sackd-dir", "emptyDir": {"medium": "Memory"}},
        {
            "name": "ssh-host-keys",
            "secret": {"secretName": names.ssh_host_keys(name), "defaultMode": 0o600},
        },
        {"name": "ssh-config", "configMap": {"name": config, "defaultMode": 0o600}},
        {
            "name": "ssh-authorized-keys",
            "configMap": {"name": config, "defaultMode": 0o644, "items": keys},
        },
    ]
    return [*volumes, *_sssd_volume(login_set, observed.sssd_conf)]


def _sssd_volume(login_set: LoginSet, content: bytes | None) -> list[dict[str, Any]]:
    reference = login_set.spec.sssd_conf_ref
    if reference is None or content is None:
        return []
    items = [{"key": reference.key, "path": words.SSSD_CONF}]
    source = {"secretName": reference.name, "defaultMode": 0o600, "items": items}
    return [{"name": "sssd-conf", "secret": source}]
