"""Links, routes and firewall rules of the host; every one of them carries the cluster's prefix."""

import json
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from windlass.local.addresses import Addresses
from windlass.local.errors import CommandFailed
from windlass.local.process import run
from windlass.local.record import NodeRecord

TABLES = ("nat", "filter")
REFUSE = ("-j", "REJECT", "--reject-with", "icmp-port-unreachable")


def routed_networks(except_for: str = "") -> list[IPv4Network]:
    """What the host reaches, other than by its default route or by the link `except_for`."""
    routes = json.loads(run(["ip", "-4", "-j", "route", "show", "table", "all", "type", "unicast"]))
    return [
        IPv4Network(route["dst"], strict=False)
        for route in routes
        if route["dst"] != "default" and route.get("dev") != (except_for or None)
    ]


@dataclass(frozen=True, slots=True)
class Network:
    """The host's side of one cluster's network: a bridge, and a veth and a route for each node."""

    prefix: str
    addresses: Addresses

    def rules(self) -> list[tuple[str, str, list[str]]]:
        """Firewall rules as (table, chain, rule); each names the bridge. The last stands first."""
        block = str(self.addresses.block)
        services = str(self.addresses.services)
        outside = ["!", "-d", block, "!", "-o", self.prefix]
        return [
            ("nat", "POSTROUTING", ["-s", block, *outside, "-j", "MASQUERADE"]),
            ("filter", "FORWARD", ["-i", self.prefix, "-j", "ACCEPT"]),
            ("filter", "FORWARD", ["-o", self.prefix, "-j", "ACCEPT"]),
            # A service that kube-proxy does not know (yet) is refused at once; sent on to the
            # default gateway, a connection would hang for two minutes.
            ("filter", "FORWARD", ["-d", services, "-i", self.prefix, *REFUSE]),
        ]

    def up(self) -> None:
        """Make what is missing of the bridge, its address and the rules."""
        if self.prefix not in links():
            run(["ip", "link", "add", self.prefix, "type", "bridge"])
        gateway = f"{self.addresses.gateway}/{self.addresses.nodes.prefixlen}"
        run(["ip", "address", "replace", gateway, "dev", self.prefix])
        run(["ip", "link", "set", self.prefix, "up"])
        for table, chain, rule in self.rules():
            if not _has_rule(table, chain, rule):
                run(["iptables", "-w", "-t", table, "-I", chain, *rule])

    def plug(self, node: NodeRecord, pid: int) -> None:
        """Join the network namespace of `pid` to the bridge as `node`."""
        outer, address = self.link(node), str(self.addresses.node(node.index))
        delete_link(outer)
        run(["ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", str(pid)])
        run(["ip", "link", "set", outer, "master", self.prefix, "up"])
        inner = ["nsenter", "-t", str(pid), "-n", "ip"]
        run([*inner, "link", "set", "lo", "up"])
        length = self.addresses.nodes.prefixlen
        run([*inner, "address", "add", f"{address}/{length}", "dev", "eth0"])
        run([*inner, "link", "set", "eth0", "up"])
        run([*inner, "route", "add", "default", "via", str(self.addresses.gateway)])
        pods = str(self.addresses.pods_of(node.index))
        run(["ip", "route", "replace", pods, "via", address, "dev", self.prefix])

    def unplug(self, node: NodeRecord) -> None:
        delete_link(self.link(node))
        pods = str(self.addresses.pods_of(node.index))
        if run(["ip", "route", "show", pods]).strip():
            run(["ip", "route", "delete", pods])

    def link(self, node: NodeRecord) -> str:
        return f"{self.prefix}n{node.index}"


def remove(prefix: str) -> None:
    """Remove every link (routes go with it) and rule of a cluster, known by its prefix alone."""
    for link in sorted(links(prefix), reverse=True):
        delete_link(link)
    for table, rule in rules_naming(prefix):
        run(["iptables", "-w", "-t", table, "-D", *rule])


def delete_link(name: str) -> None:
    """Delete a link; one whose namespace is just dying may be gone before we come to it."""
    try:
        run(["ip", "link", "delete", name])
    except CommandFailed:
        if name in links():
            raise


def links(prefix: str = "") -> set[str]:
    return {path.name for path in Path("/sys/class/net").iterdir() if path.name.startswith(prefix)}


def rules_naming(prefix: str) -> list[tuple[str, list[str]]]:
    """The rules that name a cluster's bridge, as (table, chain and rule)."""
    return [
        (table, line.split()[1:])
        for table in TABLES
        for line in run(["iptables-save", "-t", table]).splitlines()
        if line.startswith("-A ") and prefix in line.split()
    ]


def _has_rule(table: str, chain: str, rule: list[str]) -> bool:
    wanted = " ".join([chain, *rule])
    saved = (line for line in run(["iptables-save", "-t", table]).splitlines())
    return any(line.removeprefix("-A ") == wanted for line in saved)
