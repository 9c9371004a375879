"""PredictionService and ModelService with the official stubs: requests and the expected responses or errors.

`predict("toy", {"text": ["ab"]}, version=1)` is a PredictRequest with that ModelSpec and those input tensors.
"""

import pytest
import tensorflow as tf
from conformance.calls import fill, like, named, predict, refusal, values
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow.core.framework import tensor_pb2
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2, predict_pb2

READINGS = {"tag": ["foo"], "signal": [[1, 2, 3, 4, 5]], "sensor": [[[1.0, 2.0], [3.0, 4.0]]]}

ANSWERED = [  # name | request | outputs | version and signature in the response
    ("the docs' model", predict("half_plus_two", {"x": [1.0, 2.0, 5.0]}), {"y": [2.5, 3.0, 4.5]}, (123, "")),
    ("by version", predict("half_plus_two", {"x": [1.0]}, version=123), {"y": [2.5]}, (123, "")),
    ("by label", predict("half_plus_two", {"x": [1.0]}, label="stable"), {"y": [2.5]}, (123, "")),
    ("one value", predict("half_plus_two", {"x": 1.0}), {"y": 2.5}, (123, "")),
    ("no rows", predict("half_plus_two", {"x": tf.zeros([0]).numpy()}), {"y": []}, (123, "")),
    ("three inputs", predict("readings", READINGS), {"name": [b"FOO"], "total": [25.0]}, (1, "")),
    (
        "by signature",
        predict("toy", {"x": [[1.0, 2.0]], "k": [3]}, signature="scale"),
        {"y": [[3.0, 6.0]], "k_out": [3]},
        (2, "scale"),
    ),
    (
        "some outputs",
        predict("toy", {"text": ["ab"]}, outputs=["upper", "version"]),
        {"upper": [b"AB"], "version": [2]},
        (2, ""),
    ),
    ("stable is 1", predict("toy", {"text": ["a"]}, label="stable", outputs=["version"]), {"version": [1]}, (1, "")),
    ("canary is 2", predict("toy", {"text": ["a"]}, label="canary", outputs=["version"]), {"version": [2]}, (2, "")),
    ("any bytes", predict("toy", {"text": [b"\xff\0"]}, outputs=["raw_bytes"]), {"raw_bytes": [b"\xff\0"]}, (2, "")),
    (
        "outputs of no shape",
        predict("toy", {"text": ["a", "b"]}, signature="joined"),
        {"all": b"ab", "count": 2},
        (2, "joined"),
    ),
    ("half", predict("types", {"x": tf.constant([0.5], tf.half).numpy()}, signature="half"), {"y": [0.5]}, (1, "half")),
    (
        "a shape that only the graph could refuse",
        predict("toy", {"x": [[1.0, 2.0, 3.0]], "k": [2]}, signature="scale", outputs=["y"]),
        {"y": [[2.0, 4.0, 6.0]]},
        (2, "scale"),
    ),
]


@pytest.mark.parametrize(("request_", "outputs", "told"), named(ANSWERED))
def test_predict(stubs, request_, outputs, told):
    response = stubs.predictions.Predict(request_, timeout=30)
    assert {alias: values(proto) for alias, proto in response.outputs.items()} == outputs
    version, signature = told
    spec = response.model_spec
    assert (spec.name, spec.version.value) == (request_.model_spec.name, version)
    assert spec.signature_name == (signature or "serving_default")


FIELDS = [  # outputs are in the typed field of a TensorProto: signature of `types` | values | field
    ("bool", [True, False], "bool_val"),
    ("string", ["a", "b"], "string_val"),
    ("int8", [1, 2], "int_val"),
    ("int32", [1, 2], "int_val"),
    ("uint32", [1, 2], "uint32_val"),
    ("int64", [1, 2], "int64_val"),
    ("uint64", [1, 2], "uint64_val"),
    ("float", [0.5, 1.5], "float_val"),
    ("double", [0.5, 1.5], "double_val"),
    ("half", [0.5, 1.5], "half_val"),
]


@pytest.mark.parametrize(("signature", "given", "field"), FIELDS)
def test_typed_fields(stubs, signature, given, field):
    sent = tf.make_tensor_proto(given, tf.float32 if signature == "float" else getattr(tf, signature))
    response = stubs.predictions.Predict(predict("types", {"x": sent}, signature=signature), timeout=30)
    proto = response.outputs["y"]
    assert (proto.dtype, len(getattr(proto, field)), proto.tensor_content) == (sent.dtype, 2, b"")


def tensor(dtype, sizes, **fields):
    return tensor_pb2.TensorProto(dtype=dtype, tensor_shape=tf.TensorShape(sizes).as_proto(), **fields)


X = {"x": [1.0]}
REFUSED = [  # name | request | code | message
    ("no ModelSpec", predict_pb2.PredictRequest(), "INVALID_ARGUMENT", "Missing ModelSpec"),
    ("no name", predict("", X, signature="s"), "INVALID_ARGUMENT", "ModelSpec has no name specified."),
    ("an unknown model", predict("half", X), "NOT_FOUND", "Servable not found for request: Latest(half)"),
    (
        "an unknown version",
        predict("toy", X, version=99),
        "NOT_FOUND",
        "Servable not found for request: Specific(toy, 99)",
    ),
    ("version 0", predict("toy", X, version=0), "NOT_FOUND", "Servable not found for request: Specific(toy, 0)"),
    ("an unknown label", predict("toy", X, label="no"), "INVALID_ARGUMENT", "Unrecognized servable version label: no"),
    (
        "an unknown signature",
        predict("half_plus_two", X, signature="no"),
        "FAILED_PRECONDITION",
        'Serving signature key "no" not found.',
    ),
    (
        "no inputs",
        predict("half_plus_two", {}),
        "INVALID_ARGUMENT",
        "input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. Missing but required: {x}.",
    ),
    (
        "an input too many",
        predict("half_plus_two", {"x": [1.0], "z": [1.0]}),
        "INVALID_ARGUMENT",
        "input size does not match signature: 2!=1 len({x,z}) != len({x}). Sent extra: {z}. Missing but required: {}.",
    ),
    (
        "another input",
        predict("half_plus_two", {"z": [1.0]}),
        "INVALID_ARGUMENT",
        "Signature input alias: x(feed name: ...) not found in request and no default value provided. "
        "Inputs expected to be in the request {z}, or default input alias set: ",
    ),
    (
        "an unknown output",
        predict("half_plus_two", X, outputs=["z"]),
        "INVALID_ARGUMENT",
        "output tensor alias not found in signature: z Outputs expected to be in the set {y}.",
    ),
    (
        "an output twice",
        predict("half_plus_two", X, outputs=["y", "y"]),
        "INVALID_ARGUMENT",
        "duplicate output tensor alias: y",
    ),
    # The runtime refers to the argument with its own message.
    (
        "strings for floats",
        predict("half_plus_two", {"x": ["a"]}),
        "INVALID_ARGUMENT",
        "...to be float but string is provided...",
    ),
    (
        "integers for floats",
        predict("half_plus_two", {"x": [1]}),
        "INVALID_ARGUMENT",
        "...to be float but int32 is provided...",
    ),
    (
        "values that do not fill a shape",
        predict("half_plus_two", {"x": tensor(1, [3], tensor_content=b"1234")}),
        "INVALID_ARGUMENT",
        "tensor parsing error: x",
    ),
    ("no type", predict("half_plus_two", {"x": tensor(0, [1])}), "INVALID_ARGUMENT", "tensor parsing error: x"),
    (
        "the model's own words",
        predict("toy", {"text": ["x" * 65]}),
        "INVALID_ARGUMENT",
        "...assertion failed: [text: expected at most 64 symbols, received] [65]...",
    ),
    (
        "a long message is cut",
        predict("n" * 2000, X),
        "NOT_FOUND",
        "Servable not found for request: Latest(n...n...TRUNCATED",
    ),
]


@pytest.mark.parametrize(("request_", "code", "message"), named(REFUSED))
def test_predict_refuses(stubs, request_, code, message):
    received, text = refusal(stubs.predictions.Predict, request_)
    assert (received, like(message, text)) == (code, True), text
    assert len(text) <= 1024 + len("...TRUNCATED")


def metadata(*fields, **spec):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=fields)
    fill(request.model_spec, **spec)
    return request


@pytest.mark.parametrize(
    ("spec", "version"),
    [({}, 2), ({"version": 1}, 1), ({"label": "stable"}, 1), ({"label": "canary"}, 2)],
    ids=["newest", "by version", "stable", "canary"],
)
def test_metadata(stubs, spec, version):
    response = stubs.predictions.GetModelMetadata(metadata("signature_def", model="toy", **spec), timeout=30)
    assert (response.model_spec.name, response.model_spec.version.value) == ("toy", version)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    inputs = {alias: info.dtype for alias, info in signatures.signature_def["scale"].inputs.items()}
    assert inputs == {"x": tf.float32.as_datatype_enum, "k": tf.int32.as_datatype_enum}


METADATA_REFUSED = [  # name | request | code | message
    ("no ModelSpec", metadata("signature_def"), "INVALID_ARGUMENT", "Missing ModelSpec"),
    (
        "no field",
        metadata(model="toy"),
        "INVALID_ARGUMENT",
        "GetModelMetadataRequest must specify at least one metadata_field",
    ),
    ("another field", metadata("no", model="toy"), "INVALID_ARGUMENT", "Metadata field no is not supported"),
    (
        "an unknown model",
        metadata("signature_def", model="no"),
        "NOT_FOUND",
        "Servable not found for request: Latest(no)",
    ),
    (
        "an unknown version",
        metadata("signature_def", model="toy", version=99),
        "NOT_FOUND",
        "Servable not found for request: Specific(toy, 99)",
    ),
    (
        "an unknown label",
        metadata("signature_def", model="toy", label="no"),
        "INVALID_ARGUMENT",
        "Unrecognized servable version label: no",
    ),
]


@pytest.mark.parametrize(("request_", "code", "message"), named(METADATA_REFUSED))
def test_metadata_refuses(stubs, request_, code, message):
    assert refusal(stubs.predictions.GetModelMetadata, request_) == (code, message)


def status(**spec):
    request = get_model_status_pb2.GetModelStatusRequest()
    fill(request.model_spec, **spec)
    return request


@pytest.mark.parametrize(
    ("request_", "versions"),
    [(status(model="toy"), [2, 1]), (status(model="toy", version=1), [1]), (status(model="half_plus_two"), [123])],
    ids=["all versions, newest first", "one version", "the docs' model"],
)
def test_status(stubs, request_, versions):
    told = stubs.models.GetModelStatus(request_, timeout=30).model_version_status
    assert [entry.version for entry in told] == versions
    assert {(entry.state, entry.status.error_code, entry.status.error_message) for entry in told} == {(30, 0, "")}


STATUS_REFUSED = [  # name | request | code | message
    ("no ModelSpec", status(), "INVALID_ARGUMENT", "Missing ModelSpec"),
    ("an unknown model", status(model="no"), "NOT_FOUND", "Could not find any versions of model no"),
    ("an unknown version", status(model="toy", version=99), "NOT_FOUND", "Could not find version 99 of model toy"),
]


@pytest.mark.parametrize(("request_", "code", "message"), named(STATUS_REFUSED))
def test_status_refuses(stubs, request_, code, message):
    assert refusal(stubs.models.GetModelStatus, request_) == (code, message)


def test_session_service_is_not_there(stubs):
    """Its proto is public, but TF Serving does not register the service."""
    method = stubs.channel.unary_unary("/tensorflow.serving.SessionService/SessionRun")
    assert refusal(method, b"")[0] == "UNIMPLEMENTED"


def test_a_request_may_be_larger_than_4_mb(stubs):
    request = predict("toy", {"x": tf.ones([2_000_000]).numpy()}, signature="scalar")
    response = stubs.predictions.Predict(request, timeout=30)
    assert values(response.outputs["mean"]) == 1.0


@pytest.mark.parametrize("service", ["ModelService", "PredictionService"])  # --enable_grpc_healthcheck_service
def test_health(stubs, service):
    health = health_pb2_grpc.HealthStub(stubs.channel)
    answer = health.Check(health_pb2.HealthCheckRequest(service=service), timeout=30)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_health_of_an_unknown_service(stubs):
    health = health_pb2_grpc.HealthStub(stubs.channel)
    assert refusal(health.Check, health_pb2.HealthCheckRequest(service="no"))[0] == "NOT_FOUND"
