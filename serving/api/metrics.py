"""Metrics of the server in Prometheus' text format, with TF Serving's names.

One label differs: `model_path` of the warmup is `NAME/VERSION`, so as not to expose file paths of the server.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

CONTENT_TYPE = "text/plain"
_RUNTIME = "TF1"  # TF Serving's label value for SavedModels
_PREFIX = "/tensorflow/serving/"
_LATENCIES = tuple(accumulate([10.0] + [1.8] * 32, lambda limit, growth: limit * growth))  # microseconds
_QUEUING = tuple(accumulate([100.0] + [1.2] * 51, lambda limit, growth: limit * growth))  # microseconds
_ROWS = tuple(2.0**power for power in range(14))
_EXAMPLES = tuple(2.0**power for power in range(15))
# Clients can request models of any name, so only a limited number of unknown names get a label of their own.
_STRANGERS = 100
_NAME_CHARACTERS = 256


class Metrics:
    """The counters and histograms of a server. Thread-safe.

    >>> metrics = Metrics()
    >>> metrics.answered("m", "Predict", "GRPC", "OK", 0.002)
    >>> [line for line in metrics.render().decode().splitlines() if "request_count{" in line]
    [':tensorflow:serving:request_count{model_name="m",status="OK"} 1']
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests = _Counter("request_count", ("model_name", "status"))
        self._latency = _Histogram("request_latency", ("model_name", "API", "entrypoint"), _LATENCIES)
        self._runtime = _Histogram("runtime_latency", ("model_name", "API", "runtime"), _LATENCIES)
        self._examples = _Histogram("request_example_counts", ("model",), _EXAMPLES)
        self._examples_total = _Counter("request_example_count_total", ("model",))
        self._queuing = _Histogram("batching_session/queuing_latency", ("thread_pool_name",), _QUEUING)
        self._runs = _Counter("batching_session/wrapped_run_count", ())
        self._padding = _Histogram("batching_session/padding_size", ("execution_batch_size",), _ROWS)
        self._input_rows = _Histogram("batching_session/input_batch_size", (), _ROWS)
        self._processed_rows = _Histogram("batching_session/processed_batch_size", (), _ROWS)
        self._limited = _Counter("limit_exceeded_count", ("limit",), "/seqattn/serving/")
        self._warmup = _Histogram("model_warmup_latency", ("model_path", "status"), _LATENCIES)
        self._all = (
            self._warmup,
            self._requests,
            self._examples_total,
            self._examples,
            self._latency,
            self._runtime,
            self._queuing,
            self._runs,
            self._padding,
            self._input_rows,
            self._processed_rows,
            self._limited,
        )
        self._answering: set[str] = set()  # names of models that have answered at least once
        self._strangers: set[str] = set()

    def answered(self, model: str, api: str, entrypoint: str, status: str, seconds: float) -> None:
        """Count a request by its outcome, and record its latency if it succeeded.

        Args:
            model: The requested model name.
            api: `Predict` for gRPC, or `predict` for REST: TF Serving uses the spelling of the request.
            entrypoint: `GRPC` or `REST`.
            status: `OK` or the code of the error.
            seconds: The duration of the request.
        """
        with self._lock:
            name = self._label(model, status)
            self._requests.add((name, status))
            if status == "OK":
                self._latency.add((name, api, entrypoint), _microseconds(seconds))

    def ran(self, model: str, api: str, seconds: float) -> None:
        """Record the duration of one run of a model's graph."""
        with self._lock:
            self._runtime.add((model, api, _RUNTIME), _microseconds(seconds))

    def examples(self, model: str, count: int) -> None:
        """Count the examples of one request to a model."""
        with self._lock:
            self._examples.add((model,), count)
            self._examples_total.add((model,), count)

    def warmed(self, name: str, version: int, seconds: float, status: str) -> None:
        """Record the duration of the warmup of a version."""
        with self._lock:
            self._warmup.add((f"{name}/{version}", status), _microseconds(seconds))

    def batched(self, pool: str, seconds: Sequence[float], rows: Sequence[int], size: int) -> None:
        """Record a run of a batch.

        Args:
            pool: The name of the threads.
            seconds: The time that each request waited in the queue.
            rows: The number of rows of each request.
            size: The number of rows of the batch, with those that pad it.
        """
        with self._lock:
            for waited, count in zip(seconds, rows, strict=True):
                self._queuing.add((pool,), _microseconds(waited))
                self._input_rows.add((), count)
            self._runs.add(())
            self._padding.add((str(size),), size - sum(rows))
            self._processed_rows.add((), size)

    def limited(self, limit: str) -> None:
        """Count that a limit of the server has taken effect."""
        with self._lock:
            self._limited.add((limit,))

    def value(self, name: str) -> int:
        """Return the value of a counter's first series, by TF Serving's name with slashes; 0 if it has no series."""
        with self._lock:
            for metric in (self._requests, self._examples_total):
                if _PREFIX + metric.name == name and metric.series:
                    return metric.series[min(metric.series)]
        return 0

    def render(self) -> bytes:
        """Return all metrics as text for Prometheus."""
        with self._lock:
            return "".join(f"{line}\n" for metric in self._all for line in metric.lines()).encode()

    def _label(self, model: str, status: str) -> str:
        if model in self._answering:
            return model
        if status == "OK":
            self._answering.add(model)
        elif model not in self._strangers:
            if len(self._strangers) >= _STRANGERS or len(model) > _NAME_CHARACTERS:
                return ""
            self._strangers.add(model)
        return model


class _Counter:
    """A counter with one value for each set of label values."""

    def __init__(self, name: str, labels: Sequence[str], prefix: str = _PREFIX):
        self.name = name
        self.prefix = prefix
        self.series: dict[tuple[str, ...], int] = {}
        self._labels = labels

    def add(self, values: tuple[str, ...], amount: int = 1) -> None:
        self.series[values] = self.series.get(values, 0) + amount

    def lines(self) -> Iterator[str]:
        name = _page_name(self.prefix, self.name)
        yield f"# TYPE {name} counter"
        for values, count in sorted(self.series.items()):
            yield f"{name}{_braces(_pairs(self._labels, values))} {count}"


class _Histogram:
    """A histogram with one row of bucket counts for each set of label values."""

    def __init__(self, name: str, labels: Sequence[str], limits: Sequence[float]):
        self._name = name
        self._labels = labels
        self._limits = limits
        # Bucket counts, and a list with only the sum.
        self._series: dict[tuple[str, ...], tuple[list[int], list[int]]] = {}

    def add(self, values: tuple[str, ...], amount: int) -> None:
        row = self._series.get(values)
        if row is None:
            row = self._series[values] = ([0] * (len(self._limits) + 1), [0])
        # A value equal to a limit belongs to the bucket above it, as in TensorFlow's histograms.
        row[0][bisect_right(self._limits, amount)] += 1
        row[1][0] += amount

    def lines(self) -> Iterator[str]:
        name = _page_name(_PREFIX, self._name)
        limits = [f"{limit:g}" for limit in self._limits] + ["+Inf"]
        yield f"# TYPE {name} histogram"
        for values, (counts, (total,)) in sorted(self._series.items()):
            pairs = _pairs(self._labels, values)
            before = f"{pairs}," if pairs else ""
            for limit, count in zip(limits, accumulate(counts), strict=True):
                yield f'{name}_bucket{{{before}le="{limit}"}} {count}'
            yield f"{name}_sum{_braces(pairs)} {total}"
            yield f"{name}_count{_braces(pairs)} {sum(counts)}"


def _microseconds(seconds: float) -> int:
    return int(seconds * 1e6)


def _page_name(prefix: str, name: str) -> str:
    return (prefix + name).replace("/", ":")


def _pairs(labels: Sequence[str], values: Sequence[str]) -> str:
    return ",".join(f'{label}="{_escaped(value)}"' for label, value in zip(labels, values, strict=True))


def _braces(pairs: str) -> str:
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
