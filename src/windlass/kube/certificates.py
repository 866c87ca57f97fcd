"""Our own certificates for webhooks, as plain decisions over what the Secret holds and the time.

A change of authority never leaves a caller without trust:

    publish the successor   it is in the bundle, the old authority still signs
    promote it              after `overlap`: everybody has the bundle; the new one signs
    retire the old          after `overlap`: no replica serves the old certificate any more

`decide` says what to store next, or until when all is well. Whoever stores it does so under the
version that was read, and reads and decides again where somebody else was faster.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from windlass.kube import issuing
from windlass.kube.issuing import SKEW, Bearer, Signer, pem


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """Whom the certificate names (DNS names and addresses) and how long things last."""

    names: tuple[str, ...]
    authority_life: timedelta = timedelta(days=5 * 365)
    leaf_life: timedelta = timedelta(days=90)
    overlap: timedelta = timedelta(hours=1)

    def __post_init__(self) -> None:
        if not self.names:
            raise ValueError("names: give the service's name, such as webhook.slurm.svc")
        if not self.overlap < self.leaf_life / 3 < self.authority_life / 3:
            raise ValueError("overlap, a third of leaf_life, of authority_life: each be longer")


@dataclass(frozen=True, slots=True)
class Keep:
    """All is well; look again at `until`."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Store:
    """Put this into the Secret, and decide again."""

    data: dict[str, bytes]
    reason: str


@dataclass(frozen=True, slots=True)
class _Kept:
    """What a Secret holds: who signs, who will, who is trusted besides, and the serving pair."""

    signs: Signer
    serves: Signer
    successor: Signer | None = None
    retiring: tuple[x509.Certificate, ...] = ()

    def data(self) -> dict[str, bytes]:
        trusted = [self.signs.certificate, *self.retiring]
        if self.successor is not None:
            trusted.append(self.successor.certificate)
        data = {
            "ca.crt": b"".join(pem(certificate) for certificate in trusted),
            "ca.key": self.signs.key_pem,
            "tls.crt": self.serves.certificate_pem,
            "tls.key": self.serves.key_pem,
        }
        if self.successor is not None:
            data["next.crt"] = self.successor.certificate_pem
            data["next.key"] = self.successor.key_pem
        return data


def decide(stored: Mapping[str, bytes] | None, terms: Terms, now: datetime) -> Keep | Store:
    """What to do about the Secret's data as it is."""
    if not stored:
        return Store(_anew(terms, now).data(), "none was stored")
    try:
        kept = _read(stored)
    except (ValueError, KeyError, TypeError, InvalidSignature) as error:
        return Store(_anew(terms, now).data(), f"what was stored cannot be used: {error!r}")
    if now >= kept.signs.certificate.not_valid_after_utc:
        return Store(_anew(terms, now).data(), "the authority has expired")
    for step in (_promote, _reissue, _publish, _retire):
        change = step(kept, terms, now)
        if change is not None:
            changed, reason = change
            return Store(changed.data(), reason)
    return Keep(_next_look(kept, terms))


def trust_patch(configuration: Mapping[str, Any], bundle: bytes) -> list[dict[str, Any]]:
    """The JSON patch that gives every webhook this bundle; empty where all have it."""
    wanted = base64.b64encode(bundle).decode()
    patch: list[dict[str, Any]] = []
    for place, webhook in enumerate(configuration.get("webhooks") or ()):
        if webhook["clientConfig"].get("caBundle") != wanted:
            at = f"/webhooks/{place}"
            patch.append({"op": "test", "path": f"{at}/name", "value": webhook["name"]})
            patch.append({"op": "add", "path": f"{at}/clientConfig/caBundle", "value": wanted})
    return patch


# --- The steps, in order ---------------------------------------------------------------------

_Change = tuple[_Kept, str] | None


def _promote(kept: _Kept, terms: Terms, now: datetime) -> _Change:
    if kept.successor is None or now < _made(kept.successor.certificate) + terms.overlap:
        return None
    changed = _Kept(
        signs=kept.successor,
        serves=_leaf(kept.successor, terms, now),
        retiring=(kept.signs.certificate, *kept.retiring),
    )
    return changed, "everybody trusts the next authority"


def _reissue(kept: _Kept, terms: Terms, now: datetime) -> _Change:
    if set(_names(kept.serves.certificate)) != set(terms.names):
        reason = "the names have changed"
    elif now >= _renewal(kept.serves.certificate):
        reason = "the serving certificate nears its end"
    else:
        return None
    return replace(kept, serves=_leaf(kept.signs, terms, now)), reason


def _publish(kept: _Kept, terms: Terms, now: datetime) -> _Change:
    if kept.successor is not None or now < _renewal(kept.signs.certificate):
        return None
    return replace(kept, successor=_authority(terms, now)), "the authority nears its end"


def _retire(kept: _Kept, terms: Terms, now: datetime) -> _Change:
    if not kept.retiring or now < _made(kept.serves.certificate) + terms.overlap:
        return None
    return replace(kept, retiring=()), "nobody serves the old authority's certificate any more"


def _next_look(kept: _Kept, terms: Terms) -> datetime:
    moments = [_renewal(kept.serves.certificate)]
    if kept.successor is None:
        moments.append(_renewal(kept.signs.certificate))
    else:
        moments.append(_made(kept.successor.certificate) + terms.overlap)
    if kept.retiring:
        moments.append(_made(kept.serves.certificate) + terms.overlap)
    return min(moments)


def _made(certificate: x509.Certificate) -> datetime:
    return certificate.not_valid_before_utc + SKEW


def _renewal(certificate: x509.Certificate) -> datetime:
    """When two thirds of its life are over."""
    end = certificate.not_valid_after_utc
    return end - (end - _made(certificate)) / 3


# --- Reading ---------------------------------------------------------------------------------


def _read(stored: Mapping[str, bytes]) -> _Kept:
    """Raises ValueError, KeyError, TypeError or InvalidSignature where it is not what we stored."""
    first, *others = x509.load_pem_x509_certificates(stored["ca.crt"])
    signs = issuing.read(first, stored["ca.key"])
    serves = issuing.read(stored["tls.crt"], stored["tls.key"])
    serves.certificate.verify_directly_issued_by(first)
    successor = None
    if "next.crt" in stored:
        successor = issuing.read(stored["next.crt"], stored["next.key"])
    retiring = tuple(
        other for other in others if successor is None or other != successor.certificate
    )
    return _Kept(signs, serves, successor, retiring)


def _names(certificate: x509.Certificate) -> list[str]:
    kind = x509.SubjectAlternativeName
    return [str(name.value) for name in certificate.extensions.get_extension_for_class(kind).value]


# --- Making ----------------------------------------------------------------------------------


def _anew(terms: Terms, now: datetime) -> _Kept:
    signs = _authority(terms, now)
    return _Kept(signs, _leaf(signs, terms, now))


def _authority(terms: Terms, now: datetime) -> Signer:
    # Each authority has a name of its own: with equal names some verifiers try only the first.
    name = f"windlass webhooks {now:%Y-%m-%dT%H:%M:%SZ}"
    return issuing.authority(name, now, terms.authority_life)


def _leaf(signer: Signer, terms: Terms, now: datetime) -> Signer:
    bearer = Bearer(terms.names[0][:64], names=terms.names)
    return issuing.issue(signer, bearer, now, terms.leaf_life)
