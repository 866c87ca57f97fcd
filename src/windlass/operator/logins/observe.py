"""Everything that a pass over a LoginSet reads."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from windlass.api import names
from windlass.api.common import SecretKey
from windlass.api.controller import Controller
from windlass.api.login_set import LoginSet
from windlass.kube.kinds import CONTROLLER, DEPLOYMENT, LOGIN_SET, SECRET, SERVICE, Kind
from windlass.kube.objects import Deployment, Secret
from windlass.kube.wire import Document
from windlass.operator import joining
from windlass.operator.logins import words
from windlass.operator.site import Site
from windlass.values.key import Key

HostKeys = Mapping[str, bytes]


class World(Protocol):
    """The caches, and what is fetched when it changed."""

    def get(self, kind: Kind, key: Key) -> Document | None: ...

    async def read(self, kind: Kind, key: Key) -> Document | None: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    login_set: LoginSet
    controller: Controller | None = None
    slurm_key: bytes | None = None
    sssd_conf: bytes | None = None
    host_keys: HostKeys
    host_keys_kept: bool
    """Whether the host keys are in their Secret; if not they are new."""
    deployment: Deployment | None = None
    service: dict[str, Any] | None = None
    site: Site


async def observe(
    world: World, key: Key, site: Site, make_host_keys: Callable[[], HostKeys]
) -> Observed | None:
    """Read it all; None where the LoginSet is gone or going. Host keys are made if absent."""
    found = world.get(LOGIN_SET, key)
    if found is None or found.metadata.deletion_timestamp is not None:
        return None
    login_set = msgspec.convert(found.body, LoginSet)
    controller = _controller(world, login_set)
    kept = await _secret(world, Key(key.namespace, names.ssh_host_keys(key.name)))
    deployment, service = world.get(DEPLOYMENT, key), world.get(SERVICE, key)
    return Observed(
        login_set=login_set,
        controller=controller,
        slurm_key=await _slurm_key(world, controller),
        sssd_conf=await _entry(world, key.namespace, login_set.spec.sssd_conf_ref),
        host_keys=await asyncio.to_thread(make_host_keys) if kept is None else host_keys_in(kept),
        host_keys_kept=kept is not None,
        deployment=msgspec.convert(deployment.body, Deployment) if deployment else None,
        service=service.body if service else None,
        site=site,
    )


def host_keys_in(secret: Secret) -> HostKeys:
    """The pairs of a Secret, which may be the user's own and have fewer sorts of keys than ours."""
    data = secret.data or {}
    whole = [file for file in words.HOST_KEYS if file in data and f"{file}.pub" in data]
    return {name: data[name] for file in whole for name in (file, f"{file}.pub")}


def _controller(world: World, login_set: LoginSet) -> Controller | None:
    """Only one of the same namespace: its key could not be mounted from another."""
    own = login_set.metadata.namespace
    reference = login_set.spec.controller_ref
    if (reference.namespace or own) != own:
        return None
    found = world.get(CONTROLLER, Key(own, reference.name))
    return msgspec.convert(found.body, Controller) if found else None


async def _slurm_key(world: World, controller: Controller | None) -> bytes | None:
    if controller is None:
        return None
    return await _entry(world, controller.metadata.namespace, joining.slurm_key(controller))


async def _entry(world: World, namespace: str, reference: SecretKey | None) -> bytes | None:
    if reference is None:
        return None
    secret = await _secret(world, Key(namespace, reference.name))
    return (secret.data or {}).get(reference.key) if secret else None


async def _secret(world: World, key: Key) -> Secret | None:
    found = await world.read(SECRET, key)
    return msgspec.convert(found.body, Secret) if found else None
