from typing import Any

import pytest

from windlass.operator.logins.address import address


def service(port: dict[str, Any], ingress: list[dict[str, str]] | None = None) -> dict[str, Any]:
    return {
        "metadata": {"name": "login", "namespace": "hpc"},
        "spec": {"ports": [{"name": "metrics", "port": 9100}, {"name": "login", **port}]},
        "status": {"loadBalancer": {"ingress": ingress} if ingress else {}},
    }


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        (None, ""),
        (service({"port": 22}), "login.hpc.svc.cluster.local:22"),
        (service({"port": 22, "nodePort": 30022}), "<node>:30022"),
        (service({"port": 22, "nodePort": 30022}, [{"ip": "192.0.2.7"}]), "192.0.2.7:22"),
        (service({"port": 2222}, [{"hostname": "login.example.org"}]), "login.example.org:2222"),
        (service({"port": 22}, [{"ip": "2001:db8::7"}]), "[2001:db8::7]:22"),
    ],
)
def test_the_address_is_the_one_that_reaches_furthest(
    live: dict[str, Any] | None, expected: str
) -> None:
    assert address(live, "cluster.local") == expected
