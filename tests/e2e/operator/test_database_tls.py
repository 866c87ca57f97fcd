"""slurmdbd before a MariaDB that speaks only to those whose certificate it knows."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
import yaml

from windlass.local.pki import Authority, Subject
from windlass.local.slurm import Slurm
from windlass.mains.windlass import now
from windlass.testing.operated import documents, until

VALUES = """
accounting:
  enabled: true
  storageConfig:
    host: database
    tls:
      caRef: {name: database-ca, key: ca.crt}
      certificateRef: {name: slurmdbd-client}
starter:
  nodeset:
    replicas: 1
    slurmd:
      resources: {limits: {cpu: 500m, memory: 512Mi}}
"""
ACCOUNTS = """\
CREATE DATABASE slurm_acct_db;
CREATE USER slurm IDENTIFIED BY 'secret' REQUIRE X509;
GRANT ALL ON slurm_acct_db.* TO slurm;
"""
DATABASE = """
apiVersion: v1
kind: Service
metadata: {name: database}
spec:
  selector: {app: database}
  ports: [{port: 3306}]
---
apiVersion: v1
kind: Pod
metadata: {name: database, labels: {app: database}}
spec:
  securityContext: {runAsUser: 999, runAsGroup: 999, fsGroup: 999}
  containers:
    - name: mariadb
      image: localhost/windlass/mariadb:11.8
      args:
        - --require-secure-transport=ON
        - --ssl-ca=/etc/database/ca.crt
        - --ssl-cert=/etc/database/tls.crt
        - --ssl-key=/etc/database/tls.key
        - --init-file=/etc/database/accounts.sql
        - --innodb-snapshot-isolation=OFF
      env: [{name: MARIADB_PASSWORD_FILE, value: /etc/database/password}]
      readinessProbe: {tcpSocket: {port: 3306}, periodSeconds: 1}
      volumeMounts:
        - {name: database, mountPath: /etc/database, readOnly: true}
        - {name: data, mountPath: /var/lib/mysql}
  volumes:
    - {name: database, secret: {secretName: database}}
    - {name: data, emptyDir: {}}
"""


def papers(folder: Path) -> str:
    """What the database, slurmdbd and who checks them show each other."""
    authority = Authority(folder, now())
    authority.ensure((Subject("database", "database", names=("database",)), Subject("dbd", "dbd")))
    ca = authority.certificate("ca").read_text()

    def pair(name: str) -> dict[str, str]:
        certificate, key = authority.certificate(name), authority.key(name)
        return {"tls.crt": certificate.read_text(), "tls.key": key.read_text()}

    database = {**pair("database"), "ca.crt": ca, "accounts.sql": ACCOUNTS, "password": "secret"}
    return documents(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "database-ca"},
            "data": {"ca.crt": ca},
        },
        secret("slurmdbd-client", pair("dbd")),
        secret("mariadb-password", {"password": "secret"}),
        secret("database", database),
    )


def secret(name: str, data: dict[str, str]) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


@pytest.fixture
def guarded(operator: Slurm, tmp_path: Path) -> Iterator[Slurm]:
    namespace = f"tls-{uuid4().hex[:6]}"
    operator.kubectl("create", "namespace", namespace)
    made = f"{papers(tmp_path / 'authority')}---\n{DATABASE}"
    operator.kubectl("apply", "-n", namespace, "-f", "-", text=made)
    values = yaml.safe_load(VALUES)
    slurm = Slurm(operator.kubectl, operator.helm, operator.charts, values, namespace)
    slurm.install()
    slurm.wait_until_idle(1)
    yield slurm
    operator.kubectl("delete", "namespace", namespace, "--wait=false")


def test_a_job_is_accounted_in_a_database_that_wants_a_certificate(guarded: Slurm) -> None:
    body = "#!/bin/sh\n:\n"
    number = guarded.run("sbatch", "--parsable", "--wait", "--output=/dev/null", text=body).strip()

    words = ("sacct", "--allocations", "--noheader", "--parsable2", "--format=State")
    until(lambda: guarded.run(*words, f"--jobs={number}").strip() == "COMPLETED", "sacct has it")
