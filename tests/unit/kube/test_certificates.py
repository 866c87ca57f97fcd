import asyncio
import base64
import itertools
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509

from windlass.kube.certificates import Keep, Store, Terms, decide, trust_patch
from windlass.kube.serving import Pair, Serving, Unusable, follow_folder

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
TERMS = Terms(names=("webhook.slurm.svc", "127.0.0.1"))
DAY = timedelta(days=1)


def made(now: datetime = NOON, terms: Terms = TERMS) -> dict[str, bytes]:
    decided = decide(None, terms, now)
    assert isinstance(decided, Store)
    return decided.data


def certificates(pem: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(pem)


def trusts(bundle: bytes, leaf: bytes, now: datetime) -> bool:
    """Whether a caller with this bundle takes this certificate at this time."""
    for authority in certificates(bundle):
        certificate = certificates(leaf)[0]
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, x509.InvalidVersion, TypeError):
            continue
        in_time = [
            one.not_valid_before_utc <= now <= one.not_valid_after_utc
            for one in (authority, certificate)
        ]
        if all(in_time):
            return True
    return False


def settle(data: dict[str, bytes], now: datetime) -> tuple[dict[str, bytes], datetime, list[str]]:
    """Decide and store until all is well."""
    reasons: list[str] = []
    while True:
        decided = decide(data, TERMS, now)
        if isinstance(decided, Keep):
            return data, decided.until, reasons
        data = decided.data
        reasons.append(decided.reason)


def test_nothing_stored_gets_an_authority_and_a_certificate_for_all_names() -> None:
    data = made()
    assert set(data) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    leaf = certificates(data["tls.crt"])[0]
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert {str(name.value) for name in names} == set(TERMS.names)
    assert trusts(data["ca.crt"], data["tls.crt"], NOON)


def test_what_is_good_is_kept_until_two_thirds_of_its_life() -> None:
    assert decide(made(), TERMS, NOON + DAY) == Keep(NOON + 60 * DAY)


@pytest.mark.parametrize(
    "broken",
    [
        {"ca.crt": b"no certificate"},
        {"tls.key": b"no key"},
        {"tls.key": made()["tls.key"]},
        {"ca.key": made()["ca.key"]},
        {"tls.crt": made()["tls.crt"], "tls.key": made()["tls.key"]},
        {"next.crt": made()["ca.crt"]},
    ],
    ids=["bundle", "key", "another's key", "another authority's key", "unsigned", "half"],
)
def test_what_cannot_be_used_is_made_anew(broken: dict[str, bytes]) -> None:
    decided = decide({**made(), **broken}, TERMS, NOON)
    assert isinstance(decided, Store)
    assert decided.reason.startswith("what was stored cannot be used")
    assert trusts(decided.data["ca.crt"], decided.data["tls.crt"], NOON)


def test_missing_data_is_made_anew() -> None:
    data = made()
    del data["tls.key"]
    assert isinstance(decide(data, TERMS, NOON), Store)


def test_the_serving_certificate_is_renewed_by_the_same_authority() -> None:
    before = made()
    decided = decide(before, TERMS, NOON + 60 * DAY)
    assert isinstance(decided, Store)
    assert decided.reason == "the serving certificate nears its end"
    assert decided.data["ca.crt"] == before["ca.crt"]
    assert decided.data["tls.crt"] != before["tls.crt"]


def test_other_names_need_another_certificate() -> None:
    other = Terms(names=("other.slurm.svc",))
    decided = decide(made(), other, NOON)
    assert isinstance(decided, Store)
    assert decided.reason == "the names have changed"
    assert decide(decided.data, other, NOON) == Keep(NOON + 60 * DAY)


def test_an_expired_authority_is_replaced_at_once() -> None:
    decided = decide(made(), TERMS, NOON + 6 * 365 * DAY)
    assert isinstance(decided, Store)
    assert decided.reason == "the authority has expired"


def test_at_every_moment_of_eleven_years_old_and_new_readers_trust_what_is_served() -> None:
    """A reader may be late by nearly the overlap, with the bundle or with the certificate."""
    data, now = made(), NOON
    history: list[tuple[datetime, dict[str, bytes]]] = [(now, data)]
    reasons: list[str] = []
    while now < NOON + 4000 * DAY:
        stored_at = now
        data, now, said = settle(data, stored_at)
        reasons += said
        history.append((stored_at, data))
    for (_, old), (when, new) in itertools.pairwise(history):
        assert trusts(old["ca.crt"], new["tls.crt"], when)
        assert trusts(new["ca.crt"], old["tls.crt"], when)
    assert reasons.count("the authority nears its end") == 3
    assert reasons.count("everybody trusts the next authority") == 3
    retired = "nobody serves the old authority's certificate any more"
    assert reasons.count(retired) == 3
    assert len(certificates(data["ca.crt"])) == 1


def test_a_successor_is_published_before_it_signs_and_the_old_stays_a_while() -> None:
    data = made()
    late = certificates(data["ca.crt"])[0].not_valid_after_utc - 600 * DAY
    published, until, _ = settle(data, late)
    assert len(certificates(published["ca.crt"])) == 2
    assert trusts(data["ca.crt"], published["tls.crt"], late)
    assert until == late + TERMS.overlap
    promoted, until, _ = settle(published, until)
    assert len(certificates(promoted["ca.crt"])) == 2
    assert not trusts(data["ca.crt"], promoted["tls.crt"], late)
    retired, _, _ = settle(promoted, until)
    assert len(certificates(retired["ca.crt"])) == 1


@pytest.mark.parametrize(
    "terms",
    [{"names": ()}, {"names": ("a",), "overlap": 40 * DAY}],
)
def test_terms_that_cannot_work_are_refused(terms: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"names:|overlap"):
        Terms(**terms)


def test_the_bundle_is_patched_into_every_webhook_that_lacks_it() -> None:
    has = base64.b64encode(b"bundle").decode()
    configuration = {
        "webhooks": [
            {"name": "a", "clientConfig": {"caBundle": has}},
            {"name": "b", "clientConfig": {"caBundle": "old"}},
            {"name": "c", "clientConfig": {}},
        ]
    }
    assert trust_patch(configuration, b"bundle") == [
        {"op": "test", "path": "/webhooks/1/name", "value": "b"},
        {"op": "add", "path": "/webhooks/1/clientConfig/caBundle", "value": has},
        {"op": "test", "path": "/webhooks/2/name", "value": "c"},
        {"op": "add", "path": "/webhooks/2/clientConfig/caBundle", "value": has},
    ]
    assert trust_patch({"webhooks": configuration["webhooks"][:1]}, b"bundle") == []


# --- Serving ---------------------------------------------------------------------------------


class TlsServer:
    """Shows whatever certificate `serving` shows."""

    def __init__(self) -> None:
        self.serving = Serving()

    async def serial(self, bundle: bytes) -> int:
        """The number of the certificate a new caller gets to see."""
        server = await asyncio.start_server(
            lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=self.serving.context
        )
        async with server:
            port = server.sockets[0].getsockname()[1]
            trust = ssl.create_default_context(cadata=bundle.decode())
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust)
            shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
            writer.close()
        return x509.load_der_x509_certificate(shown).serial_number


@pytest.fixture
def now_made() -> dict[str, bytes]:
    return made(datetime.now(UTC))


def test_a_new_caller_sees_the_pair_that_was_shown_last(now_made: dict[str, bytes]) -> None:
    other = made(datetime.now(UTC))

    async def main() -> None:
        server = TlsServer()
        for data in (now_made, other):
            assert server.serving.show(Pair.from_secret(data))
            want = certificates(data["tls.crt"])[0].serial_number
            assert await server.serial(data["ca.crt"]) == want
        assert not server.serving.show(Pair.from_secret(other))

    asyncio.run(main())


def test_a_pair_that_does_not_fit_is_refused_and_the_former_stays(
    now_made: dict[str, bytes],
) -> None:
    async def main() -> None:
        server = TlsServer()
        server.serving.show(Pair.from_secret(now_made))
        for bad in (Pair(now_made["tls.crt"], made()["tls.key"]), Pair(b"", b"")):
            with pytest.raises(Unusable, match="certificate or key"):
                server.serving.show(bad)
        want = certificates(now_made["tls.crt"])[0].serial_number
        assert await server.serial(now_made["ca.crt"]) == want

    asyncio.run(main())


def test_without_a_certificate_callers_are_turned_away(now_made: dict[str, bytes]) -> None:
    async def main() -> None:
        server = TlsServer()
        assert not server.serving.ready
        with pytest.raises((ssl.SSLError, ConnectionResetError)):
            await server.serial(now_made["ca.crt"])

    asyncio.run(main())


def test_a_mounted_folder_is_followed_through_its_changes(
    now_made: dict[str, bytes], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def until(serving: Serving, pair: Pair) -> None:
        async with asyncio.timeout(5):
            while serving._shown != pair:
                await asyncio.sleep(0.005)

    def write(pair: Pair) -> None:
        (tmp_path / "tls.crt").write_bytes(pair.certificate)
        (tmp_path / "tls.key").write_bytes(pair.key)

    async def main() -> None:
        serving = Serving()
        async with asyncio.TaskGroup() as tasks:
            following = tasks.create_task(follow_folder(serving, tmp_path, every=0.01))
            for data in (now_made, made()):
                write(Pair.from_secret(data))
                await until(serving, Pair.from_secret(data))
            following.cancel()

    asyncio.run(main())


def test_a_folder_without_a_certificate_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"tls\.crt: No such file"):
        Pair.from_folder(tmp_path)
    with pytest.raises(Unusable, match=r"no 'tls\.crt'"):
        Pair.from_secret({})
