from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.operator.workers.host_pods import every_host, host_pod
from tests.unit.operator.workers.observed import NOW, node_set, observed, pod, slurm
from tests.unit.operator.workers.phases.courses import course, host, hosts, steps
from windlass.api import labels
from windlass.kube.objects import Node as Host
from windlass.kube.objects import Pod
from windlass.operator.plan import Delete
from windlass.operator.site import Site
from windlass.operator.workers.course import NOTHING, Outcome
from windlass.operator.workers.identity import host_of, identity_on
from windlass.operator.workers.phases.remake import LONGEST, pause
from windlass.operator.workers.phases.spread import spread

GPU: dict[str, Any] = {"template": {"spec": {"nodeSelector": {"gpu": "yes"}}}}


def taint(key: str, effect: str) -> dict[str, str]:
    return {"key": key, "effect": effect}


def name_of(of: str) -> str:
    return host_pod(of).metadata.name


def made(found: Outcome) -> list[tuple[str, str]]:
    return [(each.host, each.hostname) for each in found.make]


def left(found: Outcome) -> dict[str, str]:
    return {name: reason.code for name, reason in found.leave.items()}


def deleted(found: Outcome) -> list[str]:
    return [step.key.name for step in steps(found) if isinstance(step, Delete)]


def faults(found: Outcome) -> list[str]:
    return [each.code for each in found.faults]


def test_numbered_sets_are_none_of_its_business() -> None:
    assert spread(course(node_set(replicas=3), hosts=hosts(host("n1")))) is NOTHING


def test_every_host_that_fits_and_has_none_gets_one() -> None:
    there = hosts(host("n3"), host("n1.rack.example"), host("n2"))
    found = spread(course(every_host(), hosts=there, pods=(host_pod("n2"),)))

    assert made(found) == [("n1.rack.example", "n1"), ("n3", "n3")]
    assert left(found) == {}
    assert [each.pod for each in found.make] == [name_of("n1.rack.example"), name_of("n3")]
    assert all(not each.index for each in found.make)


@pytest.mark.parametrize(
    ("spec", "of", "fits"),
    [
        ({}, host("n1"), True),
        ({}, host("n1", cordoned=True), True),
        ({}, host("n1", taints=[taint("gpu", "NoSchedule")]), False),
        ({}, host("n1", taints=[taint("gpu", "PreferNoSchedule")]), True),
        ({}, host("n1", taints=[taint(labels.WORKER_TAINT, "NoExecute")]), True),
        ({}, host("n1", taints=[taint("node.kubernetes.io/not-ready", "NoExecute")]), True),
        ({}, host("n1", taints=[taint("node.kubernetes.io/not-ready", "NoSchedule")]), False),
        ({}, host("n1", taints=[taint("node.kubernetes.io/disk-pressure", "NoSchedule")]), True),
        (
            {},
            host("n1", taints=[taint("node.kubernetes.io/network-unavailable", "NoSchedule")]),
            False,
        ),
        (
            {"template": {"spec": {"hostNetwork": True}}},
            host("n1", taints=[taint("node.kubernetes.io/network-unavailable", "NoSchedule")]),
            True,
        ),
        (
            {"template": {"spec": {"tolerations": [{"operator": "Exists"}]}}},
            host("n1", taints=[taint("gpu", "NoSchedule")]),
            True,
        ),
        (GPU, host("n1"), False),
        (GPU, host("n1", labels={"gpu": "yes"}), True),
    ],
)
def test_selectors_and_taints_decide_which_hosts_fit(
    spec: dict[str, Any], of: Host, *, fits: bool
) -> None:
    found = spread(course(every_host(**spec), hosts=hosts(of)))

    assert bool(found.make) == fits
    assert observed(every_host(**spec), hosts=hosts(of)).desired == int(fits)


@pytest.mark.parametrize(
    ("spec", "there", "leaves"),
    [
        ({}, [host("n1")], False),
        ({}, [], True),
        ({}, [host("n2")], True),
        (GPU, [host("n1", labels={"gpu": "no"})], True),
        ({}, [host("n1", taints=[taint("gpu", "NoSchedule")])], False),
        ({}, [host("n1", taints=[taint("gpu", "NoExecute")])], True),
        ({}, [host("n1", taints=[taint("node.kubernetes.io/unreachable", "NoExecute")])], False),
        ({}, [host("n1", cordoned=True)], False),
    ],
)
def test_a_worker_leaves_a_host_that_is_gone_or_does_not_keep_it(
    spec: dict[str, Any], there: list[Host], *, leaves: bool
) -> None:
    found = spread(course(every_host(**spec), hosts=hosts(*there), pods=(host_pod("n1"),)))

    assert left(found) == ({name_of("n1"): "HostUnfit"} if leaves else {})
    assert deleted(found) == []


def test_one_that_still_waits_for_a_host_that_is_gone_leaves_too() -> None:
    found = spread(course(every_host(), pods=(host_pod("n1", placed=False),)))

    assert left(found) == {name_of("n1"): "HostUnfit"}


def test_one_call_to_slurm_is_enough_for_all_that_leave() -> None:
    pods = tuple(host_pod(f"n{number}") for number in range(5))
    found = spread(course(every_host(**GPU), hosts=hosts(host("n1")), pods=pods))

    assert len(found.leave) == 5
    assert len(set(found.leave.values())) == 1


@pytest.mark.parametrize(
    ("one", "other", "leaves"),
    [
        ({"created": "2026-07-01T10:00:00Z"}, {"created": "2026-07-01T11:00:00Z"}, "w-b"),
        ({"created": "2026-07-01T11:00:00Z"}, {"created": "2026-07-01T10:00:00Z"}, "w-a"),
        ({"placed": False}, {"created": "2026-07-01T11:00:00Z"}, "w-a"),
        ({"hostname": "old"}, {"created": "2026-07-01T11:00:00Z"}, "w-a"),
        ({"going": True}, {}, None),
        ({"phase": "Failed"}, {}, None),
    ],
    ids=["younger", "younger first", "only waits", "misnamed", "goes already", "ended"],
)
def test_of_two_on_a_host_the_younger_leaves(
    one: dict[str, Any], other: dict[str, Any], leaves: str | None
) -> None:
    pods = (host_pod("n1", name="w-a", **one), host_pod("n1", name="w-b", **other))
    found = spread(course(every_host(), hosts=hosts(host("n1")), pods=pods))

    assert list(found.leave) == ([leaves] if leaves else [])
    assert found.make == ()


def test_a_host_that_is_called_otherwise_gets_another_worker_after_the_old_one_is_gone() -> None:
    renamed = host("n1", annotations={labels.HOSTNAME_OVERRIDE: "gpu-7"})
    found = spread(course(every_host(), hosts=hosts(renamed), pods=(host_pod("n1"),)))
    assert left(found) == {name_of("n1"): "HostnameMismatch"}
    assert found.make == ()

    after = spread(course(every_host(), hosts=hosts(renamed)))
    assert made(after) == [("n1", "gpu-7")]


@pytest.mark.parametrize("name", ["Gpu", "a.b", "-a", "a" * 64, "a b"])
def test_a_name_that_no_host_can_have_is_told_and_takes_nobody_away(name: str) -> None:
    wrong = host("n1", annotations={labels.HOSTNAME_OVERRIDE: name})

    found = spread(course(every_host(), hosts=hosts(wrong, host("n2"))))
    assert (made(found), faults(found)) == ([("n2", "n2")], ["HostnameInvalid"])

    kept = spread(course(every_host(), hosts=hosts(wrong), pods=(host_pod("n1"),)))
    assert left(kept) == {}


def test_of_two_hosts_of_one_name_the_one_with_a_worker_keeps_it() -> None:
    both = hosts(host("n1.a"), host("n1.b"))

    first = spread(course(every_host(), hosts=both))
    assert (made(first), faults(first)) == ([("n1.a", "n1")], ["HostnameTaken"])
    second = spread(course(every_host(), hosts=both, pods=(host_pod("n1.b"),)))
    assert (made(second), left(second), faults(second)) == ([], {}, ["HostnameTaken"])


def test_a_host_is_taken_until_the_pod_on_it_is_gone() -> None:
    for there in (host_pod("n1", going=True), pod(0, node="n1")):
        assert spread(course(every_host(), hosts=hosts(host("n1")), pods=(there,))).make == ()


def test_so_many_start_at_a_time_here_too() -> None:
    many = hosts(*(host(f"n{number}") for number in range(5)))
    found = spread(course(every_host(), hosts=many, site=Site(starting_workers=2)))

    assert len(found.make) == 2


def test_workers_are_made_while_slurm_is_silent() -> None:
    assert made(spread(course(every_host(), hosts=hosts(host("n1")), slurm=None))) == [("n1", "n1")]


# --- those that ended -------------------------------------------------------------------------


def ended(lived: float, ago: float, failures: int = 0, **more: Any) -> Pod:
    """A worker that ended so many seconds ago, so many after it was made."""
    moment = NOW - timedelta(seconds=ago)
    end = {"exitCode": 1, "finishedAt": moment.isoformat()}
    return host_pod(
        "n1",
        phase="Failed",
        created=(moment - timedelta(seconds=lived)).isoformat(),
        conditions=[],
        containers=[{"name": "slurmd", "state": {"terminated": end}}],
        annotations={labels.POD_FAILURES: str(failures)} if failures else {},
        **more,
    )


@pytest.mark.parametrize(
    ("lived", "ago", "failures", "next_failures"),
    [
        (10, 0.5, 0, None),
        (10, 1, 0, 1),
        (10, 1, 1, None),
        (10, 2, 1, 2),
        (10, 511, 9, None),
        (10, 512, 9, 10),
        (10, 899, 30, None),
        (10, 900, 30, 31),
        (3600, 1, 30, 0),
        (3600, 0.5, 0, None),
    ],
)
def test_one_that_ended_is_made_anew_later_and_later_if_it_ends_soon(
    lived: float, ago: float, failures: int, next_failures: int | None
) -> None:
    there = ended(lived, ago, failures)
    found = spread(course(every_host(), hosts=hosts(host("n1")), pods=(there,)))

    if next_failures is None:
        assert (found.make, deleted(found), faults(found)) == ((), [], ["WorkerEnded"])
        assert found.again is not None
        assert found.again == pytest.approx(pause(failures + 1 if lived < LONGEST else 0) - ago)
    else:
        (again,) = found.make
        assert (again.failures, again.host) == (next_failures, "n1")
        assert deleted(found) == [there.metadata.name]
        assert found.again is None


def test_the_count_goes_with_the_new_pod_and_starts_anew_after_a_long_life() -> None:
    assert [pause(number) for number in (0, 1, 2, 3, 10, 11, 5000)] == [1, 1, 2, 4, 512, 900, 900]


def test_one_that_its_host_would_not_take_has_ended_when_it_was_last_heard_of() -> None:
    refused = host_pod(
        "n1",
        phase="Failed",
        created=(NOW - timedelta(seconds=20)).isoformat(),
        conditions=[
            {
                "type": "Ready",
                "status": "False",
                "lastTransitionTime": (NOW - timedelta(seconds=0.25)).isoformat(),
            }
        ],
    )
    found = spread(course(every_host(), hosts=hosts(host("n1")), pods=(refused,)))

    assert (found.make, found.again) == ((), 0.75)
    assert "is made anew at 12:00:00 UTC" in found.faults[0].sentence


@pytest.mark.parametrize(
    "there",
    [[], [host("n1", taints=[taint("gpu", "NoSchedule")])]],
    ids=["the host is gone", "the host takes no new one"],
)
def test_one_that_ended_where_no_other_is_wanted_just_goes(there: list[Host]) -> None:
    found = spread(course(every_host(), hosts=hosts(*there), pods=(ended(10, 0),)))

    assert (deleted(found), found.make) == ([name_of("n1")], ())


def test_one_that_ended_beside_one_that_lives_just_goes() -> None:
    pods = (ended(10, 0, name="w-old"), host_pod("n1"))
    found = spread(course(every_host(), hosts=hosts(host("n1")), pods=pods))

    assert (deleted(found), found.make, left(found)) == (["w-old"], (), {})


def test_one_that_cannot_be_made_anew_yet_is_not_deleted_either() -> None:
    full = Site(starting_workers=0)
    found = spread(course(every_host(), hosts=hosts(host("n1")), pods=(ended(10, 60),), site=full))

    assert (deleted(found), found.make) == ([], ())


# --- whatever is there ------------------------------------------------------------------------

NAMES = [f"n{number}" for number in range(5)]
some_hosts = st.lists(
    st.builds(
        lambda name, effect, labelled: host(
            name,
            taints=[taint("t", effect)] if effect else [],
            labels={"gpu": "yes"} if labelled else {},
        ),
        *(st.sampled_from(NAMES), st.sampled_from(["", "NoSchedule", "NoExecute"]), st.booleans()),
    ),
    unique_by=lambda each: each.metadata.name,
)
some_pods = st.lists(
    st.builds(
        lambda name, number, placed, phase, going: host_pod(
            name,
            name=f"w-{number}",
            placed=placed or phase == "Failed",
            phase=phase,
            going=going,
            created=datetime(2026, 7, 1, 10, number, tzinfo=UTC).isoformat(),
        ),
        st.sampled_from(NAMES),
        st.integers(0, 20),
        st.booleans(),
        st.sampled_from(["Pending", "Running", "Failed"]),
        st.booleans(),
    ),
    unique_by=lambda each: each.metadata.name,
    max_size=8,
)


@given(there=some_hosts, pods=some_pods, asks=st.booleans())
def test_at_most_one_stays_or_is_made_on_a_host_and_none_where_it_does_not_fit(
    there: list[Host], pods: list[Pod], *, asks: bool
) -> None:
    seen = course(every_host(**GPU if asks else {}), hosts=hosts(*there), pods=tuple(pods))
    found = spread(seen)

    gone = set(deleted(found))
    alive = [each.pod for each in seen.staying if each.pod.metadata.name not in found.leave]
    going = {each.spec.node_name for each in pods if each.metadata.deletion_timestamp}
    after = [host_of(each) for each in alive]
    new = [each.host for each in found.make]
    assert len(set(new)) == len(new)
    assert len(set(after)) == len(after)
    assert not set(new) & (set(after) | (going - {""}))
    assert set(new) <= seen.observed.places.fit
    assert set(after) <= seen.observed.places.stay
    assert all(each.status.phase == "Failed" for each in pods if each.metadata.name in gone)


@given(names=st.lists(st.from_regex(r"[a-z][a-z0-9.]{0,20}", fullmatch=True), unique=True))
def test_the_names_of_pods_follow_from_hosts_and_are_no_numbers(names: list[str]) -> None:
    found = [identity_on(every_host(), host(name)).pod for name in names]

    assert len(set(found)) == len(names)
    assert all(each.removeprefix("w-").isalpha() for each in found)


def test_desired_counts_hosts_that_should_have_one_and_those_that_keep_one() -> None:
    there = hosts(
        host("n1"),
        host("n2", taints=[taint("t", "NoSchedule")]),
        host("n3", taints=[taint("t", "NoSchedule")]),
        host("n4", taints=[taint("t", "NoExecute")]),
    )
    pods = (host_pod("n2"), host_pod("n4"), host_pod("n5"))

    assert observed(every_host(), hosts=there, pods=pods, slurm=slurm()).desired == 2
