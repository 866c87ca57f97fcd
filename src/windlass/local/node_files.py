"""The files that a node is configured by. Pure."""

import json
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_address

CLUSTER_DOMAIN = "cluster.local"


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What a node needs to know of itself."""

    name: str
    address: IPv4Address
    pods: IPv4Network
    cluster_pods: IPv4Network
    dns: IPv4Address
    cgroup: str
    pause_image: str
    resolv_conf: str


def files(plan: NodePlan) -> dict[str, str]:
    """File name -> content, as the node sees them in its configuration folder."""
    return {
        "node.env": node_env(plan),
        "kubelet.json": json.dumps(kubelet(plan), indent=2),
        "containerd.toml": containerd(plan),
        "cni/10-windlass.conflist": json.dumps(cni(plan), indent=2),
        "resolv.conf": plan.resolv_conf,
    }


def node_env(plan: NodePlan) -> str:
    return f"NODE_NAME={plan.name}\nNODE_ADDRESS={plan.address}\nCLUSTER_PODS={plan.cluster_pods}\n"


def kubelet(plan: NodePlan) -> dict[str, object]:
    never = {"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"}
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": "/windlass/node/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": "/windlass/node/kubelet.crt",
        "tlsPrivateKeyFile": "/windlass/node/kubelet.key",
        "clusterDNS": [str(plan.dns)],
        "clusterDomain": CLUSTER_DOMAIN,
        "resolvConf": "/etc/resolv.conf",
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{plan.cgroup}",
        # Without this, kubelet 1.36 refuses to start on cgroup v1.
        "failCgroupV1": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        # The machine's disk is shared with everything else on it: a full one must not evict pods
        # or delete the images that were loaded by hand and can be pulled from nowhere.
        "evictionHard": never,
        "imageGCHighThresholdPercent": 100,
        "serializeImagePulls": False,
    }


def containerd(plan: NodePlan) -> str:
    return f"""version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '{plan.pause_image}'
[plugins.'io.containerd.cri.v1.runtime']
# Without CAP_SYS_RESOURCE an oom score cannot be lowered; do as far as it goes.
restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['/usr/lib/cni']
conf_dir = '/windlass/node/cni'
"""


def cni(plan: NodePlan) -> dict[str, object]:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        # The host masquerades what leaves the cluster's block; inside it, pods keep their address.
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": str(plan.pods)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "1.0.0", "name": "windlass", "plugins": [bridge, portmap]}


def resolv_conf(host: str, fallback: IPv4Address) -> str:
    """The host's name servers that a node can reach: one on the host's loopback is not there."""
    lines = [line for line in host.splitlines() if _is_reachable_server(line)]
    return "\n".join(lines or [f"nameserver {fallback}"]) + "\n"


def _is_reachable_server(line: str) -> bool:
    words = line.split()
    if len(words) < 2 or words[0] != "nameserver":
        return False
    try:
        return not ip_address(words[1]).is_loopback
    except ValueError:
        return False
