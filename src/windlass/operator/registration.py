"""How the API server is told of the webhooks: the entries of a ValidatingWebhookConfiguration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from windlass.operator import eviction
from windlass.operator.webhooks import WEBHOOKS, Webhook

Reached = Callable[[str], dict[str, Any]]

# A review that fails must not stop what Kubernetes itself needs.
ELSEWHERE: Final[Mapping[str, Any]] = {
    "matchExpressions": [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["kube-system", "kube-public", "kube-node-lease"],
        }
    ]
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Terms:
    """What a cluster's administrator may choose."""

    failure_policy: str = "Fail"
    match_policy: str = "Equivalent"
    timeout_seconds: int = 10
    namespace_selector: Mapping[str, Any] = field(default_factory=lambda: ELSEWHERE)
    match_conditions: tuple[Mapping[str, str], ...] = ()


def by_service(namespace: str, name: str, port: int = 443) -> Reached:
    """The clientConfig of a path behind a Service; the CA is put in by who has it."""
    place = {"namespace": namespace, "name": name, "port": port}
    return lambda path: {"service": {**place, "path": path}}


def by_url(server: str) -> Reached:
    """The clientConfig of a path on a server outside the cluster."""
    return lambda path: {"url": server + path}


def entries(reached: Reached, terms: Terms | None = None) -> list[dict[str, Any]]:
    """One entry for each kind."""
    return [_entry(webhook, reached, terms or Terms()) for webhook in WEBHOOKS]


def eviction_entry(reached: Reached, terms: Terms | None = None) -> dict[str, Any]:
    """The entry for evictions: they go on without us, and nothing changes in a dry run."""
    given = terms or Terms()
    return {
        "name": "podseviction-v1.kb.io",
        "admissionReviewVersions": ["v1"],
        "clientConfig": reached(eviction.PATH),
        "failurePolicy": "Ignore",
        "matchPolicy": "Equivalent",
        "namespaceSelector": dict(given.namespace_selector),
        "rules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["pods/eviction"],
                "scope": "Namespaced",
            }
        ],
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": given.timeout_seconds,
    }


def _entry(webhook: Webhook, reached: Reached, terms: Terms) -> dict[str, Any]:
    kind = webhook.kind
    entry = {
        "name": f"{kind.kind.lower()}-{kind.version}.kb.io",
        "admissionReviewVersions": ["v1"],
        "clientConfig": reached(webhook.path),
        "failurePolicy": terms.failure_policy,
        "matchPolicy": terms.match_policy,
        "namespaceSelector": dict(terms.namespace_selector),
        "rules": [
            {
                "apiGroups": [kind.group],
                "apiVersions": [kind.version],
                "operations": ["CREATE", "UPDATE"],
                "resources": [kind.plural],
                "scope": "Namespaced",
            }
        ],
        "sideEffects": "None",
        "timeoutSeconds": terms.timeout_seconds,
    }
    if terms.match_conditions:
        entry["matchConditions"] = [dict(condition) for condition in terms.match_conditions]
    return entry
