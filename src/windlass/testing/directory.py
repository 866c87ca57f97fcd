"""A real OpenLDAP in a pod, with one user who logs in by key and by password."""

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from windlass.local.pki import Authority, Subject
from windlass.testing.operated import Operated

SUFFIX: Final = "dc=example,dc=org"
ADMIN_PASSWORD: Final = "admin-secret"  # noqa: S105 - of a directory that lives for one test
IMAGE: Final = "localhost/windlass/openldap:forky"


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    number: int
    password: str
    public_key: str

    def ldif(self) -> str:
        return f"""
dn: uid={self.name},ou=people,{SUFFIX}
objectClass: inetOrgPerson
objectClass: posixAccount
objectClass: ldapPublicKey
uid: {self.name}
cn: {self.name}
sn: {self.name}
uidNumber: {self.number}
gidNumber: {self.number}
homeDirectory: /home/{self.name}
loginShell: /bin/bash
userPassword: {self.password}
sshPublicKey: {self.public_key}

dn: cn={self.name},ou=groups,{SUFFIX}
objectClass: posixGroup
cn: {self.name}
gidNumber: {self.number}
memberUid: {self.name}
"""


def ldif(*people: Person) -> str:
    top = f"""dn: {SUFFIX}
objectClass: dcObject
objectClass: organization
dc: example
o: example

dn: ou=people,{SUFFIX}
objectClass: organizationalUnit
ou: people

dn: ou=groups,{SUFFIX}
objectClass: organizationalUnit
ou: groups
"""
    return top + "".join(person.ldif() for person in people)


def start(place: Operated, folder: Path, now: datetime, *people: Person) -> None:
    """Put a directory with TLS into the namespace, as Service `directory`."""
    authority = Authority(folder, now)
    name = f"directory.{place.namespace}"
    authority.ensure([Subject("directory", "directory", names=(name, f"{name}.svc"))])
    certificate = authority.certificate("directory").read_text()
    tls = {
        "tls.crt": certificate,
        "tls.key": authority.key("directory").read_text(),
        "ca.crt": authority.certificate("ca").read_text(),
    }
    for each in (
        _secret("directory-tls", tls),
        _secret("directory-people", {"people.ldif": ldif(*people)}),
        _pod(),
        _service(),
    ):
        place.apply(json.dumps(each))
    place.kubectl(
        *("wait", "--for=condition=Ready", "pod/directory"),
        *("-n", place.namespace, "--timeout=60s"),
    )


def sssd_conf(place: Operated) -> str:
    """SSSD that knows the directory; its authority is mounted at /etc/directory/ca.crt."""
    return f"""[sssd]
services = nss, pam, ssh
domains = example

[domain/example]
id_provider = ldap
auth_provider = ldap
ldap_uri = ldaps://directory.{place.namespace}:1636
ldap_search_base = {SUFFIX}
ldap_tls_cacert = /etc/directory/ca.crt
ldap_user_ssh_public_key = sshPublicKey
cache_credentials = false
"""


def _secret(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def _service() -> dict[str, Any]:
    ports = [{"name": "ldap", "port": 1389}, {"name": "ldaps", "port": 1636}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "directory"},
        "spec": {"selector": {"app": "directory"}, "ports": ports},
    }


def _pod() -> dict[str, Any]:
    container = {
        "name": "slapd",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "LDAP_PASSWORD", "value": ADMIN_PASSWORD}],
        "readinessProbe": {"tcpSocket": {"port": 1636}, "periodSeconds": 1},
        "volumeMounts": [
            {"name": "tls", "mountPath": "/tls"},
            {"name": "people", "mountPath": "/ldif"},
        ],
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "directory", "labels": {"app": "directory"}},
        "spec": {
            "containers": [container],
            "volumes": [
                {"name": "tls", "secret": {"secretName": "directory-tls"}},
                {"name": "people", "secret": {"secretName": "directory-people"}},
            ],
        },
    }
