import asyncio
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from tests.contract.slurm_kinds import LEAST
from tests.unit.api.validation.cases import (
    ACCOUNTINGS,
    CLAIMS,
    CONFIG_MAPS,
    NAMESPACE,
    backed_up,
    hostname,
    refs,
)
from windlass.api.common import Keys
from windlass.kube.admission import Allowed, Cause, Decision, Denied, Review
from windlass.operator.webhooks import WEBHOOKS, handlers
from windlass.values.key import Key


@dataclass
class Asked:
    """What was looked up."""

    seen: list[Key] = field(default_factory=list)

    async def files(self, config_map: Key) -> frozenset[str] | None:
        self.seen.append(config_map)
        found = CONFIG_MAPS.get(config_map.name)
        return None if found is None else frozenset(found)

    async def access_modes(self, claim: Key) -> frozenset[str] | None:
        self.seen.append(claim)
        found = CLAIMS.get(claim.name)
        return None if found is None else frozenset(found)

    async def keys(self, accounting: Key) -> Keys | None:
        self.seen.append(accounting)
        found = ACCOUNTINGS.get(accounting.name)
        return None if found is None else msgspec.convert(found, Keys)


def body(kind: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    named = {"name": "slurm", "namespace": NAMESPACE, **metadata}
    return {"metadata": named, "spec": {**LEAST[kind], **spec}, "status": {}}


def asked(
    kind: str, new: dict[str, Any] | None, old: dict[str, Any] | None = None, subresource: str = ""
) -> Review:
    return Review(
        uid="u",
        operation="CREATE" if old is None else "UPDATE",
        group="slinky.slurm.net",
        version="v1beta1",
        kind=kind,
        name="slurm",
        namespace=NAMESPACE,
        subresource=subresource,
        user="alice",
        groups=(),
        dry_run=False,
        new=new,
        old=old,
    )


def answer(review: Review, lookups: Asked | None = None) -> Decision:
    handler = handlers(lookups or Asked())[
        f"/validate-slinky-slurm-net-v1beta1-{review.kind.lower()}"
    ]

    async def main() -> Decision:
        said = handler(review)
        return said if isinstance(said, Allowed | Denied) else await said

    return asyncio.run(main())


def test_every_kind_has_its_path() -> None:
    assert [webhook.path for webhook in WEBHOOKS] == [
        "/validate-slinky-slurm-net-v1beta1-controller",
        "/validate-slinky-slurm-net-v1beta1-accounting",
        "/validate-slinky-slurm-net-v1beta1-restapi",
        "/validate-slinky-slurm-net-v1beta1-loginset",
        "/validate-slinky-slurm-net-v1beta1-nodeset",
        "/validate-slinky-slurm-net-v1beta1-token",
    ]


@pytest.mark.parametrize("kind", list(LEAST))
def test_a_plain_object_is_allowed_and_nothing_is_looked_up(kind: str) -> None:
    lookups = Asked()
    assert answer(asked(kind, body(kind, {})), lookups) == Allowed()
    assert lookups.seen == []


def test_problems_are_causes_and_cautions_are_warnings() -> None:
    spec = {**hostname("GPU-"), "extraConf": "Wight=10", "partition": {"config": "x"}}
    decision = answer(asked("NodeSet", body("NodeSet", spec)))
    assert isinstance(decision, Denied)
    assert [cause.field for cause in decision.causes] == [
        "spec.template.spec.hostname",
        "spec.partition.config",
    ]
    assert decision.causes[1].message == (
        "'x' is not Key=Value; write words like State=UP MaxTime=UNLIMITED"
    )
    assert decision.warnings == (
        "spec.extraConf: Wight: Slurm knows no such key here; did you mean Weight?",
    )


def test_what_a_controller_refers_to_is_looked_up_in_its_namespace() -> None:
    lookups = Asked()
    spec = {**refs("generated"), **backed_up("single")}
    decision = answer(asked("Controller", body("Controller", spec)), lookups)
    assert lookups.seen == [Key(NAMESPACE, "generated"), Key(NAMESPACE, "single")]
    assert isinstance(decision, Denied)
    assert len(decision.causes) == 2


def test_an_update_is_measured_by_what_was() -> None:
    old, new = body("NodeSet", {}), body("NodeSet", {"controllerRef": {"name": "other"}})
    assert isinstance(answer(asked("NodeSet", new, old)), Denied)


def test_keys_of_the_accounting_are_the_controllers_too() -> None:
    lookups = Asked()
    old = body("Controller", {"accountingRef": {"name": "plain"}})
    new = body("Controller", {"accountingRef": {"name": "keyed"}})
    decision = answer(asked("Controller", new, old), lookups)
    assert lookups.seen == [Key(NAMESPACE, "keyed"), Key(NAMESPACE, "plain")]
    assert isinstance(decision, Denied)
    assert [cause.field for cause in decision.causes] == ["spec.slurmKeyRef.name", "spec.jwtKeyRef"]


def test_a_fault_from_before_does_not_stop_another_change() -> None:
    old = body("NodeSet", {**hostname("GPU-"), "replicas": 1})
    new = body("NodeSet", {**hostname("GPU-"), "replicas": 2})
    decision = answer(asked("NodeSet", new, old))
    assert isinstance(decision, Allowed)
    assert len(decision.warnings) == 1


BROKEN = body("NodeSet", hostname("GPU-"))


@pytest.mark.parametrize(
    "review",
    [
        pytest.param(asked("NodeSet", None, BROKEN), id="a deletion"),
        pytest.param(asked("NodeSet", BROKEN, {}, subresource="status"), id="a subresource"),
        pytest.param(
            asked("NodeSet", {**BROKEN, "status": {"replicas": 1}}, BROKEN), id="only the status"
        ),
        pytest.param(
            asked("NodeSet", body("NodeSet", hostname("GPU-"), labels={"a": "b"}), BROKEN),
            id="only a label",
        ),
        pytest.param(
            asked(
                "NodeSet",
                body("NodeSet", hostname("B-"), deletionTimestamp="2026-11-15T12:00:00Z"),
                BROKEN,
            ),
            id="what is being deleted",
        ),
    ],
)
def test_what_is_not_for_us_to_judge_passes_at_once(review: Review) -> None:
    assert answer(review) == Allowed()


def test_what_cannot_be_read_is_refused_with_its_field() -> None:
    decision = answer(asked("NodeSet", body("NodeSet", {"replicas": "many"})))
    assert decision == Denied("", (Cause("spec.replicas", "Expected `int`, got `str`"),))


def test_an_old_object_that_cannot_be_read_is_no_measure() -> None:
    old = body("NodeSet", {"replicas": "many"})
    assert answer(asked("NodeSet", body("NodeSet", {"replicas": 3}), old)) == Allowed()
