from typing import Any

import pytest

from tests.unit.operator.workers.observed import controller, node_set
from windlass.operator.workers.conf import arguments, node_conf, parse_extra_conf
from windlass.values.malformed import Malformed


def test_slurmd_is_started_with_words_that_no_shell_reads() -> None:
    gpus = node_set(extraConf="Gres=gpu:4 Weight=10")

    assert arguments(gpus, controller()) == [
        "-Z",
        "--conf-server",
        "slurm-controller.hpc:6817",
        "--conf",
        "Features=w Gres=gpu:4 Weight=10",
        "--extra",
        "namespace=hpc,nodeSetName=w,nodeSetUID=u-w",
    ]


@pytest.mark.parametrize(
    ("extra", "line"),
    [
        ("", "Features=w"),
        ("Feature=b,a\nFeatures=c", "Features=a,b,c,w"),
        ("MemSpecLimit=512", "Features=w MemSpecLimit=512"),
        ("Gres=gpu:4 gres=shard:8", "Features=w Gres=gpu:4,shard:8"),
        ("Weight=1 Boards=1", "Features=w Boards=1 Weight=1"),
        ('Comment="two words" X=$(id)', 'Features=w Comment="two words" X=$(id)'),
        ("Extra=a=b", "Features=w Extra=a=b"),
    ],
)
def test_the_line_of_a_node_keeps_what_the_user_wrote(extra: str, line: str) -> None:
    assert node_conf(node_set(extraConf=extra)) == line


@pytest.mark.parametrize(
    ("limits", "extra", "line"),
    [
        ({"nvidia.com/gpu": 4}, "", "Features=w Gres=gpu:4"),
        ({"nvidia.com/gpu": "2"}, "Weight=1", "Features=w Gres=gpu:2 Weight=1"),
        ({"amd.com/gpu": 4}, "", "Features=w"),
        ({"nvidia.com/gpu": 4}, "gres=gpu:h100:4", "Features=w gres=gpu:h100:4"),
        ({"nvidia.com/mig-1g.5gb": 4}, "", "Features=w"),
    ],
    ids=["all", "beside other words", "not found by slurmd", "the user knows better", "parts"],
)
def test_gpus_that_the_pod_gets_are_told_to_slurmd(
    limits: dict[str, Any], extra: str, line: str
) -> None:
    of = node_set(slurmd={"resources": {"limits": limits}}, extraConf=extra)

    assert node_conf(of) == line


@pytest.mark.parametrize(
    ("extra", "problem"),
    [
        ("Gres=gpu:4 Weight", "'Weight' has no ="),
        ("=4", "'=4' has no ="),
        ('Comment="two words', "not closed"),
        ('"', "not closed"),
    ],
)
def test_what_is_no_key_and_value_is_refused_with_its_place(extra: str, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        parse_extra_conf(extra)
