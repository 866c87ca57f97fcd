"""A real slurmrestd behind the program that ends TLS for it."""

import json
import ssl
import urllib.request
from pathlib import Path

from tests.unit.inpod.test_tls_proxy import proxy, write_pair
from windlass.testing.slurm import RealSlurm


def test_slurmrestd_answers_over_https(slurm: RealSlurm, tmp_path: Path) -> None:
    authority = write_pair(tmp_path, "rest")
    trust = ssl.create_default_context(cadata=authority.certificate_pem.decode())
    with proxy(slurm.slurmrestd_port, tmp_path) as (_, port):
        for path in ("ping", "nodes"):
            url = f"https://127.0.0.1:{port}/slurm/v0.0.45/{path}/"
            request = urllib.request.Request(url)
            request.add_header("X-SLURM-USER-TOKEN", slurm.token())
            with urllib.request.urlopen(request, timeout=10, context=trust) as answer:
                assert json.load(answer)["errors"] == []
