"""Every key of the bridge's chart, and what becomes of it."""

from typing import Any

import pytest
import yaml

from tests.contract.helm import Body, Effect, Helm, Rendered, at, effects, nested
from windlass.bridge import configuration, words
from windlass.bridge.webhooks import MUTATE, VALIDATE
from windlass.bridge.world import watches
from windlass.kube import kinds
from windlass.kube.kinds import Kind

CHART = "windlass-bridge"
BRIDGE, ADMISSION = "windlass-bridge", "windlass-bridge-admission"
NAMES = {"scheduler": BRIDGE, "admission": ADMISSION}
TOLERATIONS = [{"key": "a", "operator": "Exists"}]
SPREAD = [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}]
POD = "spec/template/spec"
CONTAINER = f"{POD}/containers/0"
SYSTEM = {"key": "kubernetes.io/metadata.name", "operator": "NotIn"}

# For the bridge and for its webhook alike.
DEPLOYMENT: list[Effect] = [
    ("image", "i:1", f"{CONTAINER}/image", "i:1"),
    ("image", {"repository": "i", "tag": "2"}, f"{CONTAINER}/image", "i:2"),
    ("image", {"repository": "i"}, f"{CONTAINER}/image", "i:0.1.0"),
    ("image", {"repository": "i", "digest": "sha256:a"}, f"{CONTAINER}/image", "i@sha256:a"),
    ("image.pullPolicy", "Always", f"{CONTAINER}/imagePullPolicy", "Always"),
    ("serviceAccount.name", "me", f"{POD}/serviceAccountName", "me"),
    ("serviceAccount", {"create": False}, f"{POD}/serviceAccountName", "default"),
    ("podAnnotations.a", "b", "spec/template/metadata/annotations/a", "b"),
    ("podLabels.a", "b", "spec/template/metadata/labels/a", "b"),
    ("priorityClassName", "p", f"{POD}/priorityClassName", "p"),
    ("nodeSelector.a", "b", f"{POD}/nodeSelector/a", "b"),
    ("affinity.nodeAffinity.a", "b", f"{POD}/affinity/nodeAffinity/a", "b"),
    ("tolerations", TOLERATIONS, f"{POD}/tolerations", TOLERATIONS),
    ("topologySpreadConstraints", SPREAD, f"{POD}/topologySpreadConstraints", SPREAD),
    ("podSecurityContext.runAsUser", 7, f"{POD}/securityContext/runAsUser", 7),
    ("securityContext.runAsUser", 7, f"{CONTAINER}/securityContext/runAsUser", 7),
    ("resources.limits.cpu", 1, f"{CONTAINER}/resources/limits/cpu", 1),
    ("healthPort", 99, f"{CONTAINER}/ports/0/containerPort", 99),
]
# What `scheduler` leaves empty.
CONTROLLERS: list[Effect] = [
    ("replicas", 3, "spec/replicas", 3),
    ("priorityClassName", "p", f"{POD}/priorityClassName", "p"),
    ("nodeSelector.a", "b", f"{POD}/nodeSelector/a", "b"),
    ("affinity.nodeAffinity.a", "b", f"{POD}/affinity/nodeAffinity/a", "b"),
    ("tolerations", TOLERATIONS, f"{POD}/tolerations", TOLERATIONS),
    ("resources.limits.cpu", 1, f"{CONTAINER}/resources/limits/cpu", 1),
]
# A key, its value, whose argument it becomes, and which.
ARGUMENTS: list[tuple[str, Any, str, str]] = [
    ("scheduler.workers", 7, BRIDGE, "--workers=7"),
    ("scheduler.healthPort", 99, BRIDGE, "--health-port=99"),
    ("scheduler.verbosity", "warning", BRIDGE, "--log-level=warning"),
    ("scheduler.verbosity", 5, BRIDGE, "--log-level=debug"),
    ("scheduler.verbosity", None, BRIDGE, "--log-level=info"),
    ("controllers.verbosity", "debug", BRIDGE, "--log-level=debug"),
    ("scheduler.logFormat", "text", BRIDGE, "--log-format=text"),
    ("namespaceOverride", "there", BRIDGE, "--leader-elect-namespace=there"),
    ("fullnameOverride", "other", "other", "--lease-name=other"),
    ("admission.serverPort", 99, ADMISSION, "--port=99"),
    ("admission.healthPort", 99, ADMISSION, "--health-port=99"),
    ("admission.verbosity", "debug", ADMISSION, "--log-level=debug"),
    ("admission.logFormat", "text", ADMISSION, "--log-format=text"),
    ("admission.certManager.enabled", True, ADMISSION, "--certificates=/certificates"),
    ("admission.certManager.secretName", "s", ADMISSION, "--secret=s"),
    ("admission.enabled", True, ADMISSION, f"--service={ADMISSION}"),
    ("admission.enabled", True, ADMISSION, f"--configuration={ADMISSION}"),
    ("admission.enabled", True, ADMISSION, "--namespace=here"),
    (
        "scheduler.serviceAccount.name",
        "me",
        ADMISSION,
        "--bridge-user=system:serviceaccount:here:me",
    ),
]
CONFIG: list[tuple[str, Any, str, Any]] = [
    ("schedulerConfig.schedulerName", "mine", "scheduler_name", "mine"),
    ("schedulerConfig.mcsLabel", "m", "mcs_label", "m"),
    ("schedulerConfig.partition", "p", "partition", "p"),
    ("schedulerConfig.cluster", "blue", "cluster", "blue"),
    ("schedulerConfig.otherNamespaces", False, "other_namespaces", False),
    ("schedulerConfig.exclusive", True, "exclusive", True),
    ("schedulerConfig.defaultMemory", 0, "default_memory", None),
    ("schedulerConfig.devices", {"a/b": "gres/c"}, "devices", {"a/b": "gres/c"}),
    ("schedulerConfig.priorities", {"a": "nice=5"}, "priorities", {"a": "nice=5"}),
    ("schedulerConfig.nodeConditions", ["A"], "node_conditions", ("A",)),
    ("schedulerConfig.taintNodes", True, "taint_nodes", True),
    ("schedulerConfig.accounting", True, "accounting", True),
    ("sharedConfig.slurmRestApi", "https://a:1", "slurm_rest_api", "https://a:1"),
    ("sharedConfig.slurmAgent", "http://a:2", "slurm_agent", "http://a:2"),
    ("admission.managedNamespaces", ["a", "b"], "managed_namespaces", ("a", "b")),
]


def arguments(found: Rendered, name: str) -> list[str]:
    return list(at(found.of("Deployment")[name], f"{CONTAINER}/args"))


def config(found: Rendered) -> configuration.Configuration:
    return configuration.read(found.one("ConfigMap")["data"]["config.yaml"])


@effects(DEPLOYMENT)
@pytest.mark.parametrize("part", NAMES)
def test_a_key_of_a_deployment_is_in_it(helm: Helm, part: str, effect: Effect) -> None:
    key, value, path, expected = effect
    found = helm.template(CHART, nested(f"{part}.{key}", value))
    assert at(found.of("Deployment")[NAMES[part]], path) == expected


@effects(CONTROLLERS)
def test_keys_of_slinkys_controllers_are_the_bridges(helm: Helm, effect: Effect) -> None:
    key, value, path, expected = effect
    found = helm.template(CHART, nested(f"controllers.{key}", value))
    assert at(found.of("Deployment")[BRIDGE], path) == expected


def test_keys_of_the_scheduler_go_before_those_of_the_controllers(helm: Helm) -> None:
    both = {"priorityClassName": "a", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}
    own = {"priorityClassName": "b", "resources": {"limits": {"cpu": 2}}, "replicaCount": 2}
    made = helm.template(CHART, {"controllers": both, "scheduler": own}).of("Deployment")[BRIDGE]
    assert at(made, f"{POD}/priorityClassName") == "b"
    assert at(made, f"{CONTAINER}/resources/limits") == {"cpu": 2, "memory": "1Gi"}
    assert at(made, "spec/replicas") == 2


@pytest.mark.parametrize(
    "values",
    [
        {"scheduler": {"leaderElect": False}},
        {"controllers": {"leaderElect": False, "image": {"repository": "x", "tag": "1"}}},
    ],
)
def test_keys_of_slinky_without_a_meaning_here_change_nothing(helm: Helm, values: Body) -> None:
    assert helm.template(CHART, values) == helm.template(CHART)


@pytest.mark.parametrize(("key", "value", "name", "argument"), ARGUMENTS)
def test_a_key_of_a_program_is_an_argument(
    helm: Helm, key: str, value: Any, name: str, argument: str
) -> None:
    assert argument in arguments(helm.template(CHART, nested(key, value)), name)


# --- The configuration -----------------------------------------------------------------------


@pytest.mark.parametrize(("key", "value", "field", "expected"), CONFIG)
def test_a_key_of_the_configuration_is_read_by_the_bridge(
    helm: Helm, key: str, value: Any, field: str, expected: Any
) -> None:
    assert getattr(config(helm.template(CHART, nested(key, value))), field) == expected


def test_every_key_of_the_configuration_can_be_given(helm: Helm) -> None:
    fields = {field for _, _, field, _ in CONFIG} | {"identities", "managed_namespace_selector"}
    assert fields == set(configuration.Configuration.__struct_fields__)


def test_people_and_labels_of_namespaces_are_read_by_the_bridge(helm: Helm) -> None:
    grant = {"user": "a", "accounts": ["x"], "chooseUser": True}
    values = {
        "schedulerConfig": {"identities": {"users": {"a@b": grant}, "default": {"user": "g"}}},
        "admission": {"managedNamespaceSelector": {"matchLabels": {"slurm": "yes"}}},
    }
    found = config(helm.template(CHART, values))
    assert found.identities.users["a@b"].choose_user
    assert found.identities.default is not None
    assert found.managed_namespaces == ()
    assert found.managed_namespace_selector is not None
    assert found.managed_namespace_selector.match_labels == {"slurm": "yes"}


def test_defaults_are_those_of_the_program(helm: Helm) -> None:
    given = config(helm.template(CHART, nested("admission.managedNamespaces", [])))
    assert given == configuration.Configuration()


def test_a_changed_configuration_rolls_both(helm: Helm) -> None:
    def notes(values: Body) -> set[str]:
        made = helm.template(CHART, values).of("Deployment").values()
        return {
            each["spec"]["template"]["metadata"]["annotations"]["checksum/config"] for each in made
        }

    assert len(notes({})) == 1
    assert notes({}) == notes({"scheduler": {"workers": 2}})
    assert not notes({}) & notes(nested("schedulerConfig.partition", "other"))


# --- The token -------------------------------------------------------------------------------


def test_a_token_is_made_where_the_bridge_looks_for_it(helm: Helm) -> None:
    found = helm.template(CHART)
    assert found.one("Token")["spec"] == {
        "username": "slurm",
        "controllerRef": {"name": "slurm"},
        "secretRef": {"name": "slurm-bridge-token", "key": "auth-token"},
        "lifetime": "24h",
        "refresh": True,
    }
    made = found.of("Deployment")
    (volume,) = [v for v in at(made[BRIDGE], f"{POD}/volumes") if v["name"] == "token"]
    assert volume["secret"]["secretName"] == "slurm-bridge-token"
    variables = {each["name"]: each.get("value") for each in at(made[BRIDGE], f"{CONTAINER}/env")}
    (mount,) = [m for m in at(made[BRIDGE], f"{CONTAINER}/volumeMounts") if m["name"] == "token"]
    assert variables["SLURM_JWT_FILE"] == f"{mount['mountPath']}/auth-token"
    assert "token" not in str(at(made[ADMISSION], f"{POD}/volumes"))


@pytest.mark.parametrize(
    ("values", "made"),
    [
        (nested("sharedConfig.slurmJwtSecret", "mine"), False),
        (nested("token.create", False), False),
        ({"sharedConfig": {"slurmJwtSecret": "mine"}, "token": {"create": True}}, True),
    ],
)
def test_a_secret_of_your_own_needs_no_token(helm: Helm, values: Body, *, made: bool) -> None:
    found = helm.template(CHART, values)
    assert bool(found.of("Token")) is made
    name = values.get("sharedConfig", {}).get("slurmJwtSecret", "slurm-bridge-token")
    assert {"name": "token", "secret": {"secretName": name, "defaultMode": 0o440}} in at(
        found.of("Deployment")[BRIDGE], f"{POD}/volumes"
    )


def test_a_token_can_be_signed_with_a_key_that_is_named(helm: Helm) -> None:
    key = {"name": "slurm-auth-jwt", "key": "jwt.key"}
    spec = helm.template(CHART, {"token": {"jwtKeyRef": key}}).one("Token")["spec"]
    assert spec["jwtKeyRef"] == key
    assert "controllerRef" not in spec


# --- Budgets and Services --------------------------------------------------------------------


REPLICAS = {"scheduler": "replicaCount", "admission": "replicas"}


@pytest.mark.parametrize("part", REPLICAS)
@pytest.mark.parametrize(
    ("replicas", "budget", "expected"),
    [
        (2, {"enabled": True}, [{"minAvailable": 1}]),
        (2, {"enabled": True, "maxUnavailable": 0}, [{"maxUnavailable": 0}]),
        (1, {"enabled": True}, []),
        (2, {"enabled": False}, []),
    ],
)
def test_a_budget_has_one_bound_and_is_there_if_a_pod_can_be_spared(
    helm: Helm, part: str, replicas: int, budget: Body, expected: list[Body]
) -> None:
    found = helm.template(CHART, {part: {REPLICAS[part]: replicas, "pdb": budget}})
    specs = [o["spec"] for o in found.of("PodDisruptionBudget").values()]
    assert [{k: v for k, v in spec.items() if k != "selector"} for spec in specs] == expected


@pytest.mark.parametrize(
    ("values", "ports"),
    [
        ({}, {BRIDGE: [8080], ADMISSION: [443]}),
        ({"scheduler": {"metricsPort": 0}}, {ADMISSION: [443]}),
        ({"admission": {"metricsPort": 9}}, {BRIDGE: [8080], ADMISSION: [443, 9]}),
        ({"admission": {"enabled": False}}, {BRIDGE: [8080]}),
    ],
)
def test_services_are_for_metrics_and_for_the_webhook(
    helm: Helm, values: Body, ports: dict[str, list[int]]
) -> None:
    found = helm.template(CHART, values).of("Service")
    assert {n: [p["port"] for p in s["spec"]["ports"]] for n, s in found.items()} == ports


def test_services_and_budgets_find_the_pods_of_their_part_only(helm: Helm) -> None:
    values = {"scheduler": {"replicaCount": 2, "pdb": {"enabled": True}}}
    values["admission"] = {"replicas": 2, "pdb": {"enabled": True}}
    found = helm.template(CHART, values)
    for name, made in found.of("Deployment").items():
        labels = made["spec"]["template"]["metadata"]["labels"]
        assert found.of("Service")[name]["spec"]["selector"] == labels
        assert found.of("PodDisruptionBudget")[name]["spec"]["selector"]["matchLabels"] == labels
    assert len({str(s["spec"]["selector"]) for s in found.of("Service").values()}) == 2


# --- The webhook -----------------------------------------------------------------------------


def webhooks(found: Rendered) -> dict[str, Body]:
    """By kind and name."""
    several = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    return {
        f"{kind[:8].lower()}/{each['name']}": each
        for kind in several
        for each in found.one(kind)["webhooks"]
    }


def test_without_admission_nothing_of_it_is_there(helm: Helm) -> None:
    found = helm.template(CHART, nested("admission.enabled", False))
    assert not [name for _, name in found.names() if "admission" in name]


def test_pods_are_asked_about_where_the_program_answers(helm: Helm) -> None:
    found = webhooks(helm.template(CHART))
    paths = {name: each["clientConfig"]["service"]["path"] for name, each in found.items()}
    assert paths == {
        "mutating/pods.slinky.slurm.net": MUTATE,
        "mutating/managed-pods.slinky.slurm.net": MUTATE,
        "validati/pods.slinky.slurm.net": VALIDATE,
    }
    assert not [each for each in found.values() if "caBundle" in each["clientConfig"]]


@effects(
    [
        ("failurePolicy", "Ignore", "failurePolicy", "Ignore"),
        ("timeoutSeconds", 3, "timeoutSeconds", 3),
    ]
)
def test_a_key_of_the_webhooks_is_in_all_of_them(helm: Helm, effect: Effect) -> None:
    key, value, path, expected = effect
    found = webhooks(helm.template(CHART, nested(f"admission.{key}", value)))
    assert {at(each, path) for each in found.values()} == {expected}


def test_more_conditions_are_added_to_all_of_them(helm: Helm) -> None:
    extra = {"name": "x", "expression": "true"}
    found = webhooks(helm.template(CHART, nested("admission.matchConditions", [extra])))
    assert {len(each["matchConditions"]) for each in found.values()} == {2, 3, 4}
    assert all(each["matchConditions"][-1] == extra for each in found.values())


@pytest.mark.parametrize(
    ("values", "selector"),
    [
        (
            {"managedNamespaces": ["a", "b"]},
            {"matchExpressions": [{**SYSTEM, "operator": "In", "values": ["a", "b"]}]},
        ),
        (
            {"managedNamespaces": ["a"], "managedNamespaceSelector": {"matchLabels": {"l": "v"}}},
            {"matchLabels": {"l": "v"}, "matchExpressions": []},
        ),
        ({"managedNamespaces": []}, None),
    ],
)
def test_pods_without_a_scheduler_are_asked_about_in_managed_namespaces_only(
    helm: Helm, values: Body, selector: Body | None
) -> None:
    found = webhooks(helm.template(CHART, {"admission": values}))
    managed = found.get("mutating/managed-pods.slinky.slurm.net")
    if selector is None:
        assert managed is None
        return
    spared = {**SYSTEM, "values": ["kube-system", "here"]}
    selector["matchExpressions"].append(spared)
    assert managed is not None
    assert managed["namespaceSelector"] == selector


def test_cert_manager_makes_the_certificate_if_asked(helm: Helm) -> None:
    given = {"enabled": True, "secretName": "s", "duration": "10h", "renewBefore": "1h"}
    found = helm.template(CHART, {"admission": {"certManager": given}})
    serving = found.of("Certificate")[ADMISSION]["spec"]
    assert (serving["secretName"], serving["duration"], serving["renewBefore"]) == (
        "s",
        "10h",
        "1h",
    )
    assert f"{ADMISSION}.here.svc" in serving["dnsNames"]
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        notes = found.one(kind)["metadata"]["annotations"]
        assert notes == {"cert-manager.io/inject-ca-from": f"here/{ADMISSION}"}
    volumes = at(found.of("Deployment")[ADMISSION], f"{POD}/volumes")
    assert {"name": "certificates", "secret": {"secretName": "s"}} in volumes
    assert not found.of("Secret")
    assert f"{ADMISSION}-certificate" not in found.of("Role")


# --- Rights ----------------------------------------------------------------------------------


def rights(found: Rendered, name: str) -> dict[tuple[str, str], set[str]]:
    """Verbs by group and resource."""
    given: dict[tuple[str, str], set[str]] = {}
    for rule in found.of("ClusterRole")[name]["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                given.setdefault((group, resource), set()).update(rule["verbs"])
    return given


def _at(kind: Kind, subresource: str = "") -> tuple[str, str]:
    return kind.group, f"{kind.plural}/{subresource}" if subresource else kind.plural


@pytest.mark.parametrize("taints", [False, True])
def test_the_bridge_may_do_what_it_does_and_no_more(helm: Helm, *, taints: bool) -> None:
    wanted = {_at(each.kind): {"list", "watch"} for each in watches(words.SCHEDULER)}
    wanted[_at(kinds.POD)] |= {"get", "patch", "delete"}
    wanted[_at(kinds.NAMESPACE)] |= {"get"}
    wanted[_at(kinds.POD, "binding")] = {"create"}
    wanted[_at(kinds.POD, "status")] = {"patch"}
    wanted[_at(kinds.EVENT)] = {"create", "patch"}
    wanted[_at(kinds.PERSISTENT_VOLUME_CLAIM)] = {"get", "patch"}
    wanted[_at(kinds.PERSISTENT_VOLUME)] = {"get", "list", "patch"}
    wanted[_at(kinds.STORAGE_CLASS)] = {"get"}
    wanted[_at(kinds.CORE_POD_GROUP, "status")] = {"patch"}
    wanted[_at(kinds.DEVICE_CLASS)] = {"get"}
    wanted[_at(kinds.RESOURCE_CLAIM)] = {"get", "create", "delete"}
    for part in ("status", "binding"):
        wanted[_at(kinds.RESOURCE_CLAIM, part)] = {"patch"}
    if taints:
        wanted[_at(kinds.NODE)] |= {"patch"}
    found = helm.template(CHART, nested("schedulerConfig.taintNodes", taints))
    assert rights(found, BRIDGE) == wanted


@pytest.mark.parametrize("by_others", [False, True])
def test_the_webhook_reads_namespaces_and_keeps_its_own_certificate(
    helm: Helm, *, by_others: bool
) -> None:
    found = helm.template(CHART, nested("admission.certManager.enabled", by_others))
    wanted = {_at(kinds.NAMESPACE): {"get"}}
    if not by_others:
        for kind in (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS):
            wanted[_at(kind)] = {"get", "patch"}
    assert rights(found, ADMISSION) == wanted
    named = [r["resourceNames"] for r in found.of("ClusterRole")[ADMISSION]["rules"][1:]]
    assert named == ([] if by_others else [[ADMISSION]])


# --- Slurm's side, and the rest --------------------------------------------------------------


def test_slurms_chart_makes_the_partition_that_this_one_names(helm: Helm) -> None:
    ours = config(helm.template(CHART)).partition
    conf = helm.template("slurm", nested("bridge.enabled", True)).one("Controller")["spec"]
    lines = conf["extraConf"].splitlines()
    assert f"NodeSet={ours} Feature={ours}" in lines
    assert f"PartitionName={ours} Nodes={ours} Default=NO MaxTime=UNLIMITED" in lines


def test_names_can_be_others(helm: Helm) -> None:
    named = helm.template(CHART, {"nameOverride": "x"}).of("Deployment")
    assert set(named) == {"windlass-bridge-x", "windlass-bridge-x-admission"}


def test_more_objects_are_rendered_as_templates(helm: Helm) -> None:
    extra = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ .Release.Name }}-x"}}
    assert "windlass-bridge-x" in helm.template(CHART, {"extraObjects": [extra]}).of("ConfigMap")


def test_the_configuration_is_yaml_whatever_its_strings(helm: Helm) -> None:
    values = nested("schedulerConfig.identities.users", {"a: b#c@d": {"user": "1000"}})
    found = helm.template(CHART, values).one("ConfigMap")["data"]["config.yaml"]
    assert yaml.safe_load(found)["identities"]["users"] == {"a: b#c@d": {"user": "1000"}}
