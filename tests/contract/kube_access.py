"""Ways to an API server, for the contract tests of `windlass.kube`."""

from pathlib import Path

from windlass.kube import kinds, kubeconfig, requests
from windlass.kube.access import Access
from windlass.kube.errors import AlreadyExists
from windlass.kube.reflector import Talks
from windlass.kube.wire import Anything
from windlass.local.pki import Subject
from windlass.mains import windlass
from windlass.testing.kube import RealKube


def access_of(file: Path) -> Access:
    return kubeconfig.load([file], environment={}, now=windlass.now)


def as_admin(kube: RealKube) -> Access:
    return access_of(kube.kubeconfig)


def as_user(kube: RealKube, user: str) -> Access:
    """A user whose certificate is good and whose rights are none."""
    kube.authority.ensure([Subject(user, user)])
    return access_of(kube.authority.write_kubeconfig(user, kube.server, "contract"))


async def make_namespace(client: Talks, name: str) -> str:
    """Pods need a service account, which no controller makes here."""
    namespace = {"metadata": {"name": name}}
    account = {"metadata": {"name": "default"}}
    try:
        await client.send(requests.create(kinds.NAMESPACE, "", namespace, Anything))
        await client.send(requests.create(kinds.SERVICE_ACCOUNT, name, account, Anything))
    except AlreadyExists:
        pass
    return name
