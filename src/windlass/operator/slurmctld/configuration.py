"""The whole of /etc/slurm but for the keys: one ConfigMap, so that it changes at one moment.

The files of the user's ConfigMaps are copied into it. A file more or less is then no change of
the pod, so slurmctld need not restart for it.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from windlass.api import names
from windlass.kube.kinds import CONTROLLER
from windlass.kube.objects import ConfigMap
from windlass.operator import keys, owned
from windlass.operator.hashes import digest_map
from windlass.operator.plan import Body
from windlass.operator.slurmctld import files, words
from windlass.operator.slurmctld.defaults import cgroup_conf, gres_conf
from windlass.operator.slurmctld.files import Content, Files
from windlass.operator.slurmctld.observe import Observed
from windlass.operator.slurmctld.past_partitions import Past
from windlass.operator.slurmctld.services import cluster_ip
from windlass.operator.slurmctld.slurm_conf import (
    Cluster,
    SlurmConf,
    external_slurm_conf,
    slurm_conf,
)
from windlass.values.reason import Reason

# The API server takes ConfigMaps of 1 MiB, names and the like included.
LARGEST = 1_000_000


@dataclass(frozen=True, slots=True)
class Configuration:
    """Files by name, and what the user should know of them."""

    files: Mapping[str, Content]
    notes: tuple[Reason, ...] = ()

    @property
    def slurm_conf(self) -> str:
        return str(self.files.get(files.SLURM_CONF, ""))

    @property
    def fingerprint(self) -> str:
        """As the program beside slurmctld computes it: keys and hidden files do not count."""
        return digest_map({name: self.files[name] for name in self.files if _counts(name)})


def _counts(name: str) -> bool:
    return not name.startswith(".") and not name.endswith((".key", ".jwks")) and name != files.JWKS


def configuration(observed: Observed) -> Configuration | Reason:
    """What should be in force, or why that cannot be said."""
    if wait := _absent(observed):
        return wait
    there = {name: found for name, found in observed.config_maps.items() if found is not None}
    given = files.gather(observed.controller, there)
    conf = _conf(observed, given)
    if conf.faults:
        return Reason("ConfigRejected", "; ".join(map(str, conf.faults)))
    made = Configuration(_files(observed, given, conf), (*conf.notes, *_accounting(observed)))
    size = sum(len(name) + len(content) for name, content in made.files.items())
    if size > LARGEST:
        sentence = f"the configuration files have {size} bytes together; {LARGEST} fit in"
        return Reason("ConfigTooLarge", sentence)
    return made


def applied(config_map: ConfigMap) -> Configuration:
    """The configuration that an earlier pass applied."""
    return Configuration(files.entries(config_map))


def config_map(observed: Observed, made: Configuration) -> Body:
    owner = observed.controller.metadata
    texts = {name: text for name, text in made.files.items() if isinstance(text, str)}
    blobs = {name: blob for name, blob in made.files.items() if isinstance(blob, bytes)}
    body: Body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": owned.metadata(
            owner, CONTROLLER, names.config(owner.name), words.labels_of(observed.controller)
        ),
        "data": texts,
    }
    if blobs:
        body["binaryData"] = {name: base64.b64encode(blob).decode() for name, blob in blobs.items()}
    return body


def programs(observed: Observed) -> Body:
    """What runs beside the daemons of this cluster, whatever their images bring."""
    owner = observed.controller.metadata
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": owned.metadata(
            owner, CONTROLLER, names.programs(owner.name), words.labels_of(observed.controller)
        ),
        "data": dict(observed.setting.programs),
    }


def everything(observed: Observed, made: Configuration) -> str:
    """A fingerprint of all that the pod's volume should show, keys included."""
    found = {
        **made.files,
        **{f"slurm/{name}": content for name, content in _data(observed.slurm_secret)},
        **{f"jwt/{name}": content for name, content in _data(observed.jwt_secret)},
    }
    return digest_map(found if observed.jwks is None else {**found, files.JWKS: observed.jwks})


def _data(secret: Body | None) -> Iterator[tuple[str, bytes]]:
    for name in (secret or {}).get("data") or {}:
        yield name, keys.entry(secret, name) or b""


def _conf(observed: Observed, given: Files) -> SlurmConf:
    cluster = Cluster(
        controller=observed.controller,
        accounting=observed.accounting,
        address=cluster_ip(observed.service) if observed.service else "",
        node_sets=observed.node_sets,
        files=given,
        jwks=observed.jwks is not None,
        past=Past(_applied_slurm_conf(observed), observed.named_partitions),
    )
    return (
        external_slurm_conf(cluster) if observed.controller.spec.external else slurm_conf(cluster)
    )


def _applied_slurm_conf(observed: Observed) -> str:
    return applied(observed.config).slurm_conf if observed.config else ""


def _files(observed: Observed, given: Files, conf: SlurmConf) -> dict[str, Content]:
    if observed.controller.spec.external:
        return {files.SLURM_CONF: conf.text}
    ours = {files.SLURM_CONF: conf.text, files.CGROUP_CONF: cgroup_conf(observed.node_sets, given)}
    if devices := gres_conf(observed.node_sets):
        ours[files.GRES_CONF] = devices
    return {**ours, **given.content}


def _accounting(observed: Observed) -> Iterator[Reason]:
    reference = observed.controller.spec.accounting_ref
    if reference and reference.name and observed.accounting is None:
        sentence = f"Accounting {reference.name} is not there; slurmctld waits for its slurmdbd"
        yield Reason("AccountingMissing", sentence)


def _absent(observed: Observed) -> Reason | None:
    jwks = observed.keys.jwks
    optional = {jwks.name} if jwks and jwks.optional else set()
    optional -= {*files.referenced(observed.controller)}
    absent = {name for name, found in observed.config_maps.items() if found is None}
    needed = sorted(absent - optional)
    if not needed:
        return None
    plural = "ConfigMaps" if len(needed) > 1 else "ConfigMap"
    verb = "are" if len(needed) > 1 else "is"
    return Reason("ConfigMapMissing", f"{plural} {', '.join(needed)} {verb} not there")
