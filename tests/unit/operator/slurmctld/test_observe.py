"""What a pass over a Controller reads."""

import asyncio
import base64
from dataclasses import dataclass, field, replace
from typing import Any

from tests.unit.operator.slurmctld.given import FRESH, SETTING, pod, report
from windlass.kube import kinds
from windlass.kube.kinds import Kind
from windlass.kube.meta import PartialObject
from windlass.kube.objects import Node, Pod
from windlass.kube.wire import Document
from windlass.operator.references import Reference
from windlass.operator.slurmctld.observe import Observed, observe
from windlass.operator.slurmctld.report import Report
from windlass.operator.slurms.seen import Seen as Slurm
from windlass.slurm.model import Job
from windlass.values.key import Key


@dataclass
class Seen:
    """A view over a few objects."""

    objects: dict[tuple[Kind, str], dict[str, Any]]
    node_sets: list[dict[str, Any]] = field(default_factory=list)
    rest_apis: list[dict[str, Any]] = field(default_factory=list)
    running: list[Pod] = field(default_factory=list)

    def get(self, kind: Kind, key: Key) -> Document | None:
        body = self.objects.get((kind, key.name))
        return Document(body) if body else None

    async def read(self, kind: Kind, key: Key) -> Document | None:
        return self.get(kind, key)

    def referring(self, kind: Kind, to: Reference) -> list[Document]:
        assert to == (kinds.CONTROLLER, Key("lab", "slurm"))
        found = {kinds.NODE_SET: self.node_sets, kinds.REST_API: self.rest_apis}
        return [Document(body) for body in found[kind]]

    def pods(self, of: Kind, key: Key) -> list[Pod]:
        assert (of, key) == (kinds.CONTROLLER, Key("lab", "slurm"))
        return self.running

    def revisions(self, of: Key) -> list[Document]:
        return []

    def claims(self, of: Key) -> list[PartialObject]:
        return []

    def host(self, name: str) -> Node | None:
        return None

    def hosts(self) -> list[Node]:
        return []


def body(name: str, **fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "lab", "uid": "u"}, **fields}


def secret(name: str, **entries: bytes) -> dict[str, Any]:
    data = {key: base64.b64encode(value).decode() for key, value in entries.items()}
    return body(name, data=data)


@dataclass
class Asked:
    """Who was asked for a report, and with which key."""

    asked: list[tuple[str, bytes]] = field(default_factory=list)

    async def __call__(self, one: Pod, key: bytes) -> Report | None:
        self.asked.append((one.metadata.name, key))
        return report("f")


def look(seen: Seen, asked: Asked, **spec: Any) -> Observed:
    one = Document(body("slurm", spec=spec))
    return asyncio.run(observe(seen, one, SETTING, FRESH, asked))


def test_a_controller_alone_is_seen_as_alone() -> None:
    asked = Asked()
    found = look(Seen({}), asked, configFileRefs=[{"name": "files"}])
    assert found.config_maps == {"files": None}
    assert (found.slurm_secret, found.jwt_secret, found.report) == (None, None, None)
    assert asked.asked == []


def test_all_that_a_controller_names_is_read() -> None:
    seen = Seen(
        {
            (kinds.ACCOUNTING, "db"): body("db", spec={"jwksKeyRef": {"name": "set", "key": "k"}}),
            (kinds.CONFIG_MAP, "files"): body("files", data={"a": "b"}),
            (kinds.CONFIG_MAP, "set"): body("set", data={"k": "{}"}),
            (kinds.CONFIG_MAP, "slurm-config"): body("slurm-config", data={"slurm.conf": "x"}),
            (kinds.SECRET, "slurm-auth-slurm"): secret("slurm-auth-slurm", **{"slurm.key": b"s"}),
            (kinds.SECRET, "mine"): secret("mine", jwt=b"j"),
            (kinds.STATEFUL_SET, "slurm-controller"): body("slurm-controller", spec={}),
            (kinds.SERVICE, "slurm-controller"): body("slurm-controller", spec={"type": "x"}),
        },
        node_sets=[body("w", spec={"controllerRef": {"name": "slurm"}})],
        running=[pod("slurm-controller-0", ready=False), pod("slurm-controller-1")],
    )
    asked = Asked()
    found = look(
        seen,
        asked,
        accountingRef={"name": "db"},
        jwtKeyRef={"name": "mine", "key": "jwt"},
        configFileRefs=[{"name": "files"}],
    )
    assert found.accounting is not None
    assert [each.metadata.name for each in found.node_sets] == ["w"]
    assert {name for name, each in found.config_maps.items() if each} == {"files", "set"}
    assert found.jwks == "{}"
    assert found.config is not None
    assert found.stateful_set is not None
    assert found.service is not None
    assert found.service["spec"] == {"type": "x"}
    assert found.slurm_secret is not None
    assert found.report == report("f")
    assert asked.asked == [("slurm-controller-1", b"j")]  # the one that serves


def test_a_pod_that_goes_is_not_asked() -> None:
    going = pod(deleted=True)
    seen = Seen(
        {(kinds.SECRET, "slurm-auth-jwt"): secret("slurm-auth-jwt", **{"jwt.key": b"j"})},
        running=[going],
    )
    asked = Asked()
    assert look(seen, asked).report is None
    assert asked.asked == []


# --- which partitions jobs name ---------------------------------------------------------------


def named(answer: Slurm | None, *rest_apis: str) -> frozenset[str] | None:
    seen = Seen({}, rest_apis=[body(name) for name in rest_apis])
    setting = replace(SETTING, slurm=lambda _: answer)
    one = Document(body("slurm", spec={}))
    return asyncio.run(observe(seen, one, setting, FRESH, Asked())).named_partitions


def test_slurm_says_which_partitions_jobs_name() -> None:
    assert named(Slurm({}, queues={"w": {"1": Job(id=1)}}), "rest") == frozenset({"w"})


def test_a_slurm_that_is_asked_and_silent_may_have_jobs_anywhere() -> None:
    assert named(None, "rest") is None


def test_a_slurm_that_nobody_can_ask_holds_nothing() -> None:
    assert named(None) == frozenset()
