from windlass.operator import webhooks
from windlass.operator.registration import Terms, by_service, by_url, entries


def test_each_kind_is_reviewed_when_it_is_made_and_changed() -> None:
    made = entries(by_service("windlass", "windlass-webhook"))
    assert [entry["name"] for entry in made] == [
        "controller-v1beta1.kb.io",
        "accounting-v1beta1.kb.io",
        "restapi-v1beta1.kb.io",
        "loginset-v1beta1.kb.io",
        "nodeset-v1beta1.kb.io",
        "token-v1beta1.kb.io",
    ]
    assert made[4] == {
        "name": "nodeset-v1beta1.kb.io",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {
                "namespace": "windlass",
                "name": "windlass-webhook",
                "port": 443,
                "path": "/validate-slinky-slurm-net-v1beta1-nodeset",
            }
        },
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["kube-system", "kube-public", "kube-node-lease"],
                }
            ]
        },
        "rules": [
            {
                "apiGroups": ["slinky.slurm.net"],
                "apiVersions": ["v1beta1"],
                "operations": ["CREATE", "UPDATE"],
                "resources": ["nodesets"],
                "scope": "Namespaced",
            }
        ],
        "sideEffects": "None",
        "timeoutSeconds": 10,
    }


def test_an_administrator_chooses_whom_and_how_strictly() -> None:
    condition = {"name": "not-root", "expression": "request.userInfo.username != 'root'"}
    terms = Terms(
        failure_policy="Ignore",
        timeout_seconds=3,
        namespace_selector={"matchLabels": {"slurm": "yes"}},
        match_conditions=(condition,),
    )
    for webhook, entry in zip(
        webhooks.WEBHOOKS, entries(by_url("https://127.0.0.1:9443"), terms), strict=True
    ):
        assert entry["clientConfig"] == {"url": f"https://127.0.0.1:9443{webhook.path}"}
        assert entry["failurePolicy"] == "Ignore"
        assert entry["timeoutSeconds"] == 3
        assert entry["namespaceSelector"] == {"matchLabels": {"slurm": "yes"}}
        assert entry["matchConditions"] == [condition]
