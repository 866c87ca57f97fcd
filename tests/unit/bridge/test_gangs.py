"""When a gang is built anew, and when it is the one of before."""

from itertools import count
from typing import Any

import msgspec

from windlass.bridge.devices import DEFAULT
from windlass.bridge.gang import GangKey
from windlass.bridge.gangs import Gangs
from windlass.bridge.workloads.surroundings import Surroundings
from windlass.kube.objects import Pod

KEY = GangKey("Pod", "team", "p")
AROUND = Surroundings()
VERSION = count(1)


def _pod(**spec: Any) -> Pod:
    meta = {"name": "p", "namespace": "team", "uid": "u", "resourceVersion": str(next(VERSION))}
    return msgspec.convert({"metadata": meta, "spec": spec}, Pod)


def test_a_gang_is_built_once_for_the_same_pods() -> None:
    gangs, pod = Gangs(DEFAULT), _pod()
    assert gangs.of(KEY, [pod], [AROUND]) is gangs.of(KEY, [pod], [AROUND])


def test_a_pod_that_changed_makes_another_gang() -> None:
    gangs = Gangs(DEFAULT)
    assert gangs.of(KEY, [_pod()], [AROUND]).members[0].host == ""
    assert gangs.of(KEY, [_pod(nodeName="n1")], [AROUND]).members[0].host == "n1"


def test_what_changed_around_a_pod_makes_another_gang() -> None:
    gangs, pod = Gangs(DEFAULT), _pod()
    gangs.of(KEY, [pod], [AROUND])
    missing = Surroundings(missing="Job j")
    assert gangs.of(KEY, [pod], [missing]).waits is not None


def test_a_gang_of_which_nobody_is_left_is_forgotten() -> None:
    gangs, pod = Gangs(DEFAULT), _pod()
    before = gangs.of(KEY, [pod], [AROUND])
    gangs.forget(KEY)
    assert gangs.of(KEY, [pod], [AROUND]) is not before
