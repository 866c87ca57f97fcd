"""What all NodeSets of a cluster have in common, and this one's sshd_config."""

from collections.abc import Iterator

from windlass.kube.kinds import CONFIG_MAP, POD_DISRUPTION_BUDGET, SERVICE
from windlass.operator.plan import Action, Apply
from windlass.operator.workers import ssh
from windlass.operator.workers.budget import workers_budget
from windlass.operator.workers.course import Outcome, Pass
from windlass.operator.workers.observe import Observed
from windlass.operator.workers.service import workers_service


def share(course: Pass) -> Outcome:
    return Outcome(actions=tuple(shared(course.observed)))


def shared(observed: Observed) -> Iterator[Action]:
    node_set = observed.node_set
    namespace, cluster = node_set.metadata.namespace, node_set.spec.controller_ref.name
    if observed.membership is not None:
        yield Apply(SERVICE, workers_service(namespace, cluster, observed.siblings))
        yield Apply(POD_DISRUPTION_BUDGET, workers_budget(namespace, cluster, observed.siblings))
    if node_set.spec.ssh.enabled:
        yield Apply(CONFIG_MAP, ssh.config_map(node_set))
