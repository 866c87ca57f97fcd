"""Where each kind lives on an API server, as data. Pure: the words all other files use."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path under which the whole group version is served."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"


def _cluster(group: str, version: str, plural: str, kind: str) -> Kind:
    return Kind(group, version, plural, kind, namespaced=False)


# --- core ----------------------------------------------------------------------------------

POD: Final = Kind("", "v1", "pods", "Pod")
SERVICE: Final = Kind("", "v1", "services", "Service")
CONFIG_MAP: Final = Kind("", "v1", "configmaps", "ConfigMap")
SECRET: Final = Kind("", "v1", "secrets", "Secret")
SERVICE_ACCOUNT: Final = Kind("", "v1", "serviceaccounts", "ServiceAccount")
ENDPOINTS: Final = Kind("", "v1", "endpoints", "Endpoints")
PERSISTENT_VOLUME_CLAIM: Final = Kind("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
PERSISTENT_VOLUME: Final = _cluster("", "v1", "persistentvolumes", "PersistentVolume")
NODE: Final = _cluster("", "v1", "nodes", "Node")
NAMESPACE: Final = _cluster("", "v1", "namespaces", "Namespace")

# --- apps, batch ---------------------------------------------------------------------------

STATEFUL_SET: Final = Kind("apps", "v1", "statefulsets", "StatefulSet")
DEPLOYMENT: Final = Kind("apps", "v1", "deployments", "Deployment")
REPLICA_SET: Final = Kind("apps", "v1", "replicasets", "ReplicaSet")
DAEMON_SET: Final = Kind("apps", "v1", "daemonsets", "DaemonSet")
CONTROLLER_REVISION: Final = Kind("apps", "v1", "controllerrevisions", "ControllerRevision")
JOB: Final = Kind("batch", "v1", "jobs", "Job")

# --- policy, coordination, events, discovery -----------------------------------------------

POD_DISRUPTION_BUDGET: Final = Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
LEASE: Final = Kind("coordination.k8s.io", "v1", "leases", "Lease")
EVENT: Final = Kind("events.k8s.io", "v1", "events", "Event")
ENDPOINT_SLICE: Final = Kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")

# --- who may do what -----------------------------------------------------------------------

_RBAC: Final = "rbac.authorization.k8s.io"
ROLE: Final = Kind(_RBAC, "v1", "roles", "Role")
ROLE_BINDING: Final = Kind(_RBAC, "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLE: Final = _cluster(_RBAC, "v1", "clusterroles", "ClusterRole")
CLUSTER_ROLE_BINDING: Final = _cluster(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding")

# --- the API server's own extension --------------------------------------------------------

_ADMISSION: Final = "admissionregistration.k8s.io"
MUTATING_WEBHOOKS: Final = _cluster(
    _ADMISSION, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"
)
VALIDATING_WEBHOOKS: Final = _cluster(
    _ADMISSION, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"
)
CUSTOM_RESOURCE_DEFINITION: Final = _cluster(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"
)

# --- storage, scheduling, devices ----------------------------------------------------------

STORAGE_CLASS: Final = _cluster("storage.k8s.io", "v1", "storageclasses", "StorageClass")
CSI_NODE: Final = _cluster("storage.k8s.io", "v1", "csinodes", "CSINode")
_SCHEDULING: Final = "scheduling.k8s.io"
PRIORITY_CLASS: Final = _cluster(_SCHEDULING, "v1", "priorityclasses", "PriorityClass")
WORKLOAD: Final = Kind(_SCHEDULING, "v1alpha2", "workloads", "Workload")
CORE_POD_GROUP: Final = Kind(_SCHEDULING, "v1alpha2", "podgroups", "PodGroup")

_DEVICES: Final = "resource.k8s.io"
RESOURCE_CLAIM: Final = Kind(_DEVICES, "v1", "resourceclaims", "ResourceClaim")
RESOURCE_CLAIM_TEMPLATE: Final = Kind(
    _DEVICES, "v1", "resourceclaimtemplates", "ResourceClaimTemplate"
)
RESOURCE_SLICE: Final = _cluster(_DEVICES, "v1", "resourceslices", "ResourceSlice")
DEVICE_CLASS: Final = _cluster(_DEVICES, "v1", "deviceclasses", "DeviceClass")

# --- Slinky --------------------------------------------------------------------------------

_SLINKY: Final = "slinky.slurm.net"
CONTROLLER: Final = Kind(_SLINKY, "v1beta1", "controllers", "Controller")
ACCOUNTING: Final = Kind(_SLINKY, "v1beta1", "accountings", "Accounting")
REST_API: Final = Kind(_SLINKY, "v1beta1", "restapis", "RestApi")
NODE_SET: Final = Kind(_SLINKY, "v1beta1", "nodesets", "NodeSet")
LOGIN_SET: Final = Kind(_SLINKY, "v1beta1", "loginsets", "LoginSet")
TOKEN: Final = Kind(_SLINKY, "v1beta1", "tokens", "Token")

# --- workloads of others that a bridge understands -----------------------------------------

JOB_SET: Final = Kind("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
LEADER_WORKER_SET: Final = Kind(
    "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"
)
POD_GROUP: Final = Kind("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")

# --- monitoring by others --------------------------------------------------------------------

TOKEN_REVIEW: Final = _cluster("authentication.k8s.io", "v1", "tokenreviews", "TokenReview")
SUBJECT_ACCESS_REVIEW: Final = _cluster(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview"
)
SERVICE_MONITOR: Final = Kind("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor")
