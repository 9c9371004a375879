"""The same calls with five clients, whose results must be equal to the expected ones.

stubs        the official stubs of tensorflow-serving-api
ovms-grpc    ovmsclient of OpenVINO, which was made for another server with the same API
ovms-http    the same with REST
ours-grpc    `connect` with gRPC
ours-http    `connect` with REST

ovmsclient supports neither signature names nor labels, and always sends a version: its 0, which means the newest, is
version 0 for TF Serving. With HTTP, it expects metadata with keys in camel case, which TF Serving does not use, and
otherwise returns the document unchanged; bytes are returned in base64.
"""

import base64

import ovmsclient
import pytest
from conformance.calls import fill, named, predict, values
from grpc import RpcError
from ovmsclient.tfs_compat.base import errors as ovms_errors
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from seqattn_tf.serving.client import connect
from seqattn_tf.serving.errors import ServingError

TOY = 2  # the newest version of `toy`, for the clients that always query the newest


class Refused(Exception):
    """An error of any client, with the code and message of the server."""


class Official:
    def __init__(self, target, stubs):
        self._stubs = stubs

    def predict(self, model, inputs, version):
        response = _code(lambda: self._stubs.predictions.Predict(predict(model, inputs, version=version), timeout=30))
        return {alias: values(proto) for alias, proto in response.outputs.items()}

    def status(self, model, version):
        request = get_model_status_pb2.GetModelStatusRequest()
        fill(request.model_spec, model, version=version)
        told = _code(lambda: self._stubs.models.GetModelStatus(request, timeout=30)).model_version_status
        return {entry.version: type(entry).State.Name(entry.state) for entry in told}

    def metadata(self, model, version):
        request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
        fill(request.model_spec, model, version=version)
        response = _code(lambda: self._stubs.predictions.GetModelMetadata(request, timeout=30))
        signatures = get_model_metadata_pb2.SignatureDefMap()
        response.metadata["signature_def"].Unpack(signatures)
        inputs = signatures.signature_def["serving_default"].inputs
        shapes = {alias: [dim.size for dim in info.tensor_shape.dim] for alias, info in inputs.items()}
        return response.model_spec.version.value, shapes


class Ovms:
    def __init__(self, client):
        self._client = client

    def predict(self, model, inputs, version):
        outputs = _code(lambda: self._client.predict(inputs, model, version))
        return outputs if isinstance(outputs, dict) else {"y": outputs}  # a single output has no name

    def status(self, model, version):
        told = _code(lambda: self._client.get_model_status(model, version))
        return {number: entry["state"] for number, entry in told.items()}


class OvmsGrpc(Ovms):
    def __init__(self, target, stubs):
        super().__init__(ovmsclient.make_grpc_client(target.grpc_address))

    def metadata(self, model, version):
        told = _code(lambda: self._client.get_model_metadata(model, version))
        return told["model_version"], {alias: info["shape"] for alias, info in told["inputs"].items()}


class OvmsHttp(Ovms):
    def __init__(self, target, stubs):
        super().__init__(ovmsclient.make_http_client(target.rest_url.removeprefix("http://")))

    def metadata(self, model, version):
        return _told(_code(lambda: self._client.get_model_metadata(model, version)))


class Ours:
    def __init__(self, url):
        self._client = connect(url, timeout=30)

    def predict(self, model, inputs, version):
        return _code(lambda: self._client.predict(model, inputs, version))

    def status(self, model, version):
        told = _code(lambda: self._client.status(model))["model_version_status"]
        states = {int(entry["version"]): entry["state"] for entry in told}
        return {version: states[version]}

    def metadata(self, model, version):
        return _told(_code(lambda: self._client.metadata(model)))


class OursGrpc(Ours):
    def __init__(self, target, stubs):
        super().__init__(f"grpc://{target.grpc_address}")


class OursHttp(Ours):
    def __init__(self, target, stubs):
        super().__init__(target.rest_url)


CLIENTS = {
    "stubs": Official,
    "ovms-grpc": OvmsGrpc,
    "ovms-http": OvmsHttp,
    "ours-grpc": OursGrpc,
    "ours-http": OursHttp,
}


@pytest.fixture(scope="module", params=CLIENTS)
def client(request, target, stubs):
    return CLIENTS[request.param](target, stubs)


def _told(document):
    """Return the version and the shapes of the inputs, from the document of the REST API."""
    inputs = document["metadata"]["signature_def"]["signature_def"]["serving_default"]["inputs"]
    shapes = {alias: [int(dim["size"]) for dim in info["tensor_shape"]["dim"]] for alias, info in inputs.items()}
    return int(document["model_spec"]["version"]), shapes


def _code(call):
    """Convert the exceptions of all clients to `Refused`."""
    try:
        return call()
    except RpcError as failure:
        raise Refused(failure.code().name, failure.details()) from failure
    except ServingError as failure:
        raise Refused(failure.code, failure.message) from failure
    except ovms_errors.ModelServerError as failure:
        code = {"ModelNotFoundError": "NOT_FOUND", "InvalidInputError": "INVALID_ARGUMENT"}[type(failure).__name__]
        raise Refused(code, str(failure).removeprefix("Error occurred during handling the request: ")) from failure


def plain(value):
    """Convert arrays to lists, text and base64 to bytes, and round floats to seven digits: supported by all clients."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return base64.b64decode(value["b64"])
    if isinstance(value, str):
        return value.encode()
    return float(f"{value:.7g}") if isinstance(value, float) else value


READINGS = {
    "tag": ["foo", "bar"],
    "signal": [[1, 2, 3, 4, 5], [3, 4, 1, 2, 5]],
    "sensor": [[[1.0, 2.0], [3.0, 4.0]], [[4.0, 5.0], [6.0, 8.0]]],
}

PREDICTED = [  # name | model | version | inputs | outputs
    ("the docs' model", "half_plus_two", 123, {"x": [1.0, 2.0, 5.0]}, {"y": [2.5, 3.0, 4.5]}),
    (
        "text, all outputs",
        "toy",
        TOY,
        {"text": ["ab", "é"]},
        {"upper": [b"AB", "é".encode()], "score": [0.2, 0.2], "raw_bytes": [b"ab", "é".encode()], "version": [2, 2]},
    ),
    (
        "another version",
        "toy",
        1,
        {"text": ["ab"]},
        {"upper": [b"AB"], "score": [0.2], "raw_bytes": [b"ab"], "version": [1]},
    ),
    ("several inputs", "readings", 1, READINGS, {"name": [b"FOO", b"BAR"], "total": [25.0, 38.0]}),
]


@pytest.mark.parametrize(("model", "version", "inputs", "outputs"), named(PREDICTED))
def test_predict(client, model, version, inputs, outputs):
    assert {alias: plain(value) for alias, value in client.predict(model, inputs, version).items()} == outputs


@pytest.mark.parametrize(("model", "version"), [("toy", 1), ("toy", 2), ("half_plus_two", 123)])
def test_status(client, model, version):
    assert client.status(model, version) == {version: "AVAILABLE"}


@pytest.mark.parametrize(
    ("model", "version", "inputs"),
    [
        ("toy", TOY, {"text": [-1]}),
        ("readings", 1, {"tag": [-1], "signal": [-1, 5], "sensor": [-1, 2, 2]}),
    ],
)
def test_metadata(client, model, version, inputs):
    assert client.metadata(model, version) == (version, inputs)


LONG = {"text": ["x" * 65]}
REFUSED = [  # name | model | version | inputs | code | text in the messages of all clients
    ("an unknown model", "no", 1, {"x": [1.0]}, "NOT_FOUND", "Servable not found for request: Specific(no, 1)"),
    ("an unknown version", "toy", 99, LONG, "NOT_FOUND", "Servable not found for request: Specific(toy, 99)"),
    ("version 0", "toy", 0, LONG, "NOT_FOUND", "Servable not found for request: Specific(toy, 0)"),
    ("a bad input", "toy", TOY, LONG, "INVALID_ARGUMENT", "expected at most 64 symbols, received] [65]"),
    ("an input too few", "readings", 1, {"tag": ["foo"], "sensor": READINGS["sensor"]}, "INVALID_ARGUMENT", "signal"),
]


@pytest.mark.parametrize(("model", "version", "inputs", "code", "words"), named(REFUSED))
def test_refusals(client, model, version, inputs, code, words):
    with pytest.raises(Refused) as raised:
        client.predict(model, inputs, version)
    received, message = raised.value.args
    assert (received, words in message) == (code, True), message
