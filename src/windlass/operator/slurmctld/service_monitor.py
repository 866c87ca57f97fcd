"""The ServiceMonitor through which the Prometheus operator scrapes slurmctld."""

from collections.abc import Sequence
from typing import Any, Final

from windlass.api import names
from windlass.api.controller import Controller, MetricsEndpoint, ServiceMonitor
from windlass.kube.kinds import CONTROLLER, SERVICE_MONITOR
from windlass.operator import owned
from windlass.operator.plan import Body
from windlass.operator.slurmctld import words
from windlass.operator.slurmctld.services import PORT_NAME

PATHS: Final = ("/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler")


def wanted(controller: Controller) -> bool:
    metrics = controller.spec.metrics
    return metrics.enabled and metrics.service_monitor.enabled and not controller.spec.external


def service_monitor(controller: Controller) -> Body:
    owner = controller.metadata
    spec = controller.spec.metrics.service_monitor
    return {
        "apiVersion": SERVICE_MONITOR.api_version,
        "kind": SERVICE_MONITOR.kind,
        "metadata": owned.metadata(
            owner,
            CONTROLLER,
            names.slurmctld(owner.name),
            {**(spec.labels or {}), **words.labels_of(controller)},
            spec.annotations,
        ),
        "spec": {
            "selector": {
                "matchLabels": words.selector_of(controller),
                # The other Service leads to the same pods, and each would count twice.
                "matchExpressions": [{"key": words.SERVICE, "operator": "DoesNotExist"}],
            },
            "namespaceSelector": {"matchNames": [owner.namespace]},
            "endpoints": [_endpoint(each, spec) for each in _endpoints(spec)],
        },
    }


def _endpoints(spec: ServiceMonitor) -> Sequence[MetricsEndpoint]:
    return spec.endpoints or [MetricsEndpoint(path=path) for path in PATHS]


def _endpoint(endpoint: MetricsEndpoint, spec: ServiceMonitor) -> dict[str, Any]:
    pairs = {
        "port": PORT_NAME,
        "scheme": "http",
        "path": endpoint.path,
        "interval": endpoint.interval or spec.interval,
        "scrapeTimeout": endpoint.scrape_timeout or spec.scrape_timeout,
    }
    return {key: value for key, value in pairs.items() if value}
