"""Who a pod is to Slurm: its user and account, from who asks and where.

An administrator writes a table (a ConfigMap) of people, groups and namespaces, and may annotate a
namespace. The nearest counts: the person who made the pod, then a group of theirs, then the
namespace's annotation, its line in the table, and the default. Controllers make most pods, so the
namespace is what usually counts. What the table does not allow is refused at admission; the
bridge may do everything in Slurm, and without this every user could.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec
import yaml

from windlass.api.validation.findings import Finding, Problem
from windlass.bridge import annotations, owner, words
from windlass.bridge.annotations import Wishes
from windlass.values.malformed import Malformed

_ROOT: Final = frozenset({"root", "0"})


@dataclass(frozen=True, slots=True)
class Identity:
    """As whom a job is submitted; without a user it is the bridge's own."""

    user: str | None = None
    group: str | None = None
    account: str | None = None


class Grant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """What a line of the table gives; an empty list allows all that Slurm does."""

    user: str = ""
    group: str = ""
    accounts: tuple[str, ...] = ()
    """The first is taken where nobody asks for one."""
    qos: tuple[str, ...] = ()
    partitions: tuple[str, ...] = ()
    choose_user: bool = False
    """May name any user but root by annotation."""
    choose_priority: bool = False


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    users: dict[str, Grant] = {}
    groups: dict[str, Grant] = {}
    namespaces: dict[str, Grant] = {}
    default: Grant | None = None


EMPTY: Final = Table()


@dataclass(frozen=True, slots=True)
class Policy:
    table: Table = EMPTY
    accounting: bool = False
    """Slurm accounts for jobs: then one of nobody is refused, and not put down to SlurmUser."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for a pod, and where."""

    namespace: str
    user: str = ""
    groups: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Of the namespace."""


@dataclass(frozen=True, slots=True)
class Verdict:
    identity: Identity
    findings: tuple[Finding, ...] = ()

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple(one for one in self.findings if isinstance(one, Problem))


def parse(text: str) -> Table:
    """Read the table of a ConfigMap; raises Malformed."""
    try:
        return msgspec.convert(yaml.safe_load(text) or {}, Table)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        fix = "write it as docs/reference/bridge.md shows"
        raise Malformed("table of identities", text, 0, str(error), fix) from None


def judge(asker: Asker, wishes: Wishes, policy: Policy) -> Verdict:
    """As whom the job of these wishes is submitted, and what of them is not allowed."""
    given = grant(asker, policy.table)
    if given is None:
        return _nobody(asker, wishes, policy)
    account = wishes.account or next(iter(given.accounts), None)
    user = wishes.user if wishes.user and given.choose_user else given.user
    group = wishes.group if wishes.group and given.choose_user else given.group
    findings = (*_somebody(given), *_allowed(wishes, given), *_named(wishes, given))
    return Verdict(Identity(user or None, group or None, account), findings)


def stamp(asker: Asker, wishes: Wishes, policy: Policy) -> dict[str, str]:
    """Annotations that keep on a pod what follows from the person who made it.

    Where it follows from the namespace nothing is written: that can be looked up at any time.
    """
    if _person(asker, policy.table) is None:
        return {}
    found = judge(asker, wishes, policy).identity
    said = {"user-id": found.user, "group-id": found.group, "account": found.account}
    return {words.JOB_PREFIX + name: value for name, value in said.items() if value}


def settled(asker: Asker, far: Wishes, own: Wishes, policy: Policy) -> Verdict:
    """As whom admitted pods are submitted.

    What stands on the pods themselves was judged at admission, and is believed. What stands on
    their owners was not, and is judged here, by the namespace.
    """
    told = replace(policy, accounting=policy.accounting and own.user is None)
    found = judge(asker, far, told)
    by_owners = found.identity
    return Verdict(
        Identity(
            own.user or by_owners.user,
            own.group or by_owners.group,
            own.account or by_owners.account,
        ),
        found.findings,
    )


def grant(asker: Asker, table: Table) -> Grant | None:
    """The line that counts."""
    of_namespace = table.namespaces.get(asker.namespace)
    return _person(asker, table) or _annotated(asker, of_namespace) or of_namespace or table.default


def _person(asker: Asker, table: Table) -> Grant | None:
    if asker.user in table.users:
        return table.users[asker.user]
    return next((table.groups[group] for group in asker.groups if group in table.groups), None)


def _annotated(asker: Asker, line: Grant | None) -> Grant | None:
    """The namespace's own annotations go before its line, and leave the rest of it."""
    user = asker.annotations.get(words.NAMESPACE_USER, "").strip()
    listed = asker.annotations.get(words.NAMESPACE_ACCOUNT, "").split(",")
    accounts = tuple(name.strip() for name in listed if name.strip())
    if not user and not accounts:
        return None
    base = line or Grant()
    return msgspec.structs.replace(base, user=user or base.user, accounts=accounts or base.accounts)


def _nobody(asker: Asker, wishes: Wishes, policy: Policy) -> Verdict:
    identity = Identity(account=wishes.account)
    findings = list(_named(wishes, Grant()))
    if policy.accounting:
        sentence = f"nobody says whose jobs the pods of namespace {asker.namespace} are"
        fix = f"annotate the namespace with {words.NAMESPACE_USER}, or add it to the table"
        findings.append(Problem("metadata.namespace", sentence, fix))
    return Verdict(identity, tuple(findings))


def _somebody(given: Grant) -> Iterator[Finding]:
    """Whom Slurm would take for another is refused, also where an administrator names them."""
    for name in filter(None, (given.user, given.group)):
        try:
            owner.parse(name)
        except Malformed as error:
            yield Problem("metadata.namespace", error.problem, error.fix)


def _allowed(wishes: Wishes, given: Grant) -> Iterator[Finding]:
    """Accounts, QOS and partitions that are not listed."""
    asked = (
        ("account", given.accounts, wishes.account),
        ("qos", given.qos, wishes.qos),
        ("partition", given.partitions, wishes.partition),
    )
    for name, allowed, said in asked:
        for value in filter(None, (said or "").split(",")):
            if allowed and value not in allowed:
                yield _refused(name, f"{value} is not yours to use", f"use {' or '.join(allowed)}")


def _named(wishes: Wishes, given: Grant) -> Iterator[Finding]:
    """Who one is, and how urgent, is not for everybody to say."""
    if wishes.user in _ROOT:
        yield _refused("user-id", "no pod is root's", "take it away")
    elif wishes.user not in (None, given.user) and not given.choose_user:
        yield _refused("user-id", "you may not choose the user of a job", "take it away")
    if wishes.group not in (None, given.group) and not given.choose_user:
        yield _refused("group-id", "you may not choose the group of a job", "take it away")
    if wishes.priority is not None and not given.choose_priority:
        fix = "take it away, or use a PriorityClass"
        yield _refused("priority", "you may not choose the priority of a job", fix)


def _refused(name: str, sentence: str, fix: str) -> Problem:
    return Problem(annotations.field(words.JOB_PREFIX + name), sentence, fix)
