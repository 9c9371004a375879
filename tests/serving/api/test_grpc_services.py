import grpc
import numpy as np
import pytest
import tensorflow as tf
from serving_toys import apis, install, load_saved_model
from tensorflow.core.framework import tensor_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from seqattn_tf.serving.api.metrics import Metrics
from seqattn_tf.serving.models.model_config import ModelConfig, VersionPolicy
from seqattn_tf.serving.models.repository import ModelRepository


@pytest.fixture(scope="module")
def channel(server):
    with grpc.insecure_channel(server.grpc_address) as channel:
        yield channel


@pytest.fixture(scope="module")
def predictions(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


@pytest.fixture(scope="module")
def models(channel):
    return model_service_pb2_grpc.ModelServiceStub(channel)


def request(inputs=None, name="toy", signature="", version=None, label="", outputs=()):
    message = predict_pb2.PredictRequest(output_filter=outputs)
    message.model_spec.name = name
    message.model_spec.signature_name = signature
    if version is not None:
        message.model_spec.version.value = version
    if label:
        message.model_spec.version_label = label
    for alias, value in ({"text": ["ab"]} if inputs is None else inputs).items():
        proto = value if isinstance(value, tensor_pb2.TensorProto) else tf.make_tensor_proto(value)
        message.inputs[alias].CopyFrom(proto)
    return message


def refusal(method, message):
    with pytest.raises(grpc.RpcError) as raised:
        method(message, timeout=20)
    return raised.value.code().name, raised.value.details()


def test_predict_answers_in_typed_fields_and_says_what_answered(predictions):
    response = predictions.Predict(request({"text": [b"ab", b"\xff"]}))
    assert response.model_spec.name == "toy"
    assert response.model_spec.version.value == 1
    assert response.model_spec.signature_name == "serving_default"
    assert sorted(response.outputs) == ["raw_bytes", "score", "upper", "version"]
    assert list(response.outputs["upper"].string_val) == [b"AB", b"\xff"]
    np.testing.assert_allclose(response.outputs["score"].float_val, [0.2, 0.1])
    assert list(response.outputs["version"].int_val) == [1, 1]
    assert not response.outputs["score"].tensor_content
    assert tf.make_ndarray(response.outputs["upper"]).tolist() == [b"AB", b"\xff"]


def test_output_filter_version_and_types_without_a_field_of_their_own(predictions):
    response = predictions.Predict(request(version=1, outputs=["score"]))
    assert list(response.outputs) == ["score"]
    response = predictions.Predict(request({"x": np.float16([0.5])}, signature="half"))
    assert tf.make_ndarray(response.outputs["y"]).tolist() == [0.5]


def test_empty_batch_and_empty_rows(predictions):
    response = predictions.Predict(request({"text": np.empty([0], object)}))
    assert tf.make_ndarray(response.outputs["upper"]).shape == (0,)
    inputs = {"x": np.zeros([0, 2], np.float32), "k": np.zeros([0], np.int32)}
    response = predictions.Predict(request(inputs, signature="scale"))
    assert tf.make_ndarray(response.outputs["y"]).shape == (0, 2)


def test_denormal_numbers_are_zero_in_every_thread(predictions):
    """Would fail if the event loop, which runs fast requests after the first few, computed with them."""
    tiny = np.float32([[1e-39, 1.0]])
    for _ in range(8):
        outputs = predictions.Predict(request({"x": tiny, "k": np.int32([2])}, signature="scale")).outputs
        assert [list(value.float_val) for value in outputs.values() if value.dtype == 1] == [[0.0, 2.0]]


def test_requests_larger_than_4_mb_are_accepted(predictions):
    values = np.zeros([2_000_000], np.float32)
    response = predictions.Predict(request({"x": values}, signature="scalar"))
    assert list(response.outputs["mean"].float_val) == [0.0]


def broken(**fields):
    return tensor_pb2.TensorProto(**fields)


def shaped(*sizes):
    return tf.TensorShape(sizes).as_proto()


def negative():
    shape = shaped(1)
    shape.dim[0].size = -1
    return shape


SIZES = "input size does not match signature: "
ERRORS = [
    (request(name="no"), "NOT_FOUND", "Servable not found for request: Latest(no)"),
    (request(version=99), "NOT_FOUND", "Servable not found for request: Specific(toy, 99)"),
    (request(label="stable"), "INVALID_ARGUMENT", "Unrecognized servable version label: stable"),
    (predict_pb2.PredictRequest(), "INVALID_ARGUMENT", "Missing ModelSpec"),
    (request(name=""), "INVALID_ARGUMENT", "ModelSpec has no name specified."),
    (request(signature="s"), "FAILED_PRECONDITION", 'Serving signature key "s" not found.'),
    (request(signature="__saved_model_init_op"), "INVALID_ARGUMENT", SIZES + "1!=0 len({text}) != len({})."),
    (request({}, signature="__saved_model_init_op"), "NOT_FOUND", "FetchOutputs NoOp: not found"),
    (
        request({}),
        "INVALID_ARGUMENT",
        SIZES + "0!=1 len({}) != len({text}). Sent extra: {}. Missing but required: {text}.",
    ),
    (
        request({"text": ["a"], "more": [1]}),
        "INVALID_ARGUMENT",
        SIZES + "2!=1 len({more,text}) != len({text}). Sent extra: {more}. Missing but required: {}.",
    ),
    (
        request({"no": ["a"]}),
        "INVALID_ARGUMENT",
        "Signature input alias: text(feed name: serving_default_text:0) not found in request and no default value "
        "provided. Inputs expected to be in the request {no}, or default input alias set: ",
    ),
    (  # rejected by its name, before memory is allocated for the shape
        request({"no": broken(dtype=1, tensor_shape=shaped(10**13), float_val=[1])}),
        "INVALID_ARGUMENT",
        "Signature input alias: text(feed name: serving_default_text:0) not found in request",
    ),
    (request({"text": [1.0]}), "INVALID_ARGUMENT", "to be string but float is provided"),
    (request({"x": ["a"]}, signature="single"), "INVALID_ARGUMENT", "to be float but string is provided"),
    (request({"text": broken(dtype=1, tensor_shape=shaped(2), tensor_content=b"1")}), "INVALID_ARGUMENT", "parsing"),
    (request({"text": broken(dtype=7, tensor_shape=negative(), string_val=[b"a"])}), "INVALID_ARGUMENT", "parsing"),
    (request({"text": broken()}), "INVALID_ARGUMENT", "tensor parsing error: text"),
    (
        request(outputs=["no"]),
        "INVALID_ARGUMENT",
        "output tensor alias not found in signature: no Outputs expected to be in the set {raw_bytes,score,",
    ),
    (request(outputs=["score", "score"]), "INVALID_ARGUMENT", "duplicate output tensor alias: score"),
    (
        request({"text": ["x" * 100_000]}),
        "INVALID_ARGUMENT",
        "assertion failed: [text: expected at most 64 symbols, received] [100000]",
    ),
]


@pytest.mark.parametrize(("message", "code", "details"), ERRORS)
def test_predict_errors(predictions, server, message, code, details):
    received, text = refusal(predictions.Predict, message)
    assert received == code
    assert details in text
    for secret in ("node", "Traceback", ".py", "__inference", str(server.config.model_base_path)):
        assert secret not in text


def test_long_messages_are_cut(predictions):
    code, text = refusal(predictions.Predict, request(name="n" * 3000))
    assert code == "NOT_FOUND"
    assert len(text) == 1024 + len("...TRUNCATED")
    assert text.endswith("...TRUNCATED")


def metadata_request(*fields, name="toy"):
    message = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=fields)
    message.model_spec.name = name
    return message


def test_metadata_is_what_was_exported(predictions, server):
    response = predictions.GetModelMetadata(metadata_request("signature_def"))
    assert (response.model_spec.name, response.model_spec.version.value) == ("toy", 1)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(signatures)
    served = server.repository.get("toy").signature_defs
    assert {name: str(signature) for name, signature in signatures.signature_def.items()} == {
        name: str(signature) for name, signature in served.items()
    }
    assert "__saved_model_init_op" in signatures.signature_def
    assert signatures.signature_def["scale"].inputs["k"].dtype == tf.int32.as_datatype_enum


@pytest.mark.parametrize(
    ("message", "code", "details"),
    [
        (get_model_metadata_pb2.GetModelMetadataRequest(), "INVALID_ARGUMENT", "Missing ModelSpec"),
        (metadata_request(), "INVALID_ARGUMENT", "must specify at least one metadata_field"),
        (metadata_request("other"), "INVALID_ARGUMENT", "Metadata field other is not supported"),
        (metadata_request("signature_def", name="no"), "NOT_FOUND", "Latest(no)"),
    ],
)
def test_metadata_errors(predictions, message, code, details):
    received, text = refusal(predictions.GetModelMetadata, message)
    assert received == code
    assert details in text


def test_model_status_and_its_errors(models):
    message = get_model_status_pb2.GetModelStatusRequest()
    assert refusal(models.GetModelStatus, message) == ("INVALID_ARGUMENT", "Missing ModelSpec")
    message.model_spec.name = "toy"
    (entry,) = models.GetModelStatus(message).model_version_status
    assert (entry.version, entry.state, entry.status.error_code) == (1, entry.AVAILABLE, 0)
    message.model_spec.version.value = 99
    assert refusal(models.GetModelStatus, message) == ("NOT_FOUND", "Could not find version 99 of model toy")


def test_what_tf_serving_does_not_register_is_unimplemented(channel):
    method = channel.unary_unary("/tensorflow.serving.SessionService/SessionRun")
    with pytest.raises(grpc.RpcError) as raised:
        method(b"", timeout=20)
    assert raised.value.code().name == "UNIMPLEMENTED"


def test_an_output_that_is_one_string(predictions):
    response = predictions.Predict(request({"text": ["a\0", "b"]}, signature="joined"))
    assert list(response.outputs["all"].string_val) == [b"a\0b"]
    assert len(response.outputs["all"].tensor_shape.dim) == 0
    assert tf.make_ndarray(response.outputs["count"]).tolist() == 2


def test_the_client_s_deadline_reaches_the_model(predictions, server, monkeypatch):
    servable, seen = server.repository.get("toy"), []
    run = servable.predict
    monkeypatch.setattr(servable, "quick_run", lambda *_: None)  # earlier tests may have made it known as fast
    monkeypatch.setattr(servable, "predict", lambda *arguments: seen.append(arguments[3]) or run(*arguments))
    predictions.Predict(request(), timeout=20)
    predictions.Predict(request())
    limit, none = seen
    assert 10 < limit < 25
    assert none is None


@pytest.fixture
def managed(exports, tmp_path):
    """The stubs of a server that starts with version 1 of `toy`, and the folder of its repository."""
    install(exports / "1", tmp_path / "toy", 1)
    install(exports / "2", tmp_path / "toy", 2)
    policy = VersionPolicy(specific=frozenset({1}))
    repository = ModelRepository(
        lambda: {"toy": ModelConfig("toy", tmp_path / "toy", policy)}, load_saved_model, poll_seconds=0
    )
    repository.start()
    with apis(repository, Metrics()) as (_, address), grpc.insecure_channel(address) as channel:
        predictions = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        yield predictions, model_service_pb2_grpc.ModelServiceStub(channel), tmp_path


def reload_request(*entries, metrics=()):
    message = model_management_pb2.ReloadConfigRequest(metric_names=metrics)
    message.config.model_config_list.SetInParent()
    for name, path, labels in entries:
        entry = message.config.model_config_list.config.add(
            name=name, base_path=str(path), model_platform="tensorflow", version_labels=labels
        )
        entry.model_version_policy.all.SetInParent()
    return message


def test_a_config_is_reloaded_and_its_labels_serve(managed):
    predictions, models, folder = managed
    assert predictions.Predict(request()).model_spec.version.value == 1
    count = "/tensorflow/serving/request_count"
    message = reload_request(("toy", folder / "toy", {"stable": 1, "canary": 2}), metrics=[count, "/no/such"])
    response = models.HandleReloadConfigRequest(message, timeout=60)
    assert response.HasField("status")
    assert (response.status.error_code, response.status.error_message) == (0, "")
    assert {metric.name: metric.int64_value_increase for metric in response.metric} == {count: 0, "/no/such": 0}
    assert predictions.Predict(request()).model_spec.version.value == 2
    assert predictions.Predict(request(label="stable")).model_spec.version.value == 1
    assert predictions.Predict(request(label="canary")).model_spec.version.value == 2
    assert predictions.GetModelMetadata(metadata_request("signature_def")).model_spec.version.value == 2


def test_a_config_that_cannot_be_served_is_an_error_of_the_call(managed):
    predictions, models, folder = managed
    assert refusal(models.HandleReloadConfigRequest, model_management_pb2.ReloadConfigRequest()) == (
        "INVALID_ARGUMENT",
        "ServerModelConfig type not supported by HandleReloadConfigRequest."
        " Only ModelConfigList is currently supported",
    )
    code, details = refusal(models.HandleReloadConfigRequest, reload_request(("toy", "relative", {})))
    assert code == "INVALID_ARGUMENT"
    assert "Expected model toy to have an absolute path or URI; got base_path()=relative" in details
    code, _ = refusal(models.HandleReloadConfigRequest, reload_request(("toy", folder / "toy", {"next": 9})))
    assert code == "FAILED_PRECONDITION"
    assert predictions.Predict(request(), timeout=20).model_spec.name == "toy"
