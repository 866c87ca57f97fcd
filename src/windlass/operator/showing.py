"""Conditions on objects whose status is somebody else's, such as kubelet's pods.

They are applied in a name of their own, so that the API server knows which of the list are ours and
takes back those that we no longer apply. The rest of the list is never sent.
"""

from typing import Any, Final

from windlass.kube import requests
from windlass.kube.requests import FieldManager, Sends
from windlass.kube.wire import Document
from windlass.operator.namesakes import for_that_one
from windlass.operator.plan import Body, ShowConditions

MANAGER: Final = FieldManager("windlass-slurm-state")


async def show_conditions(client: Sends, action: ShowConditions) -> None:
    wanted = list(action.conditions)
    with for_that_one():
        answer = await _apply(client, action, wanted)
        # What Slinky, or somebody by hand, wrote is not ours to stop applying.
        if operations := _removals(answer, action):
            at = action.key
            request = requests.json_patch(action.kind, at, operations, Document, "status")
            await client.send(request)


async def _apply(client: Sends, action: ShowConditions, conditions: list[Body]) -> Document:
    at = action.key
    body = {
        "metadata": {"name": at.name, "namespace": at.namespace, "uid": action.uid},
        "status": {"conditions": conditions},
    }
    return await client.send(requests.apply(action.kind, body, MANAGER, Document, "status"))


def _removals(answer: Document, action: ShowConditions) -> list[dict[str, Any]]:
    """Of conditions of the prefix that are there although they are not wanted, the last first;
    each is removed only from where it was seen."""
    wanted = {each["type"] for each in action.conditions}
    shown = [each["type"] for each in (answer.body.get("status") or {}).get("conditions") or ()]
    operations: list[dict[str, Any]] = []
    for place, name in reversed(list(enumerate(shown))):
        if name.startswith(action.prefix) and name not in wanted:
            path = f"/status/conditions/{place}"
            operations.append({"op": "test", "path": f"{path}/type", "value": name})
            operations.append({"op": "remove", "path": path})
    return operations
