"""A real slurmctld runs with the slurm.conf that the operator writes, and reloads as foreseen."""

import re

import pytest

from tests.contract.box import READ_SLURM_CONF, Box
from tests.unit.operator.slurmctld.given import controller, node_set
from windlass.local import images
from windlass.local.layout import Folders
from windlass.local.progress import Display
from windlass.operator.slurmctld.changes import changes
from windlass.operator.slurmctld.defaults import cgroup_conf
from windlass.operator.slurmctld.files import Files
from windlass.operator.slurmctld.slurm_conf import (
    Cluster,
    SlurmConf,
    external_slurm_conf,
    slurm_conf,
)
from windlass.testing.ports import free_ports

# slurmctld only starts on a host that has the name of its pod, as a user that owns its files.
IN_A_POD = """
exec unshare --uts bash -c '
hostname slurm-controller-0
echo "127.0.0.1 localhost slurm-controller-0 slurm-controller.lab" > /etc/hosts
cp -r /etc/slurm /tmp/etc && umount /etc/slurm && cp /tmp/etc/* /etc/slurm/
mkdir -p /var/spool/slurmctld/lab_slurm /var/log/slurm
chmod -f +x /etc/slurm/*.sh
chown -R slurm /etc/slurm /var/spool/slurmctld /var/log/slurm
up() { timeout 5 scontrol ping 2> /dev/null | grep -q UP; }
slurmctld -D > /tmp/log 2>&1 &
slurmctld=$!
until up || ! kill -0 $slurmctld 2> /dev/null; do sleep 0.1; done
%s
cat /tmp/log
'
"""
ASK = "if up; then echo UP; scontrol show config; scontrol -o show partitions; fi 2>&1"
RECONFIGURE = """
cp /etc/slurm/slurm.conf /tmp/old.conf
cp /etc/slurm/new.conf /etc/slurm/slurm.conf
timeout 8 scontrol reconfigure 2> /dev/null && echo RECONFIGURED
timeout 8 scontrol show config 2> /dev/null
SLURM_CONF=/tmp/old.conf timeout 8 scontrol ping 2> /dev/null | sed s/^/old:/
"""


@pytest.fixture(scope="module")
def box(
    as_root: None, folders: Folders, display: Display, tmp_path_factory: pytest.TempPathFactory
) -> Box:
    root = images.root_of("slurm", folders.cache, display, programs={})
    return Box(root, tmp_path_factory.mktemp("operator"))


def run(box: Box, cluster: Cluster, what: str = ASK, **more: str) -> str:
    conf = slurm_conf(cluster)
    assert conf.faults == ()
    own = {
        "slurm.conf": conf.text,
        "cgroup.conf": cgroup_conf(cluster.node_sets, cluster.files),
        "jwt.key": "j" * 64,
    }
    given = {name: str(text) for name, text in cluster.files.content.items()}
    return box.run(IN_A_POD % what, {**own, **given, **more})


def free_port() -> dict[str, int]:
    return {"port": free_ports(1)[0]}


def shown(said: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+)(?:\[0\])? += ?(.*)$", said, re.MULTILINE))


def test_slurmctld_runs_with_what_a_plain_controller_gets(box: Box) -> None:
    said = run(box, Cluster(controller=controller(service=free_port())))

    assert said.startswith("UP\n")
    found = shown(said)
    assert found["ClusterName"] == "lab_slurm"
    assert found["MaxNodeCount"] == "16384"
    assert found["SelectTypeParameters"] == "CR_CORE_MEMORY"
    assert found["DefMemPerCPU"] == "1024"
    assert found["CgroupPlugin"] == "autodetect"


def test_slurmctld_runs_with_everything_that_can_be_asked_for(box: Box) -> None:
    script = "#!/bin/sh\n"
    cluster = Cluster(
        controller=controller(
            service=free_port(),
            metrics={"enabled": True},
            extraConf="SlurmctldParameters=Idle_On_Node_Suspend\nAuthInfo=ttl=60\n"
            "PartitionName=all Nodes=ALL Default=YES\n",
        ),
        node_sets=(
            node_set("cpu", partition={"enabled": True, "config": "MaxTime=60 State=UP"}),
            node_set("gpu", extraConf="Gres=gpu:2", partition={"enabled": True}),
        ),
        files=Files(
            content={"gres.conf": "AutoDetect=off\n", "in.sh": script, "out.sh": script},
            prolog=("in.sh",),
            epilog=("out.sh",),
            prolog_slurmctld=("in.sh",),
            epilog_slurmctld=("out.sh",),
        ),
    )
    said = run(box, cluster)

    assert said.startswith("UP\n"), said
    found = shown(said)
    assert found["AuthInfo"] == "use_client_ids,ttl=60"
    assert found["SlurmctldParameters"].endswith(",Idle_On_Node_Suspend")
    assert found["GresTypes"] == "gpu"
    assert found["EpilogSlurmctld"] == "/etc/slurm/out.sh"
    assert re.findall(r"^PartitionName=(\w+) ", said, re.MULTILINE) == ["cpu", "gpu", "all"]
    assert "specified more than once" not in said


@pytest.mark.parametrize(
    "conf",
    [
        pytest.param(
            slurm_conf(
                Cluster(
                    controller=controller(ha={"enabled": True}, persistence={"existingClaim": "x"})
                )
            ),
            id="with a backup",
        ),
        pytest.param(
            external_slurm_conf(
                Cluster(
                    controller=controller(
                        external=True, externalConfig={"host": "10.0.0.1", "port": 7000}
                    )
                )
            ),
            id="outside",
        ),
    ],
)
def test_slurm_commands_read_the_file_of_a_cluster_that_is(box: Box, conf: SlurmConf) -> None:
    assert box.run(READ_SLURM_CONF, {"slurm.conf": conf.text, "jwt.key": "j"}) == "ok\n"


# --- what reconfigure can do --------------------------------------------------------------------


def reconfigured(box: Box, extra: str) -> tuple[set[str], str]:
    """The daemons that must restart for this, as foreseen, and what slurmctld makes of it."""
    service = free_port()
    old = Cluster(controller=controller(service=service))
    new = slurm_conf(Cluster(controller=controller(service=service, extraConf=extra))).text
    restarts = {
        daemon for change in changes(slurm_conf(old).text, new) for daemon in change.restarts
    }
    return restarts, run(box, old, RECONFIGURE, **{"new.conf": new})


@pytest.mark.parametrize(
    "extra",
    [
        "AuthAltParameters=disable_token_creation",
        "CredType=cred/none",
        "GresTypes=gpu",
        "MaxNodeCount=20000",
        "MetricsType=metrics/openmetrics",
        "PriorityType=priority/basic",
        "ProctrackType=proctrack/linuxproc",
        "SchedulerType=sched/builtin",
        "SelectTypeParameters=CR_Core",
        "SlurmctldAddr=slurm-controller.lab",
        "SlurmctldLogFile=/var/log/slurm/other.log",
    ],
)
def test_what_needs_no_restart_is_in_force_after_a_reconfigure(box: Box, extra: str) -> None:
    restarts, said = reconfigured(box, extra)

    assert restarts == set()
    assert "RECONFIGURED" in said
    key, _, value = extra.partition("=")
    assert value.lower() in shown(said)[key].lower()


@pytest.mark.parametrize("extra", ["AuthType=auth/none", "HashPlugin=hash/sha3"])
def test_what_needs_a_restart_cannot_be_told_to_a_running_slurmctld(box: Box, extra: str) -> None:
    restarts, said = reconfigured(box, extra)

    assert "slurmctld" in restarts
    assert "RECONFIGURED" not in said
    assert re.search(r"old:.* is UP", said), said


@pytest.mark.parametrize("extra", ["ClusterName=other", "SlurmUser=root"])
def test_what_needs_a_restart_would_end_a_running_slurmctld(box: Box, extra: str) -> None:
    restarts, said = reconfigured(box, extra)

    assert "slurmctld" in restarts
    assert "fatal: " in said


# --- what the probes ask ------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_a_slurmctld_that_serves_answers_its_probes(box: Box, path: str) -> None:
    service = free_port()
    get = (
        f"exec 3<> /dev/tcp/127.0.0.1/{service['port']}; "
        f'printf "GET {path} HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n" >&3; '
        "timeout 5 head -1 <&3"
    )
    said = run(box, Cluster(controller=controller(service=service)), get)
    assert re.match(r"HTTP/1\.[01] 2\d\d ", said), said


def test_it_is_reached_from_outside_although_its_own_name_is_that_of_this_host(box: Box) -> None:
    """The pod has the Service's name in its /etc/hosts, as 127.0.0.1."""
    service = free_port()
    listening = f"{service['port']:04X} 0+:0000 0A"
    said = run(
        box,
        Cluster(controller=controller(service=service)),
        f'grep -hEo "[0-9A-F]+:{listening}" /proc/net/tcp /proc/net/tcp6',
    )
    assert re.match(r"0+:", said), said
