"""Where the Slurm of a Controller is asked, and with which key tokens are signed."""

import ssl
from dataclasses import dataclass, field
from typing import Final

from windlass.api.controller import Controller
from windlass.api.rest_api import RestApi
from windlass.kube import kinds
from windlass.operator.keys import effective_keys, entry
from windlass.operator.membership import accounting_of
from windlass.operator.reading import decode
from windlass.operator.slurmrestd.status import address
from windlass.operator.world import View
from windlass.values.key import Key

_END: Final = b"-----END CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class Place:
    """The address of slurmrestd; with HTTPS also the certificate that it has to show."""

    url: str
    certificate: bytes = b""

    def trust(self) -> ssl.SSLContext | None:
        """Whoever has the key of this one certificate, whatever names are in it, and nobody else.

        It is the first of the file: those after it belong to authorities, who sign for others too.
        """
        if not self.certificate:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        own = self.certificate.partition(_END)[0] + _END + b"\n"
        context.load_verify_locations(cadata=own.decode("ascii", "replace"))
        return context


@dataclass(frozen=True, slots=True)
class Found:
    place: Place
    key: bytes = field(repr=False)
    """The JWT key of the cluster."""


async def find(view: View, at: Key) -> Found | None:
    """Of several RestApis the oldest; None while there is none, or no key to sign with."""
    document = view.get(kinds.CONTROLLER, at)
    rest_api = _rest_api(view, at)
    if document is None or rest_api is None:
        return None
    controller = decode(document, Controller)
    signing = effective_keys(controller, accounting_of(view, controller)).jwt
    key = await _entry(view, Key(at.namespace, signing.name), signing.key)
    if rest_api.spec.tls is None:
        return Found(Place(address(rest_api)), key) if key else None
    secret = Key(at.namespace, rest_api.spec.tls.secret_ref.name)
    certificate = await _entry(view, secret, "tls.crt")
    return Found(Place(address(rest_api), certificate), key) if key and certificate else None


def _rest_api(view: View, at: Key) -> RestApi | None:
    found = view.referring(kinds.REST_API, (kinds.CONTROLLER, at))
    staying = (each for each in found if each.metadata.deletion_timestamp is None)
    return next((decode(each, RestApi) for each in staying), None)


async def _entry(view: View, at: Key, name: str) -> bytes | None:
    found = await view.read(kinds.SECRET, at)
    return entry(found.body, name) if found else None
