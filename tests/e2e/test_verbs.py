"""The verbs that look into a cluster, and what they say when asked for the wrong thing."""

import json
import subprocess
from pathlib import Path

import pytest

from windlass.local.bridge import NAMESPACE as BRIDGED
from windlass.local.bridge import RELEASE as BRIDGE
from windlass.local.helm import Helm
from windlass.local.slurm import IMAGES, OPERATOR_NAMESPACE, Slurm
from windlass.testing.local import WINDLASS, LocalCluster


def test_status_names_everything_that_runs(cluster: LocalCluster) -> None:
    shown = cluster.run("status").stdout
    for word in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"):
        assert f"{word:<26}running" in shown
    for node in cluster.nodes:
        assert f"{node:<26}Ready" in shown


def test_the_printed_kubeconfig_works(cluster: LocalCluster, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(cluster.local("kubeconfig"))
    nodes = subprocess.check_output(
        [str(cluster.program), f"--kubeconfig={file}", "get", "nodes", "-o", "name"], text=True
    )
    assert nodes.split() == [f"node/{node}" for node in cluster.nodes]
    assert cluster.local("kubeconfig", "--path").strip() == str(cluster.folder.kubeconfig)


def test_the_kubeconfig_is_closed_to_others(cluster: LocalCluster) -> None:
    for file in cluster.folder.pki.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file


@pytest.mark.parametrize("component", ["kube-apiserver", "{node}/kubelet", "{node}/containerd"])
def test_logs_are_found_by_the_components_name(cluster: LocalCluster, component: str) -> None:
    name = component.format(node=cluster.nodes[0])
    assert name in cluster.local("logs").split()
    cluster.local("logs", name)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["logs", "kubelet"], "kubelet runs on several nodes; name one of:"),
        (["logs", "nonsense"], "no log of nonsense; there are:"),
        (["shell", "nonsense"], "has no node nonsense; its nodes:"),
        (["up", "--nodes", "1"], "windlass local node remove"),
        (["up", "--nodes", "0"], "windlass local node remove"),
        (["up", "--nodes", "500"], "from 1 to 120 nodes are possible"),
    ],
)
def test_a_wrong_word_gets_one_clear_line(
    cluster: LocalCluster, words: list[str], says: str
) -> None:
    done = cluster.run(*words)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_cluster_that_is_not_there_is_said_so() -> None:
    done = subprocess.run(
        [WINDLASS, "local", "status", "--name", "nowhere"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("windlass: there is no local cluster nowhere;")


def test_whoever_is_not_root_is_told_so() -> None:
    """In a user namespace without mappings everybody is nobody, and files can still be read."""
    done = subprocess.run(
        ["unshare", "--user", WINDLASS, "local", "up"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        "windlass: a local cluster needs root (namespaces, mounts, cgroups); use sudo\n"
    )


def test_an_image_is_on_every_node_after_load(cluster: LocalCluster) -> None:
    cluster.local("image", "load", "slurm")
    for node in cluster.nodes:
        listed = cluster.local("shell", node, "--", "ctr", "-n", "k8s.io", "images", "ls", "-q")
        assert "localhost/windlass/slurm:26.05" in listed.split()


def test_an_image_is_built_again_on_demand() -> None:
    reference, archive = image_build("pause", "--again").stdout.split()
    assert reference == "localhost/windlass/pause:1"
    assert Path(archive).is_file()
    both = image_build("pause", "--again", "--base", "x")
    assert both.returncode == 1
    assert both.stderr.startswith("windlass: --again is for images on our own Debian")


def image_build(*words: str) -> subprocess.CompletedProcess[str]:
    command = [str(WINDLASS), "local", "image", "build", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_an_archive_of_the_users_own_is_loaded_by_its_path(cluster: LocalCluster) -> None:
    _, archive = image_build("pause").stdout.split()
    cluster.local("image", "load", archive)
    assert archive in cluster.folder.require().images
    missing = cluster.run("image", "load", "./nowhere.tar")
    assert missing.returncode == 1
    assert missing.stderr == "windlass: there is no image archive nowhere.tar\n"


def test_slurm_installs_on_a_cluster_that_windlass_did_not_make(
    cluster: LocalCluster, operator: Slurm, helm: Helm
) -> None:
    """The operator of the other stories is there already."""
    assert operator.kubectl.get("namespace", OPERATOR_NAMESPACE)
    for image in IMAGES:
        cluster.local("image", "load", image)
    done = subprocess.run(
        [
            *(WINDLASS, "up", "--kubeconfig", str(cluster.folder.kubeconfig)),
            *("--registry", "localhost/windlass"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "task 1 on slinky-" in done.stderr
    cluster.kubectl("delete", "namespace", BRIDGED)  # while there is a bridge that lets pods go
    helm.uninstall(BRIDGE, "slurm")
    cluster.kubectl("delete", "namespace", "slurm")
    assert json.loads(cluster.folder.record_file.read_bytes())["name"] == cluster.name
