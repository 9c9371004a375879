"""The gRPC client against a server that is made of the official protos and stubs."""

import contextlib
from concurrent import futures

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from seqattn_tf.serving.client import connect
from seqattn_tf.serving.errors import ServingError


class Predictions(prediction_service_pb2_grpc.PredictionServiceServicer):
    """A model that returns its inputs, and records the model specifications."""

    def __init__(self):
        self.specs = []

    def Predict(self, request, context):
        self.specs.append(request.model_spec)
        arrays = {alias: tf.make_ndarray(proto) for alias, proto in request.inputs.items()}
        response = predict_pb2.PredictResponse(model_spec=request.model_spec)
        for alias, array in arrays.items():
            response.outputs[alias].CopyFrom(tf.make_tensor_proto(array))
        return response

    def GetModelMetadata(self, request, context):
        assert list(request.metadata_field) == ["signature_def"]
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for name, dtype in (("text", tf.string), ("ids", tf.int64), ("weights", tf.float32), ("half", tf.bfloat16)):
            info = signatures.signature_def["serving_default"].inputs[name]
            info.dtype = dtype.as_datatype_enum
        response = get_model_metadata_pb2.GetModelMetadataResponse(model_spec=request.model_spec)
        response.metadata["signature_def"].Pack(signatures)
        return response


class Models(model_service_pb2_grpc.ModelServiceServicer):
    def GetModelStatus(self, request, context):
        response = get_model_status_pb2.GetModelStatusResponse()
        response.model_version_status.add(version=7, state=get_model_status_pb2.ModelVersionStatus.AVAILABLE)
        return response


@pytest.fixture
def server():
    predictions = Predictions()
    alone = [("grpc.so_reuseport", 0)]  # otherwise another server, of another worker, may get the same port
    server = grpc.server(futures.ThreadPoolExecutor(2), options=alone)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(predictions, server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(Models(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with contextlib.closing(connect(f"grpc://127.0.0.1:{port}")) as client:
        yield client, predictions
    server.stop(0)


def test_values_arrive_and_return_in_the_dtypes_of_the_signature(server):
    """Catches a message that only our own server understands, and a list that becomes another dtype."""
    client, predictions = server
    sent = {
        "text": ["a", b"\xff", "é"],
        "ids": [[1, 2], [3, 2**40]],
        "weights": [1, 2.5, True],
        "half": [1.5],
        "other": [1, 2],
    }
    found = client.predict("m", sent, version=3, signature_name="serving_default")
    assert {name: (array.dtype.name, array.tolist()) for name, array in found.items()} == {
        "text": ("object", ["a", "\ufffd", "é"]),
        "ids": ("int64", [[1, 2], [3, 2**40]]),
        "weights": ("float32", [1.0, 2.5, 1.0]),
        "half": ("bfloat16", [1.5]),
        "other": ("int32", [1, 2]),
    }
    (spec,) = predictions.specs
    assert (spec.name, spec.version.value, spec.signature_name) == ("m", 3, "serving_default")
    client.predict("m", {"other": np.float64([0.5])}, label="stable")
    assert predictions.specs[-1].version_label == "stable"
    assert client.status("m")["model_version_status"][0]["version"] == "7"
    assert client.inputs("m") == ["half", "ids", "text", "weights"]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"ids": [1.5]}, r"ids: expected a rectangular array of int64\. Received: an array of float64"),
        ({"ids": [2**70]}, r"ids: expected a rectangular array of int64\. Received: "),
        ({"ids": [[1], [2, 3]]}, r"ids: expected a rectangular array of int64\. Received: "),
        ({"weights": ["a"]}, r"weights: expected a rectangular array of float32\. Received: an array of <U1"),
        ({"text": [1]}, r"text: expected a rectangular array of string\. Received: 1"),
        ({"text": [["a"], ["b", "c"]]}, r"text: expected a rectangular array of string\. Received: \['a'\]"),
        ({"other": [1, "a"]}, r"other: expected a rectangular array of a single type\. Received: 1"),
    ],
)
def test_values_that_do_not_fit_are_refused_before_they_are_sent(server, inputs, message):
    client, predictions = server
    with pytest.raises(ServingError, match=message):
        client.predict("m", inputs)
    assert predictions.specs == []
