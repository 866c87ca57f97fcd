from typing import Any

import msgspec
import pytest

from tests.contract.slurm_kinds import SLINKY
from tests.unit.api.validation.cases import (
    ACCOUNTINGS,
    CLAIMS,
    CONFIG_MAPS,
    GOOD,
    INHERITED,
    NAMESPACE,
    REFUSED,
    WARNED,
    Case,
)
from windlass.api.common import Keys
from windlass.api.controller import Controller
from windlass.api.validation import Caution, Context, Finding, Problem, controller, ratchet
from windlass.operator.webhooks import WEBHOOKS

BY_KIND = {webhook.kind.kind: webhook for webhook in WEBHOOKS}
CONTEXT = Context(
    NAMESPACE,
    files={**{name: frozenset(files) for name, files in CONFIG_MAPS.items()}, "absent": None},
    claims={**{name: frozenset(modes) for name, modes in CLAIMS.items()}, "not-yet-there": None},
    keys={
        **{name: msgspec.convert(keys, Keys) for name, keys in ACCOUNTINGS.items()},
        "absent": None,
    },
)


def decoded(kind: str, name: str, spec: dict[str, Any]) -> Any:
    body = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
    return msgspec.convert(body, BY_KIND[kind].type)


def review(case: Case) -> tuple[Finding, ...]:
    new = decoded(case.kind, case.name, case.full)
    old = None if case.full_old is None else decoded(case.kind, case.name, case.full_old)
    return BY_KIND[case.kind].review(new, old, CONTEXT)


@pytest.mark.parametrize("case", GOOD, ids=str)
def test_what_is_good_passes_without_a_word(case: Case) -> None:
    assert review(case) == ()


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_what_is_wrong_is_refused_once_with_field_and_fix(case: Case) -> None:
    (found,) = [one for one in review(case) if one.field == case.field]
    assert isinstance(found, Problem)
    assert case.words in str(found)
    assert found.fix


@pytest.mark.parametrize("case", WARNED, ids=str)
def test_what_is_doubtful_is_taken_with_a_warning(case: Case) -> None:
    (found,) = review(case)
    assert isinstance(found, Caution)
    assert found.field == case.field
    assert case.words in str(found)


@pytest.mark.parametrize("case", INHERITED, ids=str)
def test_a_fault_from_before_only_warns(case: Case) -> None:
    assert case.full_old is not None
    before = BY_KIND[case.kind].review(decoded(case.kind, "slurm", case.full_old), None, CONTEXT)
    (found,) = ratchet(review(case), before)
    assert isinstance(found, Caution)
    assert found.field == case.field
    assert case.words in str(found)


def test_a_new_fault_is_refused_beside_an_old_one() -> None:
    old, new = Problem("a", "wrong", "fix it"), Problem("b", "wrong", "fix it")
    assert ratchet((old, new), (old,)) == (Caution("a", "wrong", "fix it"), new)


@pytest.mark.parametrize("kind", list(SLINKY))
def test_a_manifest_for_slinky_is_not_refused(kind: str) -> None:
    new = decoded(kind, SLINKY[kind]["metadata"]["name"], SLINKY[kind]["spec"])
    found = BY_KIND[kind].review(new, None, Context("slurm"))
    assert [one for one in found if isinstance(one, Problem)] == []


def test_what_was_not_looked_up_is_not_judged() -> None:
    new = decoded("Controller", "slurm", {"configFileRefs": [{"name": "somewhere"}]})
    assert controller.review(new, None, Context(NAMESPACE)) == ()


def test_a_review_says_which_objects_it_wants_to_know() -> None:
    new: Controller = decoded("Controller", "slurm", SLINKY["Controller"]["spec"])
    assert controller.config_maps(new.spec) == (
        "slurm-config-extra",
        "slurm-prolog",
        "slurm-epilog",
        "slurm-prolog-slurmctld",
        "slurm-epilog-slurmctld",
    )
    assert controller.claims(new.spec) == ("slurm-state",)
    assert controller.accountings(new.spec) == ()  # it names both keys itself
    plain: Controller = decoded("Controller", "slurm", {"persistence": {"existingClaim": "x"}})
    assert controller.claims(plain.spec) == ()
    keyless: Controller = decoded("Controller", "slurm", {"accountingRef": {"name": "a"}})
    assert controller.accountings(keyless.spec) == ("a",)
