"""What a pass over a RestApi reads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from windlass.api import names
from windlass.api.accounting import Accounting
from windlass.api.controller import Controller
from windlass.api.rest_api import RestApi
from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.objects import Pod
from windlass.kube.wire import Document
from windlass.operator.images import Images
from windlass.operator.keys import Keys, effective_keys
from windlass.operator.reading import decode
from windlass.operator.world import View
from windlass.values.key import Key

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    rest_api: RestApi
    controller: Controller | None = None
    accounting: Accounting | None = None
    conf: str | None = None
    """slurm.conf as the Controller's ConfigMap has it."""
    slurm_key: dict[str, Any] | None = field(default=None, repr=False)
    tls: dict[str, Any] | None = field(default=None, repr=False)
    """The Secret with the certificate."""
    deployment: dict[str, Any] | None = None
    budget: dict[str, Any] | None = None
    pods: tuple[Pod, ...] = ()
    images: Images = field(default_factory=Images)
    programs: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The texts of what runs in pods, by the name of the file."""

    @property
    def keys(self) -> Keys | None:
        return effective_keys(self.controller, self.accounting) if self.controller else None

    @property
    def wants_tls(self) -> bool:
        return self.rest_api.spec.tls is not None

    @property
    def wants_agent(self) -> bool:
        return self.rest_api.spec.agent.enabled

    @property
    def accounts(self) -> bool:
        """Whether the cluster has a slurmdbd."""
        ref = self.controller.spec.accounting_ref if self.controller else None
        return ref is not None and bool(ref.name)


@dataclass(frozen=True, slots=True)
class Observer:
    """Reads for a pass; what it is made with is the same for all of them."""

    images: Images
    programs: Mapping[str, str] = field(repr=False)

    async def observe(self, view: View, document: Document) -> Observed:
        rest_api = decode(document, RestApi)
        near = _Near(view, rest_api.metadata.namespace)
        controller = near.find(kinds.CONTROLLER, rest_api.spec.controller_ref.name, Controller)
        ref = controller.spec.accounting_ref if controller else None
        accounting = near.find(kinds.ACCOUNTING, ref.name, Accounting) if ref else None
        keys = effective_keys(controller, accounting) if controller else None
        tls, own = rest_api.spec.tls, names.slurmrestd(rest_api.metadata.name)
        return Observed(
            rest_api=rest_api,
            controller=controller,
            accounting=accounting,
            conf=await near.conf(controller) if controller else None,
            slurm_key=await near.read(kinds.SECRET, keys.slurm.name) if keys else None,
            tls=await near.read(kinds.SECRET, tls.secret_ref.name) if tls else None,
            deployment=near.body(kinds.DEPLOYMENT, own),
            budget=near.body(kinds.POD_DISRUPTION_BUDGET, own),
            pods=tuple(view.pods(kinds.REST_API, rest_api.metadata.key)),
            images=self.images,
            programs=self.programs,
        )


@dataclass(frozen=True, slots=True)
class _Near:
    """What the view shows of one namespace."""

    view: View
    namespace: str

    def body(self, kind: Kind, name: str) -> dict[str, Any] | None:
        found = self.view.get(kind, Key(self.namespace, name))
        return found.body if found else None

    def find(self, kind: Kind, name: str, type_: type[T]) -> T | None:
        found = self.view.get(kind, Key(self.namespace, name))
        return decode(found, type_) if found else None

    async def read(self, kind: Kind, name: str) -> dict[str, Any] | None:
        found = await self.view.read(kind, Key(self.namespace, name))
        return found.body if found else None

    async def conf(self, controller: Controller) -> str | None:
        found = await self.read(kinds.CONFIG_MAP, names.config(controller.metadata.name))
        text = ((found or {}).get("data") or {}).get("slurm.conf")
        return text if isinstance(text, str) else None
