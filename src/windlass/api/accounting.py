"""Accounting: slurmdbd before a database."""

from typing import Annotated, ClassVar

from msgspec import Meta

from windlass.api.common import (
    EXTERNAL_NEEDS_ADDRESS,
    Conditions,
    ConfigMapKey,
    ExternalConfig,
    Keys,
    LocalReference,
    PodTemplate,
    PortNumber,
    Raw,
    SecretKey,
    ServiceTemplate,
)
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part
from windlass.kube.schema import ATOMIC, Rule


class StorageTls(Part, frozen=True, gc=False):
    """How slurmdbd and the database trust each other."""

    ca_ref: Annotated[ConfigMapKey | None, ATOMIC] = None
    ca_secret_ref: Annotated[SecretKey | None, ATOMIC] = None
    certificate_ref: Annotated[
        LocalReference | None, Meta(description="A Secret with tls.crt and tls.key.")
    ] = None
    cipher: str = ""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!(has(self.caRef) && has(self.caSecretRef))",
            "give the CA either as caRef (a ConfigMap) or as caSecretRef (a Secret)",
        ),
    )


class StorageConfig(Part, frozen=True, gc=False):
    """The MySQL or MariaDB database."""

    host: Annotated[str, Meta(min_length=1)]
    password_key_ref: Annotated[SecretKey, ATOMIC]
    port: PortNumber = 3306
    database: str = "slurm_acct_db"
    username: str = ""
    tls: StorageTls | None = None


class AccountingSpec(Keys, frozen=True, gc=False):
    """slurmdbd: the history of jobs, and who may use how much."""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        EXTERNAL_NEEDS_ADDRESS,
        Rule(
            "(has(self.external) && self.external) || has(self.storageConfig)",
            "storageConfig is missing: host and passwordKeyRef of the database",
            ".storageConfig",
        ),
    )

    external: bool = False
    external_config: ExternalConfig | None = None
    slurmdbd: Raw | None = None
    template: PodTemplate = PodTemplate()
    storage_config: StorageConfig | None = None
    extra_conf: Annotated[str, Meta(description="Lines for slurmdbd.conf.")] = ""
    service: ServiceTemplate = ServiceTemplate()


class AccountingStatus(Part, frozen=True, gc=False):
    """What is known of slurmdbd."""

    observed_generation: int = 0
    address: str = ""
    conditions: Conditions | None = None


class Accounting(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: AccountingSpec = AccountingSpec()
    status: AccountingStatus = AccountingStatus()
