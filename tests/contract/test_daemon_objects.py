"""What the rooms render for daemons, as the API server takes it: accepted, and said only once."""

from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.contract.kube_access import as_admin, make_namespace
from tests.contract.plain_api import run
from windlass.kube import kinds, requests
from windlass.kube.applying import Rendered, apply_if_different
from windlass.kube.client import Client
from windlass.kube.kinds import Kind
from windlass.kube.wire import Document
from windlass.operator.executor import MANAGER
from windlass.testing.kube import RealKube
from windlass.values.key import Key

ROOMS: Final = Path(__file__).parents[1] / "unit" / "operator"
KINDS: Final = {
    kind.kind: kind
    for kind in (
        kinds.CONFIG_MAP,
        kinds.DEPLOYMENT,
        kinds.POD_DISRUPTION_BUDGET,
        kinds.SECRET,
        kinds.SERVICE,
        kinds.STATEFUL_SET,
    )
}


def rendered() -> list[tuple[str, Kind, dict[str, Any]]]:
    found = []
    for room in ("slurmdbd", "slurmrestd", "tokens"):
        for file in sorted((ROOMS / room / "golden").glob("*.yaml")):
            body = yaml.safe_load(file.read_text())
            if "kind" in body:
                found.append((f"{room}/{file.name}", KINDS[body["kind"]], body))
    return found


@pytest.mark.parametrize(
    ("kind", "body"), [case[1:] for case in rendered()], ids=[case[0] for case in rendered()]
)
def test_what_is_rendered_is_taken_and_not_sent_twice(
    kind: Kind, body: dict[str, Any], kube: RealKube
) -> None:
    async def main() -> None:
        at = body["metadata"]
        key = Key(at["namespace"], at["name"])
        async with Client(as_admin(kube)) as client:
            await make_namespace(client, key.namespace)
            first = await apply_if_different(client, Rendered(kind, body), None, MANAGER)
            assert first is not None
            live = await client.send(requests.get(kind, key, Document))
            again = await apply_if_different(client, Rendered(kind, body), live, MANAGER)
            assert again is None
            await client.send(requests.delete(kind, key))

    run(main())
