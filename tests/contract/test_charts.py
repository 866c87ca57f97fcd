"""The charts as a whole: their goldens, their stability, what their schemas refuse."""

from pathlib import Path

import msgspec
import pytest
import yaml

from tests.contract.helm import CHARTS, Body, Helm, nested
from tests.unit.operator.conftest import Golden
from windlass.api.validation import Context, Problem
from windlass.local.errors import CommandFailed
from windlass.operator.webhooks import WEBHOOKS

SLINKY = Path(__file__).parent / "slinky_values"
VALUES: dict[tuple[str, str], Body | None] = {
    ("windlass-operator", "default"): None,
    ("windlass-operator", "slinky"): yaml.safe_load((SLINKY / "slurm-operator.yaml").read_text()),
    ("windlass-operator", "chosen-namespaces"): {
        "operator": {"namespaces": "a,b"},
        "certManager": {"enabled": True},
        "webhook": {"podsBinding": True},
    },
    ("slurm", "default"): None,
    ("slurm", "slinky"): yaml.safe_load((SLINKY / "slurm.yaml").read_text()),
    ("slurm", "mariadb"): {"accounting": {"enabled": True}, "mariadb": {"enabled": True}},
    ("slurm", "bridge"): {"bridge": {"enabled": True, "configMap": {"MaxTime": "1-0"}}},
    ("windlass-bridge", "default"): None,
    ("windlass-bridge", "slinky"): yaml.safe_load((SLINKY / "slurm-bridge.yaml").read_text()),
    ("windlass-bridge", "identities"): {
        "schedulerConfig": {
            "accounting": True,
            "devices": {"example.com/dongle": "license/cad"},
            "priorities": {"urgent": "qos=high"},
            "nodeConditions": ["GpuBroken"],
            "identities": {"namespaces": {"team": {"user": "team", "accounts": ["work"]}}},
        },
        "admission": {"managedNamespaces": ["team"]},
        "sharedConfig": {"slurmJwtSecret": "mine"},
    },
}
every = pytest.mark.parametrize(("chart", "name"), VALUES, ids=["-".join(key) for key in VALUES])


@every
def test_what_is_rendered_is_as_it_was(helm: Helm, golden: Golden, chart: str, name: str) -> None:
    golden(f"{chart}-{name}.yaml", helm.text(chart, VALUES[chart, name]))


@every
def test_two_renderings_are_the_same(helm: Helm, chart: str, name: str) -> None:
    """As GitOps tools demand, who never see the cluster: nothing may be random."""
    assert helm.text(chart, VALUES[chart, name]) == helm.text(chart, VALUES[chart, name])


@every
def test_helm_finds_nothing_to_complain_about(helm: Helm, chart: str, name: str) -> None:
    assert "0 chart(s) failed" in helm.lint(chart, VALUES[chart, name])


@pytest.mark.parametrize("name", [name for chart, name in VALUES if chart == "slurm"])
def test_our_own_webhooks_have_nothing_against_a_cluster(helm: Helm, name: str) -> None:
    found = helm.template("slurm", VALUES["slurm", name])
    files = {name: made["data"] for name, made in found.of("ConfigMap").items()}
    context = Context("here", files={name: frozenset(data) for name, data in files.items()})
    for webhook in WEBHOOKS:
        for body in found.of(webhook.kind.kind).values():
            findings = webhook.review(msgspec.convert(body, webhook.type), None, context)
            assert not [one for one in findings if isinstance(one, Problem)]


@pytest.mark.parametrize(
    ("chart", "values", "place", "complaint"),
    [
        ("windlass-operator", {"operater": {}}, "''", "'operater'"),
        ("windlass-operator", {"operator": {"replica": 1}}, "'/operator'", "'replica'"),
        ("windlass-operator", {"operator": {"replicas": "1"}}, "'/operator/replicas'", "integer"),
        ("windlass-operator", {"operator": {"metricsPort": "8080"}}, "metricsPort", "integer"),
        ("windlass-operator", {"webhook": {"timeoutSeconds": 31}}, "timeoutSeconds", "30"),
        ("windlass-operator", {"webhook": {"pdb": {"min": 1}}}, "'/webhook/pdb'", "'min'"),
        ("windlass-operator", {"certManager": {"enable": True}}, "'/certManager'", "'enable'"),
        (
            "windlass-operator",
            {"operator": {"image": {"name": "x"}}},
            "'/operator/image'",
            "'name'",
        ),
        ("slurm", {"partition": {}}, "''", "'partition'"),
        ("slurm", {"controller": {"slurmctl": {}}}, "'/controller'", "'slurmctl'"),
        ("slurm", {"controller": {"persistence": {"size": 1}}}, "persistence'", "'size'"),
        ("slurm", {"nodesets": {"gpu": {"replica": 1}}}, "'/nodesets/gpu'", "'replica'"),
        ("slurm", {"nodesets": {"gpu": {"scalingMode": "None"}}}, "scalingMode", "DaemonSet"),
        ("slurm", {"nodesets": {"GPU": {}}}, "'GPU'", "pattern"),
        ("slurm", {"nodesetDefaults": {"ssh": {"on": True}}}, "'/nodesetDefaults/ssh'", "'on'"),
        ("slurm", {"loginsets": {"l": {"service": {"type": "x"}}}}, "service'", "'type'"),
        ("slurm", {"partitions": {"p": {"nodeset": []}}}, "'/partitions/p'", "'nodeset'"),
        ("slurm", {"accounting": {"storageConfig": {"user": "x"}}}, "storageConfig'", "'user'"),
        ("slurm", {"slurmKey": {"secret": {}}}, "'/slurmKey'", "'secret'"),
        ("slurm", {"clusterName": "two words"}, "'/clusterName'", "pattern"),
        ("slurm", {"starter": {"nodeset": {"replica": 1}}}, "'/starter/nodeset'", "'replica'"),
        ("slurm", {"mariadb": {"host": "x"}}, "'/mariadb'", "'host'"),
        ("slurm", {"vendor": {"nvidia": {"dcgm": {"dir": "x"}}}}, "dcgm'", "'dir'"),
        ("slurm", {"bridge": {"partitions": ["x"]}}, "'/bridge'", "'partitions'"),
        ("windlass-bridge", {"schedular": {}}, "''", "'schedular'"),
        ("windlass-bridge", {"scheduler": {"replicas": 1}}, "'/scheduler'", "'replicas'"),
        ("windlass-bridge", {"schedulerConfig": {"device": {}}}, "Config'", "'device'"),
        ("windlass-bridge", nested("schedulerConfig.devices.a", "gpu"), "devices/a'", "pattern"),
        ("windlass-bridge", nested("schedulerConfig.priorities.a", "1"), "ties/a'", "pattern"),
        (
            "windlass-bridge",
            nested("schedulerConfig.identities.users.alice.account", "physics"),
            "'/schedulerConfig/identities/users/alice'",
            "'account'",
        ),
        ("windlass-bridge", {"admission": {"replicaCount": 1}}, "'/admission'", "'replicaCount'"),
        ("windlass-bridge", nested("admission.failurePolicy", "No"), "Policy'", "Fail"),
        ("windlass-bridge", {"controllers": {"replica": 1}}, "'/controllers'", "'replica'"),
        ("windlass-bridge", nested("sharedConfig.slurmRestApi", "host"), "RestApi'", "pattern"),
        ("windlass-bridge", {"token": {"user": "x"}}, "'/token'", "'user'"),
    ],
)
def test_a_misspelt_or_mistaken_key_is_refused_by_name(
    helm: Helm, chart: str, values: Body, place: str, complaint: str
) -> None:
    with pytest.raises(CommandFailed) as refused:
        helm.template(chart, values)
    assert place in str(refused.value)
    assert complaint in str(refused.value)


@pytest.mark.parametrize("chart", ["windlass-operator", "slurm", "windlass-bridge"])
def test_every_key_of_a_section_is_shown_in_the_values(chart: str) -> None:
    """A key that only the schema knows would be found by nobody."""
    values = yaml.safe_load((CHARTS / chart / "values.yaml").read_text())
    schema = yaml.safe_load((CHARTS / chart / "values.schema.json").read_text())
    older = {"global", "windlass-crds", "failurePolicy", "matchPolicy"}
    for section, value in values.items():
        known = schema["properties"][section].get("properties")
        if isinstance(value, dict) and known is not None:
            assert set(known) - set(value) - older == set(), section
    assert set(schema["properties"]) - set(values) <= older
