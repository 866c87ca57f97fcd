"""The state behind the fake slurmdbd: accounts, users and what they may use.

As the real one: a new account hangs below root, a user's first account is its default one, and all
limits begin as infinite.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from windlass.slurm import slurmdb_wire as wire
from windlass.slurm.errors import Errno
from windlass.slurm.wire import Number
from windlass.testing.fake_cluster import FakeCluster, Rejected, changed, number

TRES: Final = ("cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages")
UNIX_USERS: Final = frozenset({"root", "daemon", "games", "nobody"})


@dataclass(slots=True)
class FakeAccounting:
    """One slurmdbd and the cluster that it keeps the books of; set `down` and it is away."""

    cluster: FakeCluster
    port: int = 6817
    """Of the cluster's slurmctld."""
    down: bool = False
    unix_users: frozenset[str] = UNIX_USERS
    """Whom the machine of slurmrestd knows."""
    accounts: dict[str, wire.WireAccount] = field(default_factory=dict)
    users: dict[str, wire.WireUser] = field(default_factory=dict)
    associations: list[wire.WireAssociation] = field(default_factory=list)
    qos: dict[str, wire.WireQos] = field(default_factory=dict)
    _next_association: int = 1

    def __post_init__(self) -> None:
        self.accounts["root"] = wire.WireAccount("root", "default root account", "root")
        self.users["root"] = wire.WireUser("root", ["Administrator"])
        self.associate("root", "")
        self.associate("root", "root")
        self.write_qos({"name": "normal", "description": "Normal QOS default"})

    @property
    def tres(self) -> list[wire.WireTres]:
        pairs = ((number_, *text.partition("/")) for number_, text in enumerate(TRES, 1))
        return [wire.WireTres(kind, name, number_) for number_, kind, _, name in pairs]

    @property
    def clusters(self) -> list[wire.WireCluster]:
        controller = wire.WireController("127.0.0.1", self.port)
        return [wire.WireCluster(self.cluster.name, controller, tres=self.tres)]

    # --- Associations ----------------------------------------------------------------------

    def found(self, query: dict[str, str]) -> list[wire.WireAssociation]:
        """Those that fit all that the query names."""
        wanted = [(name, query[name]) for name in KEYS if query.get(name)]
        return [
            each
            for each in self.associations
            if all(getattr(each, name) == value for name, value in wanted)
        ]

    def exactly(self, account: str, user: str, partition: str = "") -> wire.WireAssociation | None:
        for each in self.associations:
            if (each.account, each.user, each.partition) == (account, user, partition):
                return each
        return None

    def associate(self, account: str, user: str, parent: str = "") -> wire.WireAssociation:
        new = wire.WireAssociation(account, self.cluster.name, user, id=self._next_association)
        new.shares_raw, new.qos, new.priority = 1, ["normal"], infinite()
        jobs = new.max.jobs
        jobs.active, jobs.total, jobs.per.wall_clock = infinite(), infinite(), infinite()
        if user:
            new.is_default = not self.found({"user": user})
        elif account != "root":
            new.parent_account = parent or "root"
        self._next_association += 1
        self.associations.append(new)
        return new

    def change(self, old: wire.WireAssociation, wanted: dict[str, Any]) -> None:
        if any(name not in self.qos for name in wanted.get("qos", ())):
            raise Rejected(Errno.ESLURM_INVALID_QOS)
        if wanted.get("default", {}).get("qos", "normal") not in self.qos:
            return  # ignored without a word
        if wanted.get("is_default"):
            for each in self.found({"user": old.user}):
                each.is_default = False
        self.associations[self.associations.index(old)] = changed(old, wanted)

    def dissociate(self, gone: Iterable[wire.WireAssociation]) -> None:
        """Take associations away, unless jobs run in them."""
        going = list(gone)
        if any(map(self._is_used, going)):
            raise Rejected(Errno.ESLURM_JOBS_RUNNING_ON_ASSOC)
        self.associations = [each for each in self.associations if each not in going]

    def _is_used(self, each: wire.WireAssociation) -> bool:
        """Whether a job runs in an account, or there for a user."""
        return any(
            job.job_state == ["RUNNING"]
            and job.account == each.account
            and each.user in ("", job.user_name)
            for job in self.cluster.jobs.values()
        )

    # --- Accounts, users and QOS -----------------------------------------------------------

    def default_account(self, user: str) -> str:
        defaults = (each.account for each in self.found({"user": user}) if each.is_default)
        return next(defaults, "")

    def shown(self, user: wire.WireUser) -> wire.WireUser:
        user.default.account = self.default_account(user.name)
        return user

    def remove_account(self, name: str) -> None:
        own = self.found({"account": name})
        for each in own:
            if each.is_default and len(self.found({"user": each.user})) > 1:
                raise Rejected(Errno.ESLURM_NO_REMOVE_DEFAULT_ACCOUNT)
        self.dissociate(own)
        del self.accounts[name]

    def remove_user(self, name: str) -> None:
        self.dissociate(self.found({"user": name}))
        del self.users[name]

    def write_qos(self, wanted: dict[str, Any]) -> None:
        flags, preempt = wanted.get("flags", []), wanted.get("preempt", {})
        if not QOS_FLAGS.issuperset(flags):
            raise Rejected(Errno.ESLURM_DATA_FLAGS_INVALID, 500)
        old = self.qos.get(wanted["name"]) or self._new_qos(wanted["name"])
        mode = preempt.get("mode") or ["DISABLED"]
        told = {**wanted, "flags": flags, "preempt": {**preempt, "mode": mode}}
        self.qos[old.name] = changed(old, told)

    def _new_qos(self, name: str) -> wire.WireQos:
        highest = max((each.id for each in self.qos.values()), default=0)
        new = wire.WireQos(name, highest + 1, priority=number(0), usage_factor=number(1))
        most = new.limits.max
        most.active_jobs.count, most.wall_clock.per.job = infinite(), infinite()
        most.jobs.per.user, most.jobs.per.account = infinite(), infinite()
        return new


KEYS: Final = ("account", "cluster", "user", "partition")
QOS_FLAGS: Final = frozenset(
    {
        "DENY_LIMIT",
        "ENFORCE_USAGE_THRESHOLD",
        "NO_DECAY",
        "NO_RESERVE",
        "OVERRIDE_PARTITION_QOS",
        "PARTITION_MAXIMUM_NODE",
        "PARTITION_MINIMUM_NODE",
        "PARTITION_TIME_LIMIT",
        "REQUIRED_RESERVATION",
        "USAGE_FACTOR_SAFE",
    }
)


def infinite() -> Number:
    return Number(infinite=True)
