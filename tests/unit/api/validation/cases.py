"""What the rules take, refuse and warn of: for the rules alone, and for the whole webhook."""

from dataclasses import dataclass
from typing import Any

from tests.contract.slurm_kinds import KEY, LEAST, STORAGE

NAMESPACE = "reviews"
# What there is beside the object under review.
CONFIG_MAPS = {
    "good": {"gres.conf", "topology.yaml", "job_submit.lua"},
    "again": {"gres.conf"},
    "generated": {"slurm.conf"},
    "database": {"slurmdbd.conf"},
    "odd": {"notes.txt"},
}
# Keys that Accountings name.
ACCOUNTINGS: dict[str, dict[str, Any]] = {
    "keyed": {"slurmKeyRef": KEY, "jwtKeyRef": KEY},
    "plain": {},
}
CLAIMS = {"shared": {"ReadWriteMany"}, "single": {"ReadWriteOnce"}}


@dataclass(frozen=True, kw_only=True)
class Case:
    """An object with the least that it needs and `spec`; with `old`, what it was before."""

    kind: str
    spec: dict[str, Any]
    old: dict[str, Any] | None = None
    field: str = ""
    words: str = ""
    name: str = "slurm"

    def __str__(self) -> str:
        return f"{self.kind}-{self.field or 'good'}-{self.words or list(self.spec)}"[:70]

    @property
    def full(self) -> dict[str, Any]:
        return {**LEAST[self.kind], **self.spec}

    @property
    def full_old(self) -> dict[str, Any] | None:
        return None if self.old is None else {**LEAST[self.kind], **self.old}


def good(kind: str, spec: dict[str, Any], old: dict[str, Any] | None = None) -> Case:
    return Case(kind=kind, spec=spec, old=old)


def bad(kind: str, spec: dict[str, Any], field: str, words: str) -> Case:
    return Case(kind=kind, spec=spec, field=field, words=words)


def change(
    kind: str, old: dict[str, Any], new: dict[str, Any], field: str, words: str = ""
) -> Case:
    return Case(kind=kind, spec=new, old=old, field=field, words=words or "cannot be changed")


def ports(*given: Any) -> dict[str, Any]:
    return {"service": {"spec": {"ports": list(given)}}}


def hostname(prefix: Any) -> dict[str, Any]:
    return {"template": {"spec": {"hostname": prefix}}}


def unavailable(most: Any) -> dict[str, Any]:
    return {"updateStrategy": {"rollingUpdate": {"maxUnavailable": most}}}


def lasting(duration: str) -> dict[str, Any]:
    return {"updateStrategy": {"scheduledUpdate": {"duration": duration}}}


def claims(*names: str) -> dict[str, Any]:
    return {"volumeClaimTemplates": [{"metadata": {"name": name}, "spec": {}} for name in names]}


def refs(*names: str, field: str = "configFileRefs") -> dict[str, Any]:
    return {field: [{"name": name} for name in names]}


def backed_up(claim: str) -> dict[str, Any]:
    return {"ha": {"enabled": True}, "persistence": {"existingClaim": claim}}


def storage(**given: Any) -> dict[str, Any]:
    return {"storageConfig": {**STORAGE, **given}}


OTHER = {"name": "other", "key": "key"}
HTTP = {"name": "http", "port": 80}
ADDRESS = {"host": "a\nSlurmUser=eve", "port": 6817}
FILES = "spec.configFileRefs[0].name"
PORTS = "spec.service.spec.ports"
MOST = "spec.updateStrategy.rollingUpdate.maxUnavailable"
LASTS = "spec.updateStrategy.scheduledUpdate.duration"
WITH_SERVICE = {"Controller": 6817, "Accounting": 6819, "RestApi": 6820, "LoginSet": 22}

GOOD = [
    *(good(kind, {}) for kind in LEAST),
    *(
        good(kind, ports(HTTP, {**HTTP, "name": "quic", "protocol": "UDP"}))
        for kind in WITH_SERVICE
    ),
    good("Controller", {"extraConf": ""}),
    good(
        "Controller",
        {"extraConf": "# ours\nMinJobAge=2\nPartitionName=all Nodes=ALL \\\n  Default=YES\n"},
    ),
    good("Controller", refs("good")),
    good("Controller", refs("good", field="prologScriptRefs")),
    good("Controller", backed_up("shared")),
    good("Controller", backed_up("not-yet-there")),
    good("Controller", {"externalConfig": {"host": "fd00::1", "port": 6817}}),
    good("Controller", {"slurmKeyRef": {"name": "slurm-auth-slurm", "key": "slurm.key"}}, {}),
    good("Controller", {"jwtKeyRef": {"name": "slurm-auth-jwt", "key": "jwt.key"}}, {}),
    good("Controller", {"jwtKeyRef": KEY}, {"jwtHs256KeyRef": KEY}),
    good("Controller", {"accountingRef": {"name": "plain"}}, {}),
    good("Controller", {"accountingRef": {"name": "absent"}}, {}),
    good(
        "Controller",
        {"slurmKeyRef": KEY, "jwtKeyRef": KEY},
        {"accountingRef": {"name": "keyed"}},
    ),
    good(
        "Controller",
        {"persistence": {"enabled": False, "existingClaim": "b"}},
        {"persistence": {"enabled": False, "existingClaim": "a"}},
    ),
    good("Accounting", {"extraConf": "DebugLevel=debug2\nPurgeJobAfter=12month"}),
    good("Accounting", storage(host="10.0.0.7", database="my db", username="slurm")),
    good("Accounting", {"jwtKeyRef": KEY}, {}),
    good("RestApi", {"controllerRef": {"name": "other"}}, {}),
    good("RestApi", {"controllerRef": {"name": "slurm", "namespace": NAMESPACE}}),
    good("LoginSet", {"replicas": 3}, {}),
    good("NodeSet", {"extraConf": 'Gres=gpu:4\nFeatures=fast,slow Weight=10 Reason="not yet"\n'}),
    good("NodeSet", {"partition": {"config": "State=UP MaxTime=UNLIMITED Default=YES"}}),
    good("NodeSet", hostname("gpu-")),
    good("NodeSet", hostname("")),
    good("NodeSet", hostname("a" * 57)),
    good("NodeSet", unavailable(1)),
    good("NodeSet", unavailable("100%")),
    good("NodeSet", lasting("1m")),
    good("NodeSet", lasting("0.5h")),
    good("NodeSet", claims("a", "b")),
    good("NodeSet", {**claims("a"), "replicas": 5}, claims("a")),
    good("NodeSet", {"volumeClaimTemplates": []}, {}),
    good("NodeSet", {"ssh": {"enabled": True, "sssdConfRef": KEY}}),
    good("Token", {"lifetime": "1s"}),
    good("Token", {"username": "Alice_B", "secretRef": OTHER}),
    good("Token", {"jwtHs256KeyRef": KEY, "jwtKeyRef": None}, {}),
]

REFUSED = [
    # names and hosts that would break out of their line
    bad("Controller", {"externalConfig": ADDRESS}, "spec.externalConfig.host", "neither a name"),
    bad("Accounting", {"externalConfig": ADDRESS}, "spec.externalConfig.host", "neither a name"),
    bad("Accounting", storage(host="a b"), "spec.storageConfig.host", "neither a name"),
    bad("Accounting", storage(database="a\nb"), "spec.storageConfig.database", "a line break"),
    bad("Accounting", storage(username='"a'), "spec.storageConfig.username", 'cannot read a "'),
    bad(
        "Accounting",
        storage(tls={"cipher": "a\nb"}),
        "spec.storageConfig.tls.cipher",
        "the value has a line break; write it on one line",
    ),
    Case(
        kind="Controller",
        name="a-controller-with-a-name-as-long-as-this",
        spec={},
        old=None,
        field="spec.clusterName",
        words="reviews_a-controller-with-a-name-as-long-as-this has 48 characters",
    ),
    # lines of configuration
    bad(
        "Controller",
        {"extraConf": "MinJobAge=2\n\nMaxJobCount=many"},
        "spec.extraConf",
        "line 3: MaxJobCount: 'many' is not a number up to 4294967295; write digits",
    ),
    bad(
        "Controller",
        {"extraConf": "Hello"},
        "spec.extraConf",
        "line 1: Hello: there is no = after it",
    ),
    bad(
        "Controller",
        {"extraConf": "PartitionName=a Nodes=x\nPartitionName=a Nodes=y"},
        "spec.extraConf",
        "line 2: PartitionName: a is defined already",
    ),
    bad(
        "Accounting",
        {"extraConf": "MessageTimeout=long"},
        "spec.extraConf",
        "line 1: MessageTimeout: 'long' is not",
    ),
    bad("NodeSet", {"extraConf": "Weight"}, "spec.extraConf", "'Weight' is not Key=Value"),
    bad("NodeSet", {"extraConf": "A=1 # no"}, "spec.extraConf", "'#' is not Key=Value"),
    bad("NodeSet", {"extraConf": "=1"}, "spec.extraConf", "'=1' is not Key=Value"),
    bad("NodeSet", {"extraConf": "Weight="}, "spec.extraConf", "Weight: there is no value"),
    bad("NodeSet", {"extraConf": "Weight=big"}, "spec.extraConf", "Weight: 'big' is not a number"),
    bad(
        "NodeSet",
        {"partition": {"config": "MaxTime"}},
        "spec.partition.config",
        "'MaxTime' is not Key=Value",
    ),
    bad(
        "NodeSet",
        {"partition": {"config": "Default=MAYBE"}},
        "spec.partition.config",
        "Default: 'MAYBE' is not YES or NO",
    ),
    # ConfigMaps and claims
    bad("Controller", refs("absent"), FILES, "there is no ConfigMap absent in reviews"),
    bad("Controller", refs(""), FILES, "it is empty; name a ConfigMap"),
    bad("Controller", refs("generated"), FILES, "has a slurm.conf, which the operator writes"),
    bad("Controller", refs("database"), FILES, "has a slurmdbd.conf, which the operator writes"),
    bad(
        "Controller",
        refs("", field="epilogScriptRefs"),
        "spec.epilogScriptRefs[0].name",
        "it is empty",
    ),
    bad(
        "Controller",
        backed_up("single"),
        "spec.persistence.existingClaim",
        "its access modes are ReadWriteOnce; give a claim with ReadWriteMany",
    ),
    # ports
    *(
        bad(kind, ports({"name": "more", "port": port}), f"{PORTS}[0].port", f"port {port} is")
        for kind, port in WITH_SERVICE.items()
    ),
    bad(
        "Controller",
        {"service": {"port": 80, "spec": {"ports": [HTTP]}}},
        f"{PORTS}[0].port",
        "port 80 is there already",
    ),
    bad("RestApi", ports({"name": "slurmrestd", "port": 1}), f"{PORTS}[0].name", "another port"),
    bad(
        "RestApi",
        {"agent": {"enabled": True}, **ports(HTTP, {"name": "mine", "port": 6821})},
        f"{PORTS}[1].port",
        "port 6821 is there already",
    ),
    bad("LoginSet", ports(HTTP, HTTP), f"{PORTS}[1].name", "there is another port http"),
    bad("Controller", ports({"port": 80}), f"{PORTS}[0].name", "it has no name"),
    bad("Controller", ports("80"), PORTS, "it is no list of ports"),
    # references
    *(
        bad(
            kind,
            {"controllerRef": {"name": "slurm", "namespace": "far"}},
            "spec.controllerRef.namespace",
            "a Controller of far cannot be referred to from reviews",
        )
        for kind in ("RestApi", "LoginSet", "NodeSet")
    ),
    # workers
    bad("NodeSet", unavailable(0), MOST, "no worker could ever be updated"),
    bad("NodeSet", unavailable(-1), MOST, "no worker could ever be updated"),
    bad("NodeSet", unavailable("0%"), MOST, "no worker could ever be updated"),
    bad("NodeSet", unavailable("a few"), MOST, "'a few' is neither a number nor a share"),
    bad("NodeSet", lasting("59s"), LASTS, "59s is shorter than Slurm can reserve"),
    *(
        bad("NodeSet", hostname(odd), "spec.template.spec.hostname", "cannot begin the name")
        for odd in ("GPU-", "-gpu", "a b", "a\nb", "a.b", 7)
    ),
    bad("NodeSet", hostname("a" * 58), "spec.template.spec.hostname", "it has 58 characters"),
    bad("NodeSet", claims(""), "spec.volumeClaimTemplates[0].metadata.name", "it is missing"),
    bad("NodeSet", claims("a", "a"), "spec.volumeClaimTemplates[1].metadata.name", "another a"),
    # tokens
    bad("Token", {"lifetime": "0s"}, "spec.lifetime", "a token of 0s is never good"),
    bad("Token", {"lifetime": "999ms"}, "spec.lifetime", "a token of 999ms is never good"),
    bad("Token", {"username": "Alice_B"}, "spec.secretRef", "which no Secret can be called"),
    # changes
    change("Controller", {}, {"slurmKeyRef": OTHER}, "spec.slurmKeyRef.name", "slurm-auth-slurm"),
    change("Controller", {"slurmKeyRef": KEY}, {}, "spec.slurmKeyRef.name"),
    change("Controller", {}, {"accountingRef": {"name": "keyed"}}, "spec.slurmKeyRef.name"),
    change(
        "Controller",
        {"accountingRef": {"name": "keyed"}},
        {"accountingRef": {"name": "plain"}},
        "spec.jwtKeyRef",
    ),
    change("Controller", {}, {"jwtKeyRef": OTHER}, "spec.jwtKeyRef", "jwt.key of slurm-auth-jwt"),
    change("Controller", {"jwtKeyRef": KEY}, {"jwtHs256KeyRef": OTHER}, "spec.jwtKeyRef"),
    change(
        "Controller",
        {},
        {"persistence": {"enabled": False}},
        "spec.persistence.enabled",
    ),
    change(
        "Controller",
        {"persistence": {"existingClaim": "a"}},
        {"persistence": {"existingClaim": "b"}},
        "spec.persistence.existingClaim",
    ),
    change("Accounting", {"jwtKeyRef": KEY}, {"jwtKeyRef": OTHER}, "spec.jwtKeyRef"),
    change("Accounting", {"jwtKeyRef": KEY}, {}, "spec.jwtKeyRef"),
    change("LoginSet", {}, {"controllerRef": {"name": "other"}}, "spec.controllerRef.name"),
    change("NodeSet", {}, {"controllerRef": {"name": "other"}}, "spec.controllerRef.name"),
    change("NodeSet", claims("a"), claims("b"), "spec.volumeClaimTemplates"),
    change("NodeSet", {}, claims("a"), "spec.volumeClaimTemplates"),
    change("Token", {}, {"jwtKeyRef": OTHER}, "spec.jwtKeyRef", "from key of keys"),
    change(
        "Token",
        {"jwtKeyRef": None, "controllerRef": {"name": "slurm"}},
        {"jwtKeyRef": None, "controllerRef": {"name": "other"}},
        "spec.jwtKeyRef",
    ),
]

WARNED = [
    *(
        bad(
            kind,
            {"service": {"spec": {"externalIPs": ["192.0.2.1"]}}},
            "spec.service.spec.externalIPs",
            "they are left out",
        )
        for kind in WITH_SERVICE
    ),
    bad("Controller", {"clusterName": "Slurm"}, "spec.clusterName", "lower case: slurm"),
    bad("Controller", refs("odd"), FILES, "has a notes.txt, which is no file that Slurm"),
    bad(
        "Controller",
        refs("good", "again"),
        "spec.configFileRefs[1].name",
        "gres.conf is in good and in again",
    ),
    bad(
        "Controller",
        refs("absent", field="prologSlurmctldScriptRefs"),
        "spec.prologSlurmctldScriptRefs[0].name",
        "there is no ConfigMap absent",
    ),
    bad(
        "Controller",
        {"extraConf": "MaxJobCont=5"},
        "spec.extraConf",
        "line 1: MaxJobCont: Slurm knows no such key here; did you mean MaxJobCount?",
    ),
    bad(
        "Controller",
        {"extraConf": "ClusterName=other"},
        "spec.extraConf",
        "line 1: ClusterName: the operator sets it",
    ),
    bad(
        "Controller",
        {"extraConf": "SlurmctldHost=other"},
        "spec.extraConf",
        "line 1: SlurmctldHost: the operator sets it",
    ),
    bad(
        "Accounting",
        {"extraConf": "StoragePass=secret"},
        "spec.extraConf",
        "line 1: StoragePass: the operator sets it",
    ),
    bad("Accounting", {"extraConf": "Hello=1"}, "spec.extraConf", "Slurm knows no such key"),
    bad("NodeSet", {"extraConf": "Wight=10"}, "spec.extraConf", "did you mean Weight?"),
    bad(
        "NodeSet",
        {"partition": {"config": "MaxTme=1"}},
        "spec.partition.config",
        "did you mean MaxTime?",
    ),
    bad("NodeSet", {"ssh": {"enabled": True}}, "spec.ssh.sssdConfRef", "it is not given"),
    *(
        bad(
            kind,
            {"jwtKeyRef": KEY, "jwtHs256KeyRef": OTHER},
            "spec.jwtHs256KeyRef",
            "it names another key than jwtKeyRef, which wins",
        )
        for kind in ("Controller", "Accounting", "Token")
    ),
]

# Faults that were there before somebody changed something else.
INHERITED = [
    change(
        "Controller",
        {"extraConf": "MaxJobCount=many"},
        {"extraConf": "MaxJobCount=many", "inplaceReconfigure": True},
        "spec.extraConf",
        "MaxJobCount: 'many' is not",
    ),
    change(
        "NodeSet",
        {**hostname("GPU-"), "replicas": 1},
        {**hostname("GPU-"), "replicas": 5},
        "spec.template.spec.hostname",
        "cannot begin the name",
    ),
]
