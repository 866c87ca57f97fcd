"""What one process tells about itself: few families, few labels, a registry of our own."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

FAST = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Every family of a process; names begin with `windlass_`."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.passes = self._counter("passes", "Passes of a controller.", "controller", "outcome")
        self.pass_seconds = self._seconds("pass", "Time of one pass.", "controller")
        self.slow_passes = self._counter("slow_passes", "Passes longer than usual.", "controller")
        self.queue_depth = self._gauge("queue_depth", "Keys that wait for a worker.", "queue")
        self.queue_seconds = self._seconds("queue_wait", "Time a key waited.", "queue")
        self.queue_retries = self._counter("queue_retries", "Keys added after a failure.", "queue")
        self.requests = self._counter(
            "api_requests", "Requests to the API server.", "verb", "kind", "code"
        )
        self.request_seconds = self._seconds("api_request", "Time of one request.", "verb", "kind")
        self.events = self._counter("events", "Events by what became of them.", "fate")
        self.reviews = self._counter("admission_reviews", "Reviews answered.", "path", "outcome")
        self.review_seconds = self._seconds("admission_review", "Time of one review.", "path")
        self.leading = self._gauge("leading", "1 while this process leads.")

    def queue(self, name: str) -> "QueueMeter":
        return QueueMeter(self, name)

    def controller(self, name: str) -> "PassMeter":
        return PassMeter(self, name)

    def requested(self, verb: str, kind: str, code: int, seconds: float) -> None:
        """Count one answer of the API server; code 0 says that none came."""
        self.requests.labels(verb, kind, str(code)).inc()
        self.request_seconds.labels(verb, kind).observe(seconds)

    def reviewed(self, path: str, outcome: str, seconds: float) -> None:
        """Count one answer of our webhooks."""
        self.reviews.labels(path, outcome).inc()
        self.review_seconds.labels(path).observe(seconds)

    def count_event(self, fate: str) -> None:
        """Count one event: sent, counted in a series, dropped, failed or gone."""
        self.events.labels(fate).inc()

    def watch_leading(self, leading: Callable[[], bool]) -> None:
        """Ask an elector whenever somebody reads the metrics."""
        self.leading.set_function(leading)

    def exposition(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"windlass_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"windlass_{name}", text, labels, registry=self.registry)

    def _seconds(self, name: str, text: str, *labels: str) -> Histogram:
        return Histogram(
            f"windlass_{name}_seconds", text, labels, buckets=FAST, registry=self.registry
        )


class QueueMeter:
    """The meter of one queue; its series are looked up once."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._depth = metrics.queue_depth.labels(name)
        self._seconds = metrics.queue_seconds.labels(name)
        self._retries = metrics.queue_retries.labels(name)

    def depth(self, waiting: int) -> None:
        self._depth.set(waiting)

    def waited(self, seconds: float) -> None:
        self._seconds.observe(seconds)

    def retried(self) -> None:
        self._retries.inc()


class PassMeter:
    """The meter of one controller."""

    def __init__(self, metrics: Metrics, name: str) -> None:
        self._metrics = metrics
        self._name = name
        self._seconds = metrics.pass_seconds.labels(name)

    def passed(self, outcome: str, seconds: float) -> None:
        self._metrics.passes.labels(self._name, outcome).inc()
        self._seconds.observe(seconds)

    def slow(self) -> None:
        self._metrics.slow_passes.labels(self._name).inc()
