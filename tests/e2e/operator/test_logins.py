"""A user of a real LDAP directory logs in by key and by password, and runs a job."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from windlass.local.slurm import Slurm
from windlass.mains.windlass import now
from windlass.testing import directory
from windlass.testing.directory import Person
from windlass.testing.local import LocalCluster
from windlass.testing.operated import Operated, until

PASSWORD = "correct horse"

VALUES = """
accounting: {enabled: true}
mariadb: {enabled: true}
sssd: {secretRef: {name: sssd, key: sssd.conf}}
starter:
  nodeset:
    replicas: 1
    ssh:
      enabled: true
      extraSshdConfig: |
        AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys %u
        AuthorizedKeysCommandUser nobody
    slurmd:
      resources: {limits: {cpu: 1, memory: 1Gi}}
      volumeMounts:
        - {name: directory, mountPath: /etc/directory}
    podSpec:
      volumes:
        - name: directory
          secret:
            secretName: directory-tls
            items: [{key: ca.crt, path: ca.crt}]
  loginset:
    rootSshAuthorizedKeys: KEY
    extraSshdConfig: |
      AuthorizedKeysCommand /usr/bin/sss_ssh_authorizedkeys %u
      AuthorizedKeysCommandUser nobody
    service: {spec: {type: NodePort}}
    login:
      volumeMounts:
        - {name: directory, mountPath: /etc/directory}
    podSpec:
      volumes:
        - name: directory
          secret:
            secretName: directory-tls
            items: [{key: ca.crt, path: ca.crt}]
"""


@dataclass(frozen=True)
class Door:
    """The way in: an address, a port and a private key."""

    place: Operated
    host: str
    port: int
    key: Path

    def ssh(self, user: str, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        known = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null")
        argv = ["ssh", *known, *words, "-p", str(self.port), f"{user}@{self.host}", command]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)

    def by_key(self, user: str, command: str) -> str:
        done = self.ssh(user, command, "-i", str(self.key), "-o", "BatchMode=yes")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def at_worker(self, user: str, worker: str, command: str) -> subprocess.CompletedProcess[str]:
        """Through the login pod, which knows the workers by their names."""
        known = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        there = f"ssh {known} -i {self.key} -p {self.port} -W %h:%p {user}@{self.host}"
        words = ("-o", f"ProxyCommand={there}", "-o", "BatchMode=yes", "-i", str(self.key))
        argv = ["ssh", *known.split(), *words, f"{user}@{worker}", command]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)

    def by_password(self, user: str, command: str, password: str, folder: Path) -> int:
        """sshd asks, and a program of ours answers."""
        asker = folder / "ask"
        asker.write_text(f"#!/bin/sh\necho '{password}'\n")
        asker.chmod(0o700)
        words = ("-o", "PreferredAuthentications=password,keyboard-interactive")
        known = ("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null")
        argv = ["ssh", *known, *words, "-p", str(self.port), f"{user}@{self.host}", command]
        environment = {
            "SSH_ASKPASS": str(asker),
            "SSH_ASKPASS_REQUIRE": "force",
            "PATH": "/usr/bin",
        }
        done = subprocess.run(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=60,
        )
        return done.returncode


@pytest.fixture(scope="module")
def door(
    operator: Slurm, cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Door]:
    folder = tmp_path_factory.mktemp("login")
    key = folder / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    public = key.with_suffix(".pub").read_text().strip()
    namespace = f"login-{uuid4().hex[:6]}"
    operator.kubectl("create", "namespace", namespace)
    place = Operated(operator.kubectl, namespace)
    cluster.local("image", "load", "openldap")
    alice = Person("alice", 20001, PASSWORD, public)
    directory.start(place, folder / "pki", now(), alice)
    place.kubectl(
        *("create", "secret", "generic", "sssd", "-n", namespace),
        f"--from-literal=sssd.conf={directory.sssd_conf(place)}",
    )
    values = yaml.safe_load(VALUES.replace("KEY", public))
    installed = Slurm(operator.kubectl, operator.helm, operator.charts, values, namespace)
    installed.install()
    installed.wait_until_idle(1)
    place.wait_condition("loginset", "slurm-login-slinky", "Ready")
    host, port = until(installed.ssh_address, "sshd has a port of the nodes")
    yield Door(place, host, port, key)
    operator.kubectl("delete", "namespace", namespace, "--wait=false")


def test_root_logs_in_by_the_authorised_key(door: Door) -> None:
    assert "slurm" in door.by_key("root", "sinfo --version")


def test_a_user_of_the_directory_logs_in_by_key_and_by_password(door: Door, tmp_path: Path) -> None:
    assert door.by_key("alice", "id -un").split() == ["alice"]
    assert door.by_password("alice", "true", PASSWORD, tmp_path) == 0
    assert door.by_password("alice", "true", "wrong", tmp_path) != 0


def test_a_users_job_is_in_accounting_under_the_users_name(door: Door) -> None:
    number = door.by_key("alice", "sbatch --parsable --wait --output=/dev/null --wrap='id -u'")

    def accounted() -> bool:
        said = door.by_key("alice", f"sacct -X -n -P -j {number.strip()} --format=User,State")
        return said.split() == ["alice|COMPLETED"]

    until(accounted, "sacct shows the job as alice's", 30)


def test_a_user_logs_in_to_a_worker_only_where_a_job_of_hers_runs(door: Door) -> None:
    refused = door.at_worker("alice", "slinky-0", "hostname")
    assert (refused.returncode, refused.stdout) == (255, "")

    number = door.by_key("alice", "sbatch --parsable --output=/dev/null --wrap='sleep 600'").strip()
    door.place.wait_job(number, "RUNNING")

    entered = door.at_worker("alice", "slinky-0", "hostname; cat /proc/self/cgroup")
    assert entered.returncode == 0, entered.stderr
    assert entered.stdout.split()[0] == "slinky-0"
    # The session is part of the job: it is held to its limits, and ends with it.
    assert f"job_{number}" in entered.stdout
    door.place.slurm("scancel", number)


def test_host_keys_outlive_the_pod(door: Door) -> None:
    def keys() -> str:
        words = ["ssh-keyscan", "-p", str(door.port), "-t", "ed25519", door.host]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    before = until(keys, "sshd shows its key")
    place = door.place
    place.kubectl("rollout", "restart", "deployment/slurm-login-slinky", "-n", place.namespace)
    place.kubectl("rollout", "status", "deployment/slurm-login-slinky", "-n", place.namespace)
    assert until(keys, "sshd shows its key") == before
