"""What every cluster has beyond its control plane: kube-proxy's rights, DNS and volumes."""

from collections.abc import Mapping
from pathlib import Path
from string import Template

from windlass.local.addresses import Addresses
from windlass.local.kubectl import Kubectl

MANIFESTS = Path(__file__).with_name("manifests")
IMAGES = ("base", "coredns", "local-path-provisioner")
DEPLOYMENTS = (("kube-system", "coredns"), ("windlass-storage", "provisioner"))


def rights() -> str:
    """What kube-proxy may do; nodes need it from the start."""
    return render("proxy", {})


def manifest(addresses: Addresses, images: Mapping[str, str]) -> str:
    """DNS and volumes as one stream; `images` maps an image's name to its reference.

    To be applied when nodes are Ready: pods that find no node are tried again ever more seldom.
    """
    values = {
        "base_image": images["base"],
        "coredns_image": images["coredns"],
        "dns_address": str(addresses.dns_service),
        "provisioner_image": images["local-path-provisioner"],
    }
    return "---\n".join(render(name, values) for name in ("dns", "storage"))


def render(name: str, values: Mapping[str, str]) -> str:
    """A manifest of ours with its `${names}` filled in; a missing one is an error."""
    return Template((MANIFESTS / f"{name}.yaml").read_text()).substitute(values)


def wait_until_available(kubectl: Kubectl, seconds: int) -> None:
    for namespace, name in DEPLOYMENTS:
        kubectl(
            *("rollout", "status", f"deployment/{name}"),
            *("--namespace", namespace, f"--timeout={seconds}s"),
        )
