import numpy as np
import pytest
import tensorflow as tf
from serving_toys import config, http_request, install, until
from tensorflow_serving.apis import prediction_log_pb2

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.models.servable import Servable
from seqattn_tf.serving.models.session import SessionEngine
from seqattn_tf.serving.server import Server
from seqattn_tf.serving.warmup import FILE, warm


def predict_log(signature="", **inputs):
    log = prediction_log_pb2.PredictionLog()
    log.predict_log.request.model_spec.signature_name = signature
    for alias, value in inputs.items():
        log.predict_log.request.inputs[alias].CopyFrom(tf.make_tensor_proto(value))
    return log


def write(version, *logs):
    (version / FILE).parent.mkdir(exist_ok=True)
    with tf.io.TFRecordWriter(str(version / FILE)) as writer:
        for log in logs:
            writer.write(log.SerializeToString())


@pytest.fixture
def version(repository_root):
    return repository_root / "toy" / "1"


@pytest.fixture
def servable(version):
    servable = Servable("toy", 1, SessionEngine(version))
    servable.calls = []
    predict = servable.predict
    servable.predict = lambda *arguments: servable.calls.append(arguments) or predict(*arguments)
    return servable


def test_records_are_run_in_their_order(version, servable):
    assert warm(servable, version) == 0
    write(version, predict_log(text=["a"]), predict_log("single", x=np.ones(2, np.float32)))
    assert warm(servable, version, iterations=2) == 2
    assert [call[0] for call in servable.calls] == ["", "", "single", "single"]


@pytest.mark.parametrize(
    ("log", "code"),
    [
        (predict_log(text=["x" * 65]), "INVALID_ARGUMENT"),
        (predict_log("nowhere", text=["a"]), "FAILED_PRECONDITION"),
        (prediction_log_pb2.PredictionLog(), "UNIMPLEMENTED"),
    ],
)
def test_a_record_that_fails_is_an_error(version, servable, log, code):
    write(version, predict_log(text=["a"]), log)
    with pytest.raises(ServingError) as raised:
        warm(servable, version)
    assert raised.value.code == code


def test_too_many_and_no_records(version, servable):
    write(version, *[predict_log(text=["a"])] * 1001)
    with pytest.raises(ServingError, match=r"exceeds the maximum \(1000\)"):
        warm(servable, version)
    (version / FILE).write_bytes(b"this is no record file")
    with pytest.raises(ServingError, match="TFRecord format") as raised:
        warm(servable, version)
    assert raised.value.code == "DATA_LOSS"


def test_a_version_that_cannot_be_warmed_does_not_serve(running, repository_root, exports):
    install(exports / "2", repository_root / "toy", 2)  # is served
    until(lambda: running.repository.get("toy").version == 2)
    aside = repository_root / ".aside"
    install(exports / "2", aside, 3)
    write(aside / "3", predict_log(text=["x" * 65]))
    (aside / "3").rename(repository_root / "toy" / "3")
    until(lambda: running.repository.status("toy")[0].error_code == "INVALID_ARGUMENT")
    assert running.repository.get("toy").version == 2
    _, status, _ = http_request(running.rest_url, "GET", "/v1/models/toy/versions/3")
    assert status["model_version_status"][0]["status"]["error_code"] == "INVALID_ARGUMENT"
    assert b'model_warmup_latency_count{model_path="toy/3",status="INVALID_ARGUMENT"} 1' in running.metrics.render()


def test_warmup_can_be_switched_off(version, repository_root):
    write(version, predict_log(text=["x" * 65]))
    with pytest.raises(ValueError, match="expected a model that loads"):
        Server(config(repository_root)).start()
    with Server(config(repository_root, enable_model_warmup=False)) as server:
        assert server.ready
