"""Accounting: slurmdbd before a database."""

from typing import Annotated, ClassVar

from msgspec import Meta

from windlass.api.common import (
    CONTAINER,
    EXTERNAL_NEEDS_ADDRESS,
    Address,
    Conditions,
    ConfigMapKey,
    ExternalConfig,
    Keys,
    LocalReference,
    ObservedGeneration,
    PodTemplate,
    PortNumber,
    Raw,
    SecretKey,
    ServiceTemplate,
    about,
)
from windlass.kube.meta import Meta as ObjectMeta
from windlass.kube.meta import Part
from windlass.kube.schema import ATOMIC, Rule


class StorageTls(Part, frozen=True, gc=False):
    """How slurmdbd and the database trust each other."""

    ca_ref: Annotated[
        ConfigMapKey | None, ATOMIC, about("The CA of the database, in a ConfigMap.")
    ] = None
    ca_secret_ref: Annotated[
        SecretKey | None, ATOMIC, about("The CA of the database, in a Secret.")
    ] = None
    certificate_ref: Annotated[
        LocalReference | None,
        about("A Secret with tls.crt and tls.key, by which the database knows slurmdbd."),
    ] = None
    cipher: Annotated[str, about("The ciphers to offer, as the database's client takes them.")] = ""

    __rules__: ClassVar[tuple[Rule, ...]] = (
        Rule(
            "!(has(self.caRef) && has(self.caSecretRef))",
            "give the CA either as caRef (a ConfigMap) or as caSecretRef (a Secret)",
        ),
    )


class StorageConfig(Part, frozen=True, gc=False):
    """The MySQL or MariaDB database; a password that is left out, the operator makes."""

    host: Annotated[str, Meta(min_length=1), about("A name or an address.")]
    password_key_ref: Annotated[
        SecretKey | None,
        ATOMIC,
        about("The password of the user; left out, the operator makes one."),
    ] = None
    port: Annotated[PortNumber, about("The port of the database.")] = 3306
    database: Annotated[str, about("The database; slurmdbd makes its tables.")] = "slurm_acct_db"
    username: Annotated[str, about("The user of the database.")] = ""
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

    external: Annotated[
        bool, about("Whether slurmdbd runs elsewhere; then only externalConfig counts.")
    ] = False
    external_config: ExternalConfig | None = None
    slurmdbd: Annotated[Raw | None, about(CONTAINER)] = None
    template: PodTemplate = PodTemplate()
    storage_config: StorageConfig | None = None
    extra_conf: Annotated[str, about("Lines for slurmdbd.conf; they have the last word.")] = ""
    service: ServiceTemplate = ServiceTemplate()


class AccountingStatus(Part, frozen=True, gc=False):
    """What is known of slurmdbd."""

    observed_generation: ObservedGeneration = 0
    address: Address = ""
    conditions: Conditions | None = None


class Accounting(Part, frozen=True, gc=False):
    metadata: ObjectMeta
    spec: AccountingSpec = AccountingSpec()
    status: AccountingStatus = AccountingStatus()
