"""Everything that a pass over a LoginSet reads."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from windlass.api import names
from windlass.api.login_set import LoginSet
from windlass.kube import kinds
from windlass.kube.objects import Deployment, Pod, Secret
from windlass.kube.wire import Document
from windlass.operator.keys import entry
from windlass.operator.logins import words
from windlass.operator.membership import Membership, membership
from windlass.operator.reading import decode
from windlass.operator.site import Site
from windlass.operator.world import View
from windlass.values.key import Key

HostKeys: TypeAlias = Mapping[str, bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    login_set: LoginSet
    membership: Membership | None = None
    sssd_conf: bytes | None = field(default=None, repr=False)
    host_keys: HostKeys = field(repr=False)
    host_keys_kept: bool
    """Whether the host keys are in their Secret; if not they are new."""
    deployment: Deployment | None = None
    pods: tuple[Pod, ...] = ()
    service: dict[str, Any] | None = None
    site: Site = field(default_factory=Site)


@dataclass(frozen=True, slots=True)
class Observer:
    """Reads for a pass; what it is made with is the same for all of them."""

    site: Site
    make_host_keys: Callable[[], HostKeys]
    """Called where a LoginSet has none yet, in a thread: it takes half a second."""

    async def observe(self, view: View, document: Document) -> Observed:
        login_set = decode(document, LoginSet)
        key, spec = login_set.metadata.key, login_set.spec
        kept = await view.read(kinds.SECRET, Key(key.namespace, names.ssh_host_keys(key.name)))
        deployment, service = view.get(kinds.DEPLOYMENT, key), view.get(kinds.SERVICE, key)
        return Observed(
            login_set=login_set,
            membership=await membership(view, key.namespace, spec.controller_ref),
            sssd_conf=await _sssd_conf(view, login_set),
            host_keys=await self._host_keys(kept),
            host_keys_kept=kept is not None,
            deployment=decode(deployment, Deployment) if deployment else None,
            pods=tuple(view.pods(kinds.LOGIN_SET, key)),
            service=service.body if service else None,
            site=self.site,
        )

    async def _host_keys(self, kept: Document | None) -> HostKeys:
        if kept is None:
            return await asyncio.to_thread(self.make_host_keys)
        return host_keys_in(decode(kept, Secret))


def host_keys_in(secret: Secret) -> HostKeys:
    """The pairs of a Secret, which may be the user's own and have fewer sorts of keys than ours."""
    data = secret.data or {}
    whole = [file for file in words.HOST_KEYS if file in data and f"{file}.pub" in data]
    return {name: data[name] for file in whole for name in (file, f"{file}.pub")}


async def _sssd_conf(view: View, login_set: LoginSet) -> bytes | None:
    reference = login_set.spec.sssd_conf_ref
    if reference is None:
        return None
    found = await view.read(kinds.SECRET, Key(login_set.metadata.namespace, reference.name))
    return entry(found.body, reference.key) if found else None
