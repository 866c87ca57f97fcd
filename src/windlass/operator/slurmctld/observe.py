"""Everything that a pass over a Controller reads."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from windlass.api import names
from windlass.api.accounting import Accounting
from windlass.api.common import SecretKey
from windlass.api.controller import Controller
from windlass.api.node_set import NodeSet
from windlass.kube import kinds
from windlass.kube.objects import ConfigMap, Pod
from windlass.kube.wire import Document
from windlass.operator import keys
from windlass.operator.keys import Keys
from windlass.operator.reading import decode
from windlass.operator.site import Site
from windlass.operator.slurmctld import files
from windlass.operator.slurmctld.report import Report
from windlass.operator.slurms.seen import SeesSlurm, silent
from windlass.operator.world import View
from windlass.values.key import Key

Body: TypeAlias = dict[str, Any]
Ask: TypeAlias = Callable[[Pod, bytes], Awaitable[Report | None]]
"""Asks the program beside slurmctld for its report, which is signed with this key."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What does not come from the API server."""

    site: Site = field(default_factory=Site)
    programs: Mapping[str, str] = field(default_factory=dict)
    """The texts of windlass.inpod, by file name."""
    monitors: bool = False
    """Whether ServiceMonitor is a kind here."""
    slurm: SeesSlurm = silent


@dataclass(frozen=True, slots=True)
class FreshKeys:
    """New keys, for a cluster that has none."""

    slurm: bytes
    jwt: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    controller: Controller
    setting: Setting
    fresh: FreshKeys
    accounting: Accounting | None = None
    node_sets: tuple[NodeSet, ...] = ()
    config_maps: Mapping[str, ConfigMap | None] = field(default_factory=dict)
    """Those that are referred to; None for one that is not there."""
    slurm_secret: Body | None = None
    jwt_secret: Body | None = None
    config: ConfigMap | None = None
    """What was applied last."""
    service: Body | None = None
    """The one that clients use."""
    stateful_set: Body | None = None
    monitor: Body | None = None
    pods: tuple[Pod, ...] = ()
    report: Report | None = None
    named_partitions: frozenset[str] | None = frozenset()
    """Those that jobs name; None where Slurm was asked and did not answer."""

    @property
    def placed(self) -> bool:
        """Whether it can be said where clients find slurmctld."""
        return self.service is not None or self.controller.spec.external

    @property
    def keys(self) -> Keys:
        return keys.effective_keys(self.controller, self.accounting)

    @property
    def jwks(self) -> files.Content | None:
        """The key set, if there is one."""
        reference = self.keys.jwks
        found = self.config_maps.get(reference.name) if reference else None
        return files.entries(found).get(reference.key) if reference and found else None


async def observe(
    view: View, document: Document, setting: Setting, fresh: FreshKeys, ask: Ask
) -> Observed:
    controller = decode(document, Controller)
    at = controller.metadata.key
    accounting = _accounting(view, controller)
    used = keys.effective_keys(controller, accounting)
    jwt = await _body(view, Key(at.namespace, used.jwt.name))
    pods = tuple(view.pods(kinds.CONTROLLER, at))
    own = Key(at.namespace, names.slurmctld(at.name))
    service = view.get(kinds.SERVICE, own)
    stateful_set, monitor = view.get(kinds.STATEFUL_SET, own), view.get(kinds.SERVICE_MONITOR, own)
    return Observed(
        controller=controller,
        setting=setting,
        fresh=fresh,
        accounting=accounting,
        node_sets=tuple(
            decode(each, NodeSet) for each in view.referring(kinds.NODE_SET, (kinds.CONTROLLER, at))
        ),
        config_maps={
            name: await _config_map(view, Key(at.namespace, name))
            for name in _config_map_names(controller, used)
        },
        slurm_secret=await _body(view, Key(at.namespace, used.slurm.name)),
        jwt_secret=jwt,
        config=await _config_map(view, Key(at.namespace, names.config(at.name))),
        service=service.body if service else None,
        stateful_set=stateful_set.body if stateful_set else None,
        monitor=monitor.body if monitor else None,
        pods=pods,
        report=await _report(pods, keys.entry(jwt, used.jwt.key), ask),
        named_partitions=_named_partitions(view, controller, setting.slurm),
    )


def _named_partitions(
    view: View, controller: Controller, slurm: SeesSlurm
) -> frozenset[str] | None:
    """Without a RestApi nobody can say, ever: then the user's word counts."""
    seen = slurm(controller)
    if seen is not None:
        return frozenset(seen.queues)
    at = (kinds.CONTROLLER, controller.metadata.key)
    return None if view.referring(kinds.REST_API, at) else frozenset()


def has_key(secret: Body | None, reference: SecretKey) -> bool:
    return keys.entry(secret, reference.key) is not None


def _config_map_names(controller: Controller, used: Keys) -> tuple[str, ...]:
    jwks = (used.jwks.name,) if used.jwks else ()
    return tuple(dict.fromkeys((*files.referenced(controller), *jwks)))


def _accounting(view: View, controller: Controller) -> Accounting | None:
    reference = controller.spec.accounting_ref
    if reference is None or not reference.name:
        return None
    found = view.get(kinds.ACCOUNTING, Key(controller.metadata.namespace, reference.name))
    return decode(found, Accounting) if found else None


async def _config_map(view: View, key: Key) -> ConfigMap | None:
    found = await view.read(kinds.CONFIG_MAP, key)
    return decode(found, ConfigMap) if found else None


async def _body(view: View, key: Key) -> Body | None:
    found = await view.read(kinds.SECRET, key)
    return found.body if found else None


async def _report(pods: tuple[Pod, ...], key: bytes | None, ask: Ask) -> Report | None:
    """The word of the one that serves; with several, those that wait have none."""
    running = [pod for pod in pods if pod.status.pod_ip and pod.metadata.deletion_timestamp is None]
    ready = [pod for pod in running if is_ready(pod)]
    chosen = next(iter((*ready, *running)), None)
    return await ask(chosen, key) if chosen and key else None


def is_ready(pod: Pod) -> bool:
    given = {condition.type: condition.status for condition in pod.status.conditions or ()}
    return given.get("Ready") == "True" and pod.metadata.deletion_timestamp is None
