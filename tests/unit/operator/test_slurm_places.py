"""Where a Slurm is asked, and whom it is believed to be."""

import asyncio
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.operator.views import FakeView
from windlass.kube import issuing, kinds
from windlass.kube.issuing import Bearer, Signer
from windlass.operator.slurms.place import Found, Place, find
from windlass.values.key import Key

LIFE = timedelta(days=1)
NOW = datetime.now(UTC)
AUTHORITY = issuing.authority("authority", NOW, LIFE)
OWN = issuing.issue(AUTHORITY, Bearer("elsewhere", names=("elsewhere.example",)), NOW, LIFE)
OTHER = issuing.issue(AUTHORITY, Bearer("elsewhere", names=("elsewhere.example",)), NOW, LIFE)


def greeted(trust: ssl.SSLContext, shown: Signer, folder: Path) -> None:
    """Shake hands in memory with a server that shows this certificate."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_bytes(shown.certificate_pem)
    key.write_bytes(shown.key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = context.wrap_bio(there, back, server_side=True)
    client = trust.wrap_bio(back, there, server_hostname="rest-restapi.hpc")
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue


def test_the_one_certificate_of_the_secret_is_believed_whatever_its_name(tmp_path: Path) -> None:
    chain = OWN.certificate_pem + AUTHORITY.certificate_pem
    trust = Place("https://rest-restapi.hpc:6820", chain).trust()

    assert trust is not None
    greeted(trust, OWN, tmp_path)


def test_another_of_the_same_authority_is_not_believed(tmp_path: Path) -> None:
    chain = OWN.certificate_pem + AUTHORITY.certificate_pem
    trust = Place("https://rest-restapi.hpc:6820", chain).trust()

    assert trust is not None
    with pytest.raises(ssl.SSLCertVerificationError):
        greeted(trust, OTHER, tmp_path)


# --- where --------------------------------------------------------------------------------------


def view(rest_api: dict[str, Any] | None = None) -> FakeView:
    seen = FakeView("hpc")
    seen.put(kinds.CONTROLLER, "slurm", spec={})
    seen.put(kinds.SECRET, "slurm-auth-jwt", data={"jwt.key": "a2V5"})
    spec = {"controllerRef": {"name": "slurm"}, **(rest_api or {})}
    seen.put(kinds.REST_API, "rest", spec=spec)
    return seen


def found(seen: FakeView) -> Found | None:
    return asyncio.run(find(seen, Key("hpc", "slurm")))


def test_the_key_is_that_of_the_accounting_where_the_controller_names_none() -> None:
    seen = view()
    seen.put(kinds.CONTROLLER, "slurm", spec={"accountingRef": {"name": "db"}})
    seen.put(kinds.ACCOUNTING, "db", spec={"jwtKeyRef": {"name": "shared", "key": "k"}})
    seen.put(kinds.SECRET, "shared", data={"k": "c2hhcmVk"})

    assert found(seen) == Found(Place("http://rest-restapi.hpc:6820"), b"shared")


def test_behind_tls_nobody_is_asked_before_the_certificate_is_there() -> None:
    seen = view({"tls": {"secretRef": {"name": "tls"}}})
    assert found(seen) is None

    seen.put(kinds.SECRET, "tls", data={"tls.crt": "Y2VydA=="})
    assert found(seen) == Found(Place("https://rest-restapi.hpc:6820", b"cert"), b"key")


def test_no_key_is_shown_where_places_are_printed() -> None:
    assert "key" not in repr(found(view()))
