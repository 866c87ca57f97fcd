"""The file that says how a bridge works: Slinky's keys, and ours beside them. Pure.

>>> found = read("schedulerName: mine\\npartition: pods\\npriorities: {urgent: qos=high}")
>>> found.scheduler_name, found.settings("blue").partition
('mine', 'pods')
"""

from typing import Final

import msgspec
import yaml

from windlass.bridge import admission, devices, priorities, words
from windlass.bridge.admission import Managed
from windlass.bridge.devices import DeviceMap
from windlass.bridge.identity import Policy, Table
from windlass.bridge.observe import Rules
from windlass.bridge.submission import Settings
from windlass.kube.meta import LabelSelector
from windlass.values.malformed import Malformed

URL: Final = "http://slurm-restapi.slurm:6820"


class Configuration(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"
):
    scheduler_name: str = words.SCHEDULER
    slurm_rest_api: str = URL
    slurm_agent: str = ""
    """The agent that ends jobs with their exit code; empty: jobs are cancelled, and say it."""
    managed_namespaces: tuple[str, ...] = ()
    managed_namespace_selector: LabelSelector | None = None
    mcs_label: str | None = words.MCS_LABEL
    partition: str = words.PARTITION

    cluster: str = ""
    """Names this Kubernetes cluster among those that share the Slurm; by itself its UID."""
    other_namespaces: bool = True
    """Pods of other namespaces that name the scheduler are taken too."""
    exclusive: bool = False
    default_memory: int | None = 200
    devices: dict[str, str] = {}
    """Besides those that are known."""
    priorities: dict[str, str] = {}
    node_conditions: tuple[str, ...] = ()
    """Conditions of nodes that drain them."""
    taint_nodes: bool = False
    """Keep pods of others from the nodes that Slurm gives away."""
    accounting: bool = False
    """Slurm accounts for jobs: pods of nobody are refused."""
    identities: Table = Table()

    def device_map(self) -> DeviceMap:
        own = DeviceMap.parse(self.devices)
        return DeviceMap((*own.targets, *devices.DEFAULT.targets))

    def settings(self, cluster: str) -> Settings:
        return Settings(
            cluster=self.cluster or cluster,
            scheduler=self.scheduler_name,
            partition=self.partition,
            mcs_label=self.mcs_label or None,
            exclusive=self.exclusive,
            default_memory=self.default_memory,
            priorities=priorities.parse(self.priorities),
        )

    @property
    def policy(self) -> Policy:
        return Policy(self.identities, self.accounting)

    def rules(self, cluster: str) -> Rules:
        return Rules(
            settings=self.settings(cluster),
            devices=self.device_map(),
            policy=self.policy,
            taint_nodes=self.taint_nodes,
        )

    def admission(self, bridge: str) -> admission.Rules:
        """`bridge` is the user as whom the bridge itself writes."""
        return admission.Rules(
            managed=Managed(frozenset(self.managed_namespaces), self.managed_namespace_selector),
            scheduler=self.scheduler_name,
            elsewhere=self.other_namespaces,
            devices=self.device_map(),
            policy=self.policy,
            bridge=bridge,
        )


def read(text: str) -> Configuration:
    """Raises Malformed."""
    try:
        found = msgspec.convert(yaml.safe_load(text) or {}, Configuration)
        found.device_map(), found.settings("")
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        fix = "write it as docs/reference/bridge.md shows"
        raise Malformed("configuration of the bridge", text, 0, str(error), fix) from None
    return found
