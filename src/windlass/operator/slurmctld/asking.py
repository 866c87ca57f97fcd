"""Asks the program beside slurmctld for its report. No answer is no report, never a guess."""

import logging
import secrets
from dataclasses import dataclass
from typing import Final

import aiohttp

from windlass.api import names
from windlass.kube.objects import Pod
from windlass.operator.slurmctld import report
from windlass.operator.slurmctld.report import Report, Untrusted

WITHIN: Final = aiohttp.ClientTimeout(total=2.0)
LARGEST: Final = 64 * 1024

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reporters:
    """The programs beside all slurmctlds, through one pool of connections."""

    session: aiohttp.ClientSession

    async def ask(self, pod: Pod, key: bytes) -> Report | None:
        nonce = secrets.token_hex(16)
        address = pod.status.pod_ip
        host = f"[{address}]" if ":" in address else address
        url = f"http://{host}:{names.REPORT_PORT}/report"
        try:
            async with self.session.get(url, params={"nonce": nonce}, timeout=WITHIN) as answer:
                body = await answer.content.read(LARGEST)
                signature = answer.headers.get("X-Windlass-Signature", "")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            log.debug("no report of %s: %s", pod.metadata.key, error)
            return None
        try:
            return report.read(body, signature, nonce, key)
        except Untrusted as error:
            log.warning("report of %s not believed: %s", pod.metadata.key, error)
            return None
