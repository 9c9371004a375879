import contextlib
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
import serving_toys
import tensorflow as tf
from serving_toys import http_request, load_saved_model, post
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from seqattn_tf.serving.api.metrics import Metrics
from seqattn_tf.serving.models.model_config import ModelConfig
from seqattn_tf.serving.models.repository import ModelRepository

PREFIX = ":tensorflow:serving:"


def read(metrics):
    """Return the metrics as name with labels -> value, and check that every line is in Prometheus' format."""
    found = {}
    for line in metrics.render().decode().splitlines():
        if line.startswith("# TYPE "):
            assert line.split()[2].startswith((PREFIX, ":seqattn:serving:"))
            continue
        series, _, value = line.rpartition(" ")
        assert series not in found
        found[series.removeprefix(PREFIX)] = float(value)
    return found


def named(found, *names):
    return {series: value for series, value in found.items() if series.partition("{")[0] in names}


def test_a_page_without_requests_names_every_metric():
    lines = Metrics().render().decode().splitlines()
    assert lines == [
        "# TYPE :tensorflow:serving:model_warmup_latency histogram",
        "# TYPE :tensorflow:serving:request_count counter",
        "# TYPE :tensorflow:serving:request_example_count_total counter",
        "# TYPE :tensorflow:serving:request_example_counts histogram",
        "# TYPE :tensorflow:serving:request_latency histogram",
        "# TYPE :tensorflow:serving:runtime_latency histogram",
        "# TYPE :tensorflow:serving:batching_session:queuing_latency histogram",
        "# TYPE :tensorflow:serving:batching_session:wrapped_run_count counter",
        "# TYPE :tensorflow:serving:batching_session:padding_size histogram",
        "# TYPE :tensorflow:serving:batching_session:input_batch_size histogram",
        "# TYPE :tensorflow:serving:batching_session:processed_batch_size histogram",
        "# TYPE :seqattn:serving:limit_exceeded_count counter",
    ]


def test_a_latency_has_tf_serving_s_buckets():
    metrics = Metrics()
    for microseconds in (1, 17, 18, 5_000):
        metrics.answered("m", "Predict", "GRPC", "OK", microseconds / 1e6 + 1e-9)
    metrics.answered("m", "Predict", "GRPC", "OK", 1e6)
    labels = 'model_name="m",API="Predict",entrypoint="GRPC"'
    lines = [line for line in metrics.render().decode().splitlines() if "request_latency" in line]
    assert lines[0] == f"# TYPE {PREFIX}request_latency histogram"
    assert lines[1:5] == [
        f'{PREFIX}request_latency_bucket{{{labels},le="10"}} 1',
        f'{PREFIX}request_latency_bucket{{{labels},le="18"}} 2',
        f'{PREFIX}request_latency_bucket{{{labels},le="32.4"}} 3',
        f'{PREFIX}request_latency_bucket{{{labels},le="58.32"}} 3',
    ]
    assert len(lines) == 1 + 33 + 1 + 2
    assert lines[-4:] == [
        f'{PREFIX}request_latency_bucket{{{labels},le="1.47476e+09"}} 4',
        f'{PREFIX}request_latency_bucket{{{labels},le="+Inf"}} 5',
        f"{PREFIX}request_latency_sum{{{labels}}} 1000000005036",
        f"{PREFIX}request_latency_count{{{labels}}} 5",
    ]


def test_examples_and_warmups():
    metrics = Metrics()
    metrics.examples("m", 1)
    metrics.examples("m", 5)
    metrics.warmed("m", 12, 0.5, "OK")
    found = read(metrics)
    assert found['request_example_count_total{model="m"}'] == 6
    assert found['request_example_counts_count{model="m"}'] == 2
    assert [found[f'request_example_counts_bucket{{model="m",le="{limit}"}}'] for limit in (1, 2, 4, 8, 16384)] == [
        *(0, 1, 1, 2, 2)
    ]
    assert found['model_warmup_latency_sum{model_path="m/12",status="OK"}'] == 500_000


def test_labels_are_escaped():
    metrics = Metrics()
    metrics.answered('a"b\\c\nd', "", "REST", "NOT_FOUND", 0.0)
    assert rb'model_name="a\"b\\c\nd",status="NOT_FOUND"} 1' in metrics.render()


def test_names_that_nothing_answers_to_do_not_grow_the_page_without_bound():
    metrics = Metrics()
    metrics.answered("real", "", "REST", "OK", 0.0)
    metrics.answered("x" * 1000, "", "REST", "NOT_FOUND", 0.0)
    for number in range(1000):
        metrics.answered(f"stranger {number}", "", "REST", "NOT_FOUND", 0.0)
    metrics.answered("stranger 3", "", "REST", "NOT_FOUND", 0.0)
    metrics.answered("late", "", "REST", "OK", 0.0)
    metrics.answered("late", "", "REST", "INVALID_ARGUMENT", 0.0)
    counts = named(read(metrics), "request_count")
    assert len(counts) == 100 + 4
    assert sum(counts.values()) == 1005
    assert counts['request_count{model_name="",status="NOT_FOUND"}'] == 901
    assert counts['request_count{model_name="stranger 3",status="NOT_FOUND"}'] == 2
    assert counts['request_count{model_name="late",status="INVALID_ARGUMENT"}'] == 1


def test_a_name_of_a_thousand_characters_is_no_label():
    metrics = Metrics()
    metrics.answered("m" * 1000, "", "REST", "NOT_FOUND", 0.0)
    assert named(read(metrics), "request_count") == {'request_count{model_name="",status="NOT_FOUND"}': 1}


def test_batches():
    metrics = Metrics()
    metrics.batched("batch_threads", [0.0001, 0.5], [1, 2], 4)
    metrics.batched("batch_threads", [0.0], [4], 4)
    found = read(metrics)
    pool = 'thread_pool_name="batch_threads"'
    assert found["batching_session:wrapped_run_count"] == 2
    assert found[f"batching_session:queuing_latency_count{{{pool}}}"] == 3
    assert found[f'batching_session:queuing_latency_bucket{{{pool},le="100"}}'] == 1
    assert found['batching_session:padding_size_sum{execution_batch_size="4"}'] == 1
    assert [found[f"batching_session:{name}_batch_size_sum"] for name in ("input", "processed")] == [7, 8]
    assert found['batching_session:input_batch_size_bucket{le="2"}'] == 1


def test_nothing_is_lost_between_threads():
    metrics = Metrics()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: metrics.answered("m", "p", "REST", "OK", n / 1e6), range(4000)))
    found = read(metrics)
    assert found['request_count{model_name="m",status="OK"}'] == 4000
    assert found['request_latency_count{model_name="m",API="p",entrypoint="REST"}'] == 4000


def test_the_value_of_a_counter_goes_by_its_own_name():
    metrics = Metrics()
    assert metrics.value("/tensorflow/serving/request_count") == 0
    metrics.answered("m", "Predict", "GRPC", "OK", 0.0)
    assert metrics.value("/tensorflow/serving/request_count") == 1
    assert metrics.value("request_count") == metrics.value("/tensorflow/serving/request_latency") == 0


@pytest.fixture(scope="module")
def repository(exports, tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    serving_toys.export_examples(folder / "1")
    models = {"toy": ModelConfig("toy", exports), "ex": ModelConfig("ex", folder)}
    repository = ModelRepository(lambda: models, load_saved_model, poll_seconds=0)
    repository.start()
    return repository


def test_rest_requests_are_counted_by_outcome(repository):
    metrics = Metrics()
    with serving_toys.apis(repository, metrics) as (url, _):
        for _ in range(3):
            post(url, {"instances": ["a"]})
        post(url, b"{")
        post(url, {"instances": ["a"]}, "/v1/models/toy/versions/99:predict")
        post(url, {"instances": ["a"]}, "/v1/models/no:predict")
        post(url, {"examples": [{}, {}]}, "/v1/models/ex:classify")
        post(url, {"signature_name": "regress", "examples": [{}, {}]}, "/v1/models/ex:regress")
        http_request(url, "GET", "/v1/models/toy")
        http_request(url, "GET", "/v1/models/toy/metadata")
        http_request(url, "GET", "/v1/foo")
    found = read(metrics)
    assert named(found, "request_count") == {
        'request_count{model_name="toy",status="OK"}': 5,
        'request_count{model_name="toy",status="INVALID_ARGUMENT"}': 1,
        'request_count{model_name="toy",status="NOT_FOUND"}': 1,
        'request_count{model_name="no",status="NOT_FOUND"}': 1,
        'request_count{model_name="ex",status="OK"}': 2,
        'request_count{model_name="",status="INVALID_ARGUMENT"}': 1,
    }
    assert named(found, "request_latency_count") == {
        'request_latency_count{model_name="toy",API="predict",entrypoint="REST"}': 3,
        'request_latency_count{model_name="toy",API="",entrypoint="REST"}': 2,
        'request_latency_count{model_name="ex",API="classify",entrypoint="REST"}': 1,
        'request_latency_count{model_name="ex",API="regress",entrypoint="REST"}': 1,
    }
    assert named(found, "runtime_latency_count") == {
        'runtime_latency_count{model_name="toy",API="Predict",runtime="TF1"}': 3,
        'runtime_latency_count{model_name="ex",API="Classify",runtime="TF1"}': 1,
        'runtime_latency_count{model_name="ex",API="Regress",runtime="TF1"}': 1,
    }
    assert named(found, "request_example_count_total") == {'request_example_count_total{model="ex"}': 2}
    for name in ("request", "runtime"):
        assert all(value > 0 for value in named(found, f"{name}_latency_sum").values())


def test_grpc_requests_are_counted_by_outcome(repository):
    metrics = Metrics()
    with serving_toys.apis(repository, metrics) as (_, address), grpc.insecure_channel(address) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        for name, signature in (("toy", ""), ("toy", ""), ("toy", "no"), ("no", ""), ("", "")):
            request = predict_pb2.PredictRequest()
            request.model_spec.name, request.model_spec.signature_name = name, signature
            request.inputs["text"].CopyFrom(tf.make_tensor_proto(["a"]))
            with contextlib.suppress(grpc.RpcError):
                stub.Predict(request, timeout=20)
    found = read(metrics)
    assert named(found, "request_count") == {
        'request_count{model_name="toy",status="OK"}': 2,
        'request_count{model_name="toy",status="FAILED_PRECONDITION"}': 1,
        'request_count{model_name="no",status="NOT_FOUND"}': 1,
        'request_count{model_name="",status="INVALID_ARGUMENT"}': 1,
    }
    assert named(found, "request_latency_count", "runtime_latency_count") == {
        'request_latency_count{model_name="toy",API="Predict",entrypoint="GRPC"}': 2,
        'runtime_latency_count{model_name="toy",API="Predict",runtime="TF1"}': 2,
    }
