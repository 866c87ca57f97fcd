"""slurm.conf as the operator writes it."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from tests.unit.operator.conftest import Golden
from tests.unit.operator.slurmctld.given import accounting, config_map, controller, node_set
from windlass.operator.slurmctld.defaults import cgroup_conf, gres_conf, memory_per_cpu
from windlass.operator.slurmctld.files import Files, gather
from windlass.operator.slurmctld.slurm_conf import (
    Cluster,
    SlurmConf,
    external_slurm_conf,
    extra_line,
    slurm_conf,
)
from windlass.slurm.conf import SLURM_CONF, check, parse

NO_FILES = Files()


def rendered(extra: str = "", *node_sets: Any, files: Files = NO_FILES, **spec: Any) -> SlurmConf:
    one = controller(extraConf=extra, **spec)
    return slurm_conf(Cluster(controller=one, node_sets=node_sets, files=files))


def values(conf: SlurmConf, key: str) -> tuple[str, ...]:
    return parse(conf.text, SLURM_CONF).all(key)


EVERYTHING = Cluster(
    controller=controller(
        clusterName="Big",
        accountingRef={"name": "db"},
        metrics={"enabled": True},
        service={"port": 7817},
        extraConf="# mine\nSlurmctldParameters=Power_Save_Interval=5,\\\nidle_on_node_suspend\n"
        "AuthInfo=ttl=60\nReturnToService=1\nPartitionName=all Nodes=ALL Default=YES",
        configFileRefs=[{"name": "files"}],
        prologScriptRefs=[{"name": "prologs"}],
        epilogScriptRefs=[{"name": "epilogs"}],
        prologSlurmctldScriptRefs=[{"name": "inner"}],
        epilogSlurmctldScriptRefs=[{"name": "outer"}],
    ),
    accounting=accounting("db", service={"port": 7819}),
    node_sets=(
        node_set("zebra", partition={"enabled": True, "config": "MaxTime=60 State=UP"}),
        node_set(
            "gpu",
            template={"spec": {"hostname": "g-  x"}},
            extraConf="Gres=gpu:h100:4,shard:8 Weight=3",
            slurmd={"resources": {"limits": {"cpu": 3, "memory": "2Gi"}}},
        ),
    ),
    files=Files(
        content={"gres.conf": "AutoDetect=nvml\n", "a.sh": "", "b.sh": "", "c.sh": "", "d.sh": ""},
        prolog=("a.sh", "b.sh"),
        epilog=("b.sh",),
        prolog_slurmctld=("c.sh",),
        epilog_slurmctld=("d.sh",),
    ),
    jwks=True,
)
HA = Cluster(
    controller=controller(
        ha={"enabled": True, "backups": 2}, persistence={"existingClaim": "shared"}
    )
)
EXTERNAL = Cluster(
    controller=controller(external=True, externalConfig={"host": "head.example", "port": 7000})
)


@pytest.mark.parametrize(
    ("name", "conf"),
    [
        pytest.param("default", slurm_conf(Cluster(controller=controller())), id="default"),
        pytest.param("everything", slurm_conf(EVERYTHING), id="everything"),
        pytest.param("ha", slurm_conf(HA), id="ha"),
        pytest.param("external", external_slurm_conf(EXTERNAL), id="external"),
    ],
)
def test_a_whole_file(name: str, conf: SlurmConf, golden: Golden) -> None:
    golden(f"{name}.slurm.conf", conf.text)
    assert check(parse(conf.text, SLURM_CONF), SLURM_CONF) == ()
    assert (conf.faults, conf.notes) == ((), ())


@pytest.mark.parametrize("several", [False, True])
def test_no_name_of_the_service_is_left_where_its_address_is_known(several: bool) -> None:
    shared = {"existingClaim": "shared"} if several else {}
    one = controller(ha={"enabled": several}, persistence=shared)
    by_name = slurm_conf(Cluster(controller=one)).text
    by_address = slurm_conf(Cluster(controller=one, address="10.96.3.4")).text
    assert by_address == by_name.replace("slurm-controller.lab", "10.96.3.4")
    assert by_address != by_name


# --- what the user sets -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "ReturnToService=0",
        "returntoservice=0",
        "SchedulerParameters=defer",
        "SlurmctldPort=7000",
        "MaxNodeCount=10",
        "StateSaveLocation=/else",
        "TaskPlugin=task/none",
    ],
)
def test_a_key_of_the_user_stands_alone(line: str) -> None:
    key, _, value = line.partition("=")
    assert values(rendered(line), key) == (value,)


@pytest.mark.parametrize(
    ("extra", "absent"),
    [
        ("SelectType=select/linear", ["SelectTypeParameters", "DefMemPerCPU"]),
        ("SelectTypeParameters=CR_Core", ["DefMemPerCPU"]),
        ("DefMemPerNode=100", ["DefMemPerCPU"]),
    ],
)
def test_a_choice_of_the_user_takes_with_it_what_only_suited_ours(
    extra: str, absent: list[str]
) -> None:
    assert [key for key in absent if values(rendered(extra), key)] == []


def test_gpus_that_pods_get_are_a_type_of_gres() -> None:
    gpus = node_set("a", slurmd={"resources": {"limits": {"nvidia.com/gpu": 8}}})

    assert values(rendered("", gpus), "GresTypes") == ("gpu",)
    assert gres_conf([gpus]) == "AutoDetect=nvidia\n"
    assert gres_conf([node_set("b")]) == ""


def test_where_one_worker_may_not_have_cgroups_none_has() -> None:
    sets = [node_set("a"), node_set("b", slurmd={"securityContext": {"privileged": False}})]

    assert values(rendered("", *sets), "ProctrackType") == ("proctrack/linuxproc",)
    assert values(rendered("", *sets), "TaskPlugin") == ("task/none",)
    assert cgroup_conf(sets, Files()) == "CgroupPlugin=disabled\n"
    assert "disabled" not in cgroup_conf(sets[:1], Files())


def test_without_cgroups_processes_are_followed_in_proc() -> None:
    conf = rendered(files=Files(content={"cgroup.conf": "CgroupPlugin=disabled\n"}))
    assert values(conf, "ProctrackType") == ("proctrack/linuxproc",)
    assert values(conf, "TaskPlugin") == ("task/affinity",)
    assert values(conf, "JobAcctGatherType") == ("jobacct_gather/linux",)
    assert values(conf, "PrologFlags") == ("Contain",)


def test_joined_options_keep_their_case_and_stand_once() -> None:
    conf = rendered(
        "slurmctldparameters=Foo_Bar=X \\\n# not continued\nAuthAltParameters=jwt_key=/x,A"
    )
    assert conf.faults == ()
    assert values(conf, "SlurmctldParameters") == (
        "enable_configless,reconfig_on_restart,Foo_Bar=X",
    )
    assert values(conf, "AuthAltParameters") == ("jwt_key=/etc/slurm/jwt.key,A",)


def test_a_file_that_extra_conf_includes_counts_as_the_users() -> None:
    files = Files(content={"mine.conf": "ReturnToService=0\nPartitionName=w Nodes=ALL\n"})
    conf = rendered("Include mine.conf", node_set("w", partition={"enabled": True}), files=files)
    assert values(conf, "ReturnToService") == ()
    assert "PartitionName=w" not in conf.text
    assert [note.code for note in conf.notes] == ["DefinedTwice"]


def test_the_place_of_a_line_in_extra_conf_is_found_again() -> None:
    extra = "AuthInfo=ttl=5\n\nFoo=1"
    text = rendered(extra).text
    line = text.splitlines().index("Foo=1") + 1
    assert extra_line(text, line) == 3
    assert extra_line(text, 3) is None
    assert extra_line(rendered().text, 3) is None


# --- what must not reach a daemon ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "fault"),
    [
        ("MaxJobCount", "extraConf, line 1: MaxJobCount: there is no = after it"),
        ("\nPartitionName=a\nPartitionName=a", "extraConf, line 3: PartitionName: a is defined"),
        (
            "AccountingStorageTRES=gres/gpu",
            "extraConf, line 1: AccountingStorageTRES: without slurmdbd slurmctld does not survive",
        ),
        (
            "TopologyPlugin=topology/tree",
            "extraConf, line 1: TopologyPlugin: topology/tree needs a file",
        ),
    ],
)
def test_a_fault_is_told_with_its_place(extra: str, fault: str) -> None:
    (found,) = rendered(extra).faults
    assert str(found).startswith(fault)


def test_with_what_they_need_the_same_lines_are_fine() -> None:
    files = Files(content={"topology.yaml": "- topology: t\n"})
    extra = "AccountingStorageTRES=gres/gpu\nTopologyPlugin=topology/tree"
    assert rendered(extra, files=files, accountingRef={"name": "db"}).faults == ()


def test_a_broken_partition_of_a_node_set_is_told_by_its_name() -> None:
    (fault,) = rendered("", node_set("w", partition={"enabled": True, "config": "MaxTime"})).faults
    assert str(fault).startswith("partition.config of NodeSet w, line 1: ")


def test_keys_that_we_do_not_know_are_left_to_the_slurm_that_runs() -> None:
    assert rendered("BrandNewKey=1\nMaxJobCount=many").faults == ()


@pytest.mark.parametrize(
    ("extra", "codes"),
    [
        ("StateSaveLocation=/var/spool/slurmctld", ["StateNotKept"]),
        ("StateSaveLocation=/var/spool/slurmctld/lab_slurm/state", []),
        ("SlurmctldPort=7000", ["PortNotServed"]),
        ("SlurmctldPort=6817", []),
    ],
)
def test_what_would_not_serve_the_user_is_told(extra: str, codes: list[str]) -> None:
    assert [note.code for note in rendered(extra).notes] == codes


# --- node sets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hostname", "prefix"),
    [
        ("", "w"),
        ("gpu", "gpu"),
        ("gpu-", "gpu"),
        ("-gpu- x", "gpu"),
        ("  ", "w"),
        ("--", "w"),
    ],
)
def test_workers_are_called_by_their_hostname(hostname: str, prefix: str) -> None:
    one = node_set("w", template={"spec": {"hostname": hostname}})
    assert f"NodeSet={prefix} Feature={prefix}\n" in rendered("", one).text


def test_two_node_sets_of_one_hostname_give_one_line() -> None:
    template = {"spec": {"hostname": "n"}}
    conf = rendered("", node_set("a", template=template), node_set("b", template=template))
    assert conf.text.count("NodeSet=n") == 1
    assert conf.notes == ()


def test_two_partitions_of_one_name_are_told_and_the_first_is_used() -> None:
    template = {"spec": {"hostname": "n"}}
    conf = rendered(
        "",
        node_set("b", template=template, partition={"enabled": True, "config": "MaxTime=2"}),
        node_set("a", template=template, partition={"enabled": True, "config": "MaxTime=1"}),
    )
    assert "PartitionName=n Nodes=n MaxTime=1\n" in conf.text
    assert "MaxTime=2" not in conf.text
    (note,) = conf.notes
    assert "from NodeSet a, which is used, and otherwise from NodeSet b" in note.sentence


def test_a_partition_of_extra_conf_wins_over_that_of_a_node_set() -> None:
    conf = rendered("PartitionName=w Nodes=ALL", node_set("w", partition={"enabled": True}))
    assert conf.text.count("PartitionName=w") == 1
    (note,) = conf.notes
    assert "set partition.enabled: false there" in note.sentence


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ([], 1024),
        ([{}], 1024),
        ([{"cpu": 2, "memory": "1Gi"}], 480),
        ([{"cpu": "500m", "memory": "100Mi"}], 68),
        ([{"cpu": 4, "memory": "64Gi"}], 16320),
        ([{"cpu": 4, "memory": "64Gi"}, {}], 1024),
        ([{"cpu": "x", "memory": "1Gi"}], 1024),
        ([{"cpu": 64, "memory": "1Mi"}], 1),
    ],
)
def test_a_job_gets_a_share_of_memory_with_each_cpu(
    limits: list[dict[str, Any]], share: int
) -> None:
    sets = [
        node_set(f"n{at}", slurmd={"resources": {"limits": each}}) for at, each in enumerate(limits)
    ]
    assert memory_per_cpu(sets) == share


@pytest.mark.parametrize(
    ("extra", "gres_conf", "types"),
    [
        ("", "", ()),
        ("Weight=2 Gres=gpu:2", "", ("gpu",)),
        ('gres="gpu:a:1,fpga:2"', "", ("fpga,gpu",)),
        ("", "AutoDetect=off\n", ()),
        ("", "AutoDetect=nvidia\n", ("gpu",)),
        ("", "# Name=x\nNodeName=a Name=tpu Count=2\n", ("tpu",)),
    ],
)
def test_resources_that_nodes_bring_are_announced(
    extra: str, gres_conf: str, types: tuple[str, ...]
) -> None:
    files = Files(content={"gres.conf": gres_conf})
    one = node_set("w", extraConf=extra)
    assert values(rendered("", one, files=files), "GresTypes") == types
    assert ("ConstrainDevices=yes" in cgroup_conf([one], files)) is bool(types)


# --- accounting and files -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "where"),
    [
        (None, ("db-accounting.lab", "6819")),
        ({}, ("db-accounting.lab", "6819")),
        ({"service": {"port": 7000}}, ("db-accounting.lab", "7000")),
        (
            {"external": True, "externalConfig": {"host": "dbd.example", "port": 99}},
            ("dbd.example", "99"),
        ),
    ],
)
def test_slurmdbd_is_found_where_it_is(spec: dict[str, Any] | None, where: tuple[str, str]) -> None:
    database = accounting("db", **spec) if spec is not None else None
    one = controller(accountingRef={"name": "db"})
    conf = slurm_conf(Cluster(controller=one, accounting=database))
    found = values(conf, "AccountingStorageHost") + values(conf, "AccountingStoragePort")
    assert found == where


def test_files_are_gathered_by_what_they_are_for() -> None:
    one = controller(
        configFileRefs=[{"name": "b"}, {"name": "a"}],
        prologScriptRefs=[{"name": "p"}],
        epilogSlurmctldScriptRefs=[{"name": "p"}],
    )
    maps = {
        "a": config_map("a", **{"gres.conf": "1", "slurm.conf": "x"}),
        "b": config_map("b", **{"gres.conf": "2"}),
        "p": config_map("p", **{"90.sh": "#!", "10.sh": "#!"}),
    }
    files = gather(one, maps)
    assert files.content == {"gres.conf": "2", "90.sh": "#!", "10.sh": "#!"}
    assert files.prolog == files.epilog_slurmctld == ("10.sh", "90.sh")
    assert [note.code for note in files.notes] == ["FileTwice", "FileNotUsed"]


def test_the_partition_of_a_set_that_is_being_deleted_stays_and_takes_no_new_jobs() -> None:
    one = node_set("w", partition={"enabled": True, "config": "MaxTime=60 State=UP"})
    gone = msgspec.structs.replace(
        one.metadata, deletion_timestamp=datetime(2026, 7, 1, tzinfo=UTC)
    )
    conf = rendered("", msgspec.structs.replace(one, metadata=gone))
    assert "NodeSet=w Feature=w\n" in conf.text
    assert "PartitionName=w Nodes=w MaxTime=60 State=INACTIVE\n" in conf.text
