"""The control plane as data: which programs run on the host, with which arguments. Pure."""

from dataclasses import dataclass
from pathlib import Path

from windlass.local.addresses import Addresses

API_PORT = 6443
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a control plane lives: its keys, its data and the one address it listens on."""

    pki: Path
    data: Path
    address: str
    api_port: int = API_PORT
    etcd_port: int = 2379
    etcd_peer_port: int = 2380

    @property
    def server(self) -> str:
        return f"https://{self.address}:{self.api_port}"

    @property
    def etcd(self) -> str:
        return f"https://{self.address}:{self.etcd_port}"

    @property
    def etcd_peer(self) -> str:
        return f"https://{self.address}:{self.etcd_peer_port}"


def etcd(place: Place) -> list[str]:
    pki = place.pki
    return [
        "etcd",
        "--name=etcd",
        f"--data-dir={place.data / 'etcd'}",
        f"--listen-client-urls={place.etcd}",
        f"--advertise-client-urls={place.etcd}",
        f"--listen-peer-urls={place.etcd_peer}",
        f"--initial-advertise-peer-urls={place.etcd_peer}",
        f"--initial-cluster=etcd={place.etcd_peer}",
        f"--cert-file={pki / 'etcd.crt'}",
        f"--key-file={pki / 'etcd.key'}",
        f"--trusted-ca-file={pki / 'ca.crt'}",
        "--client-cert-auth=true",
        f"--peer-cert-file={pki / 'etcd.crt'}",
        f"--peer-key-file={pki / 'etcd.key'}",
        f"--peer-trusted-ca-file={pki / 'ca.crt'}",
        "--peer-client-cert-auth=true",
        # A local cluster may be lost with the machine's power, and fsync is most of etcd's time.
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def kube_apiserver(place: Place, services: str) -> list[str]:
    pki = place.pki
    return [
        "kube-apiserver",
        f"--etcd-servers={place.etcd}",
        f"--etcd-cafile={pki / 'ca.crt'}",
        f"--etcd-certfile={pki / 'apiserver-etcd.crt'}",
        f"--etcd-keyfile={pki / 'apiserver-etcd.key'}",
        f"--bind-address={place.address}",
        f"--advertise-address={place.address}",
        f"--secure-port={place.api_port}",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={pki / 'service-accounts.pub'}",
        f"--service-account-signing-key-file={pki / 'service-accounts.key'}",
        f"--service-cluster-ip-range={services}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        "--allow-privileged=true",
        f"--kubelet-certificate-authority={pki / 'ca.crt'}",
        f"--kubelet-client-certificate={pki / 'apiserver-kubelet.crt'}",
        f"--kubelet-client-key={pki / 'apiserver-kubelet.key'}",
        # Nodes are known by address only: the host does not resolve their names.
        "--kubelet-preferred-address-types=InternalIP",
        # The host has no kube-proxy, so webhooks and aggregated APIs are reached at their pods.
        "--enable-aggregator-routing=true",
        f"--requestheader-client-ca-file={pki / 'ca.crt'}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={pki / 'front-proxy.crt'}",
        f"--proxy-client-key-file={pki / 'front-proxy.key'}",
        # PodGroups of Kubernetes itself, which the bridge takes: alpha, so nobody has them unasked.
        "--runtime-config=scheduling.k8s.io/v1alpha2=true",
        "--feature-gates=GenericWorkload=true",
        "--profiling=false",
    ]


def kube_controller_manager(place: Place, addresses: Addresses) -> list[str]:
    pki = place.pki
    return [
        "kube-controller-manager",
        f"--kubeconfig={pki / 'controller-manager.conf'}",
        f"--authentication-kubeconfig={pki / 'controller-manager.conf'}",
        f"--authorization-kubeconfig={pki / 'controller-manager.conf'}",
        f"--bind-address={place.address}",
        f"--tls-cert-file={pki / 'controller-manager.crt'}",
        f"--tls-private-key-file={pki / 'controller-manager.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--requestheader-client-ca-file={pki / 'ca.crt'}",
        f"--service-account-private-key-file={pki / 'service-accounts.key'}",
        f"--root-ca-file={pki / 'ca.crt'}",
        f"--cluster-signing-cert-file={pki / 'ca.crt'}",
        f"--cluster-signing-key-file={pki / 'ca.key'}",
        "--use-service-account-credentials=true",
        f"--cluster-cidr={addresses.pods}",
        # A node's pod addresses follow from its index: routes are made before it runs.
        "--allocate-node-cidrs=false",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def kube_scheduler(place: Place) -> list[str]:
    pki = place.pki
    return [
        "kube-scheduler",
        f"--kubeconfig={pki / 'scheduler.conf'}",
        f"--authentication-kubeconfig={pki / 'scheduler.conf'}",
        f"--authorization-kubeconfig={pki / 'scheduler.conf'}",
        f"--bind-address={place.address}",
        f"--tls-cert-file={pki / 'scheduler.crt'}",
        f"--tls-private-key-file={pki / 'scheduler.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        f"--requestheader-client-ca-file={pki / 'ca.crt'}",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]
