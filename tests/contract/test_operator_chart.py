"""Every key of the operator's chart, and what becomes of it."""

from typing import Any

import pytest

from tests.contract.helm import Body, Effect, Helm, Rendered, at, effects, nested
from windlass.local.errors import CommandFailed

CHART = "windlass-operator"
TOLERATIONS = [{"key": "a", "operator": "Exists"}]
SPREAD = [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
POD = "spec/template/spec"
CONTAINER = f"{POD}/containers/0"

# For the operator and for the webhook alike.
DEPLOYMENT: list[Effect] = [
    ("replicas", 2, "spec/replicas", 2),
    ("imagePullPolicy", "Always", f"{CONTAINER}/imagePullPolicy", "Always"),
    ("image", "i:1", f"{CONTAINER}/image", "i:1"),
    ("image", {"repository": "i", "tag": "2"}, f"{CONTAINER}/image", "i:2"),
    ("image", {"repository": "i"}, f"{CONTAINER}/image", "i:0.1.0"),
    ("image", {"repository": "i", "digest": "sha256:a"}, f"{CONTAINER}/image", "i@sha256:a"),
    ("serviceAccount.name", "me", f"{POD}/serviceAccountName", "me"),
    ("serviceAccount", {"create": False}, f"{POD}/serviceAccountName", "default"),
    ("podAnnotations.a", "b", "spec/template/metadata/annotations/a", "b"),
    ("podLabels.a", "b", "spec/template/metadata/labels/a", "b"),
    ("nodeSelector.a", "b", f"{POD}/nodeSelector/a", "b"),
    ("affinity.nodeAffinity.a", "b", f"{POD}/affinity/nodeAffinity/a", "b"),
    ("tolerations", TOLERATIONS, f"{POD}/tolerations", TOLERATIONS),
    ("topologySpreadConstraints", SPREAD, f"{POD}/topologySpreadConstraints", SPREAD),
    ("podSecurityContext.runAsUser", 7, f"{POD}/securityContext/runAsUser", 7),
    ("securityContext.runAsUser", 7, f"{CONTAINER}/securityContext/runAsUser", 7),
    ("resources.limits.cpu", 1, f"{CONTAINER}/resources/limits/cpu", 1),
    ("healthPort", 99, f"{CONTAINER}/ports/0/containerPort", 99),
]

# A key, its value, whose argument it becomes, and which.
ARGUMENTS: list[tuple[str, Any, str, str]] = [
    ("operator.accountingWorkers", 7, "operator", "--accounting-workers=7"),
    ("operator.controllerWorkers", 7, "operator", "--controller-workers=7"),
    ("operator.loginsetWorkers", 7, "operator", "--loginset-workers=7"),
    ("operator.nodesetWorkers", 7, "operator", "--nodeset-workers=7"),
    ("operator.restapiWorkers", 7, "operator", "--restapi-workers=7"),
    ("operator.tokenWorkers", 7, "operator", "--token-workers=7"),
    ("operator.logLevel", "debug", "operator", "--log-level=debug"),
    ("operator.logLevel", 5, "operator", "--log-level=debug"),
    ("operator.logLevel", "0", "operator", "--log-level=info"),
    ("operator.logFormat", "text", "operator", "--log-format=text"),
    ("operator.healthPort", 99, "operator", "--health-port=99"),
    ("operator.metricsSecure", True, "operator", "--metrics-secure"),
    ("operator.metricsSecure", True, "operator", "--metrics-port=8443"),
    ("operator.leaderElection", True, "operator", "--leader-elect-namespace=here"),
    ("operator.leaderElection", True, "operator", "--lease-name=windlass-operator"),
    ("operator.namespaces", "a, b", "operator", "--namespaces=a,b"),
    ("operator.namespaces", ["a", "b"], "operator", "--namespaces=a,b"),
    ("propagatedNodeConditions", ["A", "B"], "operator", "--propagated-node-conditions=A,B"),
    ("drainNodeConditions", ["A", "B"], "operator", "--drain-node-conditions=A,B"),
    ("drainNodeTaints", ["a/b"], "operator", "--drain-node-taints=a/b"),
    ("topologyFromLabels", "t:{a/b}", "operator", "--topology-from-labels=t:{a/b}"),
    ("topologyFromLabels", "t:{a/b}", "webhook", "--topology-from-labels=t:{a/b}"),
    ("startingWorkers", 20, "operator", "--starting-workers=20"),
    ("images.slurmctld", "i:1", "operator", "--image-slurmctld=i:1"),
    ("images.slurmd", {"repository": "i", "tag": "2"}, "operator", "--image-slurmd=i:2"),
    ("images.slurmdbd", "i:1", "operator", "--image-slurmdbd=i:1"),
    ("images.slurmrestd", "i:1", "operator", "--image-slurmrestd=i:1"),
    ("images.login", "i:1", "operator", "--image-login=i:1"),
    ("webhook.serverPort", 99, "webhook", "--port=99"),
    ("webhook.healthPort", 99, "webhook", "--health-port=99"),
    ("webhook.logLevel", "debug", "webhook", "--log-level=debug"),
    ("webhook.podsBinding", True, "webhook", "--pods-binding"),
    ("webhook.podsEviction", True, "webhook", "--pods-eviction"),
    ("webhook.enabled", True, "webhook", "--service=windlass-operator-webhook"),
    ("webhook.enabled", True, "webhook", "--namespace=here"),
    ("webhook.enabled", True, "webhook", "--configuration=windlass-operator-webhook"),
    ("webhook.enabled", True, "webhook", "--secret=windlass-operator-webhook-ca"),
    ("certManager", {"enabled": True, "secretName": "s"}, "webhook", "--secret=s"),
    ("certManager.enabled", True, "webhook", "--certificates=/certificates"),
]

CONDITION = [{"name": "x", "expression": "true"}]
SELECTOR = {"matchLabels": {"slurm": "yes"}}
VALIDATING: list[Effect] = [
    ("timeoutSeconds", 3, "timeoutSeconds", 3),
    ("validating.failurePolicy", "Ignore", "failurePolicy", "Ignore"),
    ("failurePolicy", "Ignore", "failurePolicy", "Ignore"),
    ("validating.matchPolicy", "Exact", "matchPolicy", "Exact"),
    ("matchPolicy", "Exact", "matchPolicy", "Exact"),
    ("validating.matchConditions", CONDITION, "matchConditions", CONDITION),
    ("validating.namespaceSelector", SELECTOR, "namespaceSelector", SELECTOR),
    ("namespaces", "a,b", "namespaceSelector/matchExpressions/1/values", ["a", "b"]),
]
MUTATING: list[Effect] = [
    ("mutating.failurePolicy", "Fail", "failurePolicy", "Fail"),
    ("mutating.matchPolicy", "Exact", "matchPolicy", "Exact"),
    ("mutating.matchConditions", CONDITION, "matchConditions", CONDITION),
    ("mutating.namespaceSelector", SELECTOR, "namespaceSelector", SELECTOR),
]


def deployment(found: Rendered, part: str) -> Body:
    name = "windlass-operator" if part == "operator" else "windlass-operator-webhook"
    return found.of("Deployment")[name]


def arguments(found: Rendered, part: str) -> list[str]:
    return list(at(deployment(found, part), f"{CONTAINER}/args"))


@effects(DEPLOYMENT)
@pytest.mark.parametrize("part", ["operator", "webhook"])
def test_a_key_of_a_deployment_is_in_it(helm: Helm, part: str, effect: Effect) -> None:
    key, value, path, expected = effect
    found = helm.template(CHART, nested(f"{part}.{key}", value))
    assert at(deployment(found, part), path) == expected


@pytest.mark.parametrize("part", ["operator", "webhook"])
@effects(
    [
        ("imagePullSecrets", [{"name": "s"}], f"{POD}/imagePullSecrets", [{"name": "s"}]),
        ("imagePullPolicy", "Never", f"{CONTAINER}/imagePullPolicy", "Never"),
        ("priorityClassName", "p", f"{POD}/priorityClassName", "p"),
        ("namespaceOverride", "there", "metadata/namespace", "there"),
    ]
)
def test_a_key_for_both_is_in_both(helm: Helm, part: str, effect: Effect) -> None:
    key, value, path, expected = effect
    found = helm.template(CHART, nested(key, value))
    assert at(deployment(found, part), path) == expected


@pytest.mark.parametrize(("key", "value", "part", "argument"), ARGUMENTS)
def test_a_key_of_a_program_is_an_argument(
    helm: Helm, key: str, value: Any, part: str, argument: str
) -> None:
    assert argument in arguments(helm.template(CHART, nested(key, value)), part)


def test_with_no_values_nothing_is_said_that_the_program_knows_itself(helm: Helm) -> None:
    found = arguments(helm.template(CHART), "operator")
    assert found[:2] == ["operator", "run"]
    assert not [word for word in found if word.startswith(("--image", "--namespaces", "--metrics"))]


@pytest.mark.parametrize(
    "values", [{"slurmclientWorkers": 9}, {"profile": True, "profileAddr": "localhost:1"}]
)
def test_keys_of_slinky_without_a_meaning_here_change_nothing(helm: Helm, values: Body) -> None:
    assert helm.template(CHART, {"operator": values}) == helm.template(CHART)


def test_without_election_there_is_no_lease_and_only_one_replica(helm: Helm) -> None:
    alone = {"operator": {"leaderElection": False}}
    found = helm.template(CHART, alone)
    assert not [word for word in arguments(found, "operator") if "lea" in word]
    assert "windlass-operator-leader" not in found.of("Role")
    with pytest.raises(CommandFailed, match="only one may act"):
        helm.template(CHART, {"operator": {"leaderElection": False, "replicas": 2}})


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"operator": {"enabled": False}}, {"windlass-operator-webhook"}),
        ({"webhook": {"enabled": False}}, {"windlass-operator"}),
    ],
)
def test_either_part_can_be_left_out_with_all_that_belongs_to_it(
    helm: Helm, values: Body, parts: set[str]
) -> None:
    found = helm.template(CHART, values)
    assert set(found.of("Deployment")) == parts
    assert set(found.of("ServiceAccount")) == parts
    assert bool(found.of("ValidatingWebhookConfiguration")) is ("windlass-operator" not in parts)


@pytest.mark.parametrize("part", ["operator", "webhook"])
@pytest.mark.parametrize(
    ("replicas", "budget", "expected"),
    [
        (2, {"enabled": True}, {"minAvailable": 1}),
        (2, {"enabled": True, "minAvailable": "50%"}, {"minAvailable": "50%"}),
        (2, {"enabled": True, "maxUnavailable": 0}, {"maxUnavailable": 0}),
        (1, {"enabled": True}, None),
        (2, {"enabled": False}, None),
    ],
)
def test_a_budget_has_one_bound_and_is_there_if_a_pod_can_be_spared(
    helm: Helm, part: str, replicas: int, budget: Body, expected: Body | None
) -> None:
    found = helm.template(CHART, {part: {"replicas": replicas, "pdb": budget}})
    specs = [o["spec"] for o in found.of("PodDisruptionBudget").values()]
    assert [{k: v for k, v in spec.items() if k != "selector"} for spec in specs] == (
        [] if expected is None else [expected]
    )


# --- Services --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "ports"),
    [
        ({}, {"windlass-operator": [8080], "windlass-operator-webhook": [443]}),
        ({"operator": {"metricsPort": 0}}, {"windlass-operator-webhook": [443]}),
        (
            {"operator": {"metricsPort": 9}, "webhook": {"metricsPort": 9}},
            {"windlass-operator": [9], "windlass-operator-webhook": [443, 9]},
        ),
    ],
)
def test_services_are_for_metrics_and_for_the_webhook(
    helm: Helm, values: Body, ports: dict[str, list[int]]
) -> None:
    found = helm.template(CHART, values).of("Service")
    assert {n: [p["port"] for p in s["spec"]["ports"]] for n, s in found.items()} == ports


def test_services_and_budgets_find_the_pods_of_their_part_only(helm: Helm) -> None:
    many = {"replicas": 2, "pdb": {"enabled": True}}
    found = helm.template(CHART, {"operator": many, "webhook": many})
    for name, made in found.of("Deployment").items():
        labels = made["spec"]["template"]["metadata"]["labels"]
        assert found.of("Service")[name]["spec"]["selector"] == labels
        assert found.of("PodDisruptionBudget")[name]["spec"]["selector"]["matchLabels"] == labels
    assert len({str(s["spec"]["selector"]) for s in found.of("Service").values()}) == 2


# --- The webhook and its certificate -----------------------------------------------------------


def of_our_kinds(found: Rendered) -> list[Body]:
    webhooks = found.one("ValidatingWebhookConfiguration")["webhooks"]
    return [each for each in webhooks if each["name"] != "podseviction-v1.kb.io"]


@effects(VALIDATING)
def test_a_key_of_validation_is_in_every_webhook(helm: Helm, effect: Effect) -> None:
    key, value, path, expected = effect
    found = helm.template(CHART, nested(f"webhook.{key}", value))
    webhooks = of_our_kinds(found)
    assert [at(webhook, path) for webhook in webhooks] == [expected] * 6


@effects(MUTATING)
def test_a_key_of_mutation_is_in_the_webhook_for_bindings(helm: Helm, effect: Effect) -> None:
    key, value, path, expected = effect
    values = nested(f"webhook.{key}", value)
    values["webhook"]["podsBinding"] = True
    found = helm.template(CHART, values).one("MutatingWebhookConfiguration")["webhooks"]
    assert [at(webhook, path) for webhook in found] == [expected]


def test_only_our_kinds_are_asked_about_and_system_namespaces_are_left_alone(helm: Helm) -> None:
    found = helm.template(CHART)
    assert not found.of("MutatingWebhookConfiguration")
    webhooks = of_our_kinds(found)
    assert {webhook["failurePolicy"] for webhook in webhooks} == {"Fail"}
    assert {group for w in webhooks for rule in w["rules"] for group in rule["apiGroups"]} == {
        "slinky.slurm.net"
    }
    assert {webhook["name"] for webhook in webhooks} == {
        f"{kind}-v1beta1.kb.io"
        for kind in ("accounting", "controller", "loginset", "nodeset", "restapi", "token")
    }
    spared = webhooks[0]["namespaceSelector"]["matchExpressions"][0]
    assert spared["values"] == ["kube-system", "kube-public", "kube-node-lease"]


@pytest.mark.parametrize("wanted", [True, False])
def test_evictions_are_asked_about_unless_told_otherwise(helm: Helm, wanted: bool) -> None:
    found = helm.template(CHART, {} if wanted else nested("webhook.podsEviction", False))
    webhooks = found.one("ValidatingWebhookConfiguration")["webhooks"]
    policies = [each["failurePolicy"] for each in webhooks if each not in of_our_kinds(found)]
    assert policies == (["Ignore"] if wanted else [])
    rules = found.of("ClusterRole")["windlass-operator-webhook"]["rules"]
    patches = [rule["verbs"] for rule in rules if "pods" in rule["resources"]]
    assert patches == ([["get", "patch"]] if wanted else [])


def test_what_the_webhook_writes_itself_the_chart_does_not_name(helm: Helm) -> None:
    found = helm.template(CHART, nested("webhook.podsBinding", True))
    kinds = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
    webhooks = [webhook for kind in kinds for webhook in found.one(kind)["webhooks"]]
    assert not [webhook for webhook in webhooks if "caBundle" in webhook["clientConfig"]]
    assert set(found.one("Secret")) == {"apiVersion", "kind", "metadata", "type"}


def test_cert_manager_makes_the_certificate_if_asked(helm: Helm) -> None:
    given = {"enabled": True, "secretName": "s", "duration": "10h", "renewBefore": "1h"}
    found = helm.template(CHART, {"certManager": given})
    serving = found.of("Certificate")["windlass-operator-webhook"]["spec"]
    assert serving["secretName"] == "s"
    assert serving["duration"] == "10h"
    assert serving["renewBefore"] == "1h"
    assert "windlass-operator-webhook.here.svc" in serving["dnsNames"]
    annotations = found.one("ValidatingWebhookConfiguration")["metadata"]["annotations"]
    assert annotations == {"cert-manager.io/inject-ca-from": "here/windlass-operator-webhook"}
    volumes = at(found.of("Deployment")["windlass-operator-webhook"], f"{POD}/volumes")
    assert {"name": "certificates", "secret": {"secretName": "s"}} in volumes
    assert not found.of("Secret")


# --- Rights ----------------------------------------------------------------------------------


def rights(found: Rendered, kind: str) -> dict[str, list[Body]]:
    return {
        o["metadata"].get("namespace", "") + "/" + name: o["rules"]
        for name, o in found.of(kind).items()
    }


def test_nobody_may_do_everything_or_touch_other_rights(helm: Helm) -> None:
    values = {"operator": {"metricsSecure": True}, "webhook": {"podsBinding": True}}
    found = helm.template(CHART, values)
    rules = [
        r for kind in ("Role", "ClusterRole") for o in found.of(kind).values() for r in o["rules"]
    ]
    words = {word for rule in rules for words in rule.values() for word in words}
    assert not {"*", "escalate", "bind", "impersonate", "deletecollection"} & words
    assert not [
        w for w in words if "roles" in w or w in {"namespaces", "nodes/status", "pods/exec"}
    ]


def test_with_chosen_namespaces_only_nodes_and_its_own_webhook_are_seen_beyond(helm: Helm) -> None:
    found = helm.template(CHART, nested("operator.namespaces", "a,b"))
    roles = {
        (o["metadata"]["namespace"], o["metadata"]["name"])
        for o in found.objects
        if o["kind"] == "Role"
    }
    assert roles == {
        *(
            (namespace, name)
            for namespace in "ab"
            for name in ("windlass-operator", "windlass-operator-webhook")
        ),
        ("here", "windlass-operator-leader"),
        ("here", "windlass-operator-webhook-certificate"),
    }
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}
    own_webhook = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["validatingwebhookconfigurations"],
        "resourceNames": ["windlass-operator-webhook"],
        "verbs": ["get", "patch"],
    }
    assert rights(found, "ClusterRole") == {
        "/windlass-operator-nodes": [nodes],
        "/windlass-operator-webhook": [own_webhook],
    }


def test_with_chosen_namespaces_and_cert_manager_only_nodes_are_seen_beyond(helm: Helm) -> None:
    values = {"operator": {"namespaces": "a"}, "certManager": {"enabled": True}}
    assert set(helm.template(CHART, values).of("ClusterRole")) == {"windlass-operator-nodes"}


@pytest.mark.parametrize("part", ["operator", "webhook"])
def test_who_may_read_secured_metrics_is_a_role_to_bind(helm: Helm, part: str) -> None:
    found = helm.template(CHART, {part: {"metricsSecure": True}})
    role = found.of("ClusterRole")["windlass-operator-metrics-reader"]
    assert role["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert "windlass-operator-metrics-reader" not in helm.template(CHART).of("ClusterRole")


@pytest.mark.parametrize("part", ["operator", "webhook"])
@pytest.mark.parametrize(("secure", "target"), [(False, "health"), (True, "metrics")])
def test_the_service_of_metrics_leads_to_where_they_are_told(
    helm: Helm, part: str, *, secure: bool, target: str
) -> None:
    found = helm.template(CHART, {part: {"metricsSecure": secure, "metricsPort": 8080}})
    name = "windlass-operator" if part == "operator" else "windlass-operator-webhook"
    (port,) = [p for p in found.of("Service")[name]["spec"]["ports"] if p["name"] == "metrics"]
    assert (port["port"], port["targetPort"]) == (8080, target)
    ports = at(found.of("Deployment")[name], f"{CONTAINER}/ports")
    numbers = {one["name"]: one["containerPort"] for one in ports}
    assert numbers.get("metrics") == (8443 if secure else None)
    asked = found.of("Pod")[f"{name}-test"]["spec"]["containers"][0]["command"][-1]
    assert asked == (f"https://{name}:8080/metrics" if secure else f"http://{name}:8080")


# --- The rest --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "name"),
    [({"nameOverride": "x"}, "windlass-operator-x"), ({"fullnameOverride": "y"}, "y")],
)
def test_names_can_be_others(helm: Helm, values: Body, name: str) -> None:
    assert set(helm.template(CHART, values).of("Deployment")) == {name, f"{name}-webhook"}


@pytest.mark.parametrize(("enabled", "count"), [(False, 0), (True, 6)])
def test_the_kinds_come_along_if_asked(helm: Helm, enabled: bool, count: int) -> None:
    found = helm.template(CHART, nested("crds.enabled", enabled))
    assert len(found.of("CustomResourceDefinition")) == count


def test_more_objects_are_rendered_as_templates(helm: Helm) -> None:
    extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-x"}}
    assert "windlass-operator-x" in helm.template(CHART, {"extraObjects": [extra]}).of("ConfigMap")
