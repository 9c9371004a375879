"""Random bodies and messages built from the words of the API, and requests with them to a server."""

import gzip
import json
import math
from collections import Counter

import faults
import numpy as np
from faults import SECRETS, Wire, check_error, http, predict_request, rest_address
from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import model_pb2, predict_pb2


def fuzzed(examples):
    """Make a test use the same examples in every run."""
    return settings(
        max_examples=examples, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )


SIGNATURES = ["serving_default", "scale", "single", "scalar", "joined", "uneven", "half", "__saved_model_init_op"]
KEYS = st.sampled_from(["signature_name", "instances", "inputs", "examples", "context", "b64", "text", "x", "k"])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["", "YQ==", "a", *SIGNATURES]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "signature_name": st.sampled_from(SIGNATURES) | VALUES,
        "instances": st.lists(VALUES, max_size=4) | VALUES,
        "inputs": st.dictionaries(KEYS, VALUES, max_size=3) | VALUES,
        "examples": st.lists(st.dictionaries(KEYS, VALUES, max_size=3), max_size=3) | VALUES,
        "context": VALUES,
        "other": VALUES,
    },
)
VALID = [
    b'{"instances": ["ab", {"b64": "YQ=="}]}',
    b'{"signature_name": "scale", "instances": [{"x": [1, 2.5], "k": 2}, {"x": [0, -1e3], "k": -7}]}',
    b'{"signature_name": "scale", "inputs": {"x": [[1, 2], [3, 4]], "k": [1, 2]}}',
    b'{"signature_name": "single", "inputs": [NaN, Infinity, 1e39, 3]}',
    b'{"context": {"a": ["b"]}, "examples": [{"x": [1.0, 2.0], "name": {"b64": "YQ=="}, "n": 3}]}',
]


@st.composite
def nearly_valid(draw):
    """Draw a valid document with one value replaced."""
    document = json.loads(draw(st.sampled_from(VALID)))
    place, key = document, draw(st.sampled_from(sorted(document)))
    while place[key] and isinstance(place[key], (dict, list)) and draw(st.integers(0, 3)):
        place = place[key]
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
    place[key] = draw(st.sampled_from([place[key], "a", 1, 0.5]) | VALUES)
    return json.dumps(document).encode()


@st.composite
def mutated(draw, valid):
    """Draw a valid message with some bytes changed, duplicated, deleted or inserted."""
    message = bytearray(draw(valid))
    for _ in range(draw(st.integers(1, 6))):
        start = draw(st.integers(0, len(message)))
        end = min(start + draw(st.integers(0, 8)), len(message))
        message[start:end] = draw(st.binary(max_size=8) | st.just(bytes(message[start:end]) * 2) | st.just(b"[" * 50))
    return bytes(message)


PLAIN = st.one_of(
    nearly_valid(),
    DOCUMENTS.map(lambda document: json.dumps(document).encode()),
    mutated(st.sampled_from(VALID)),
    st.binary(max_size=60),
)
PACKED = PLAIN.map(gzip.compress)
BODIES = st.one_of(
    st.tuples(PLAIN, st.just("")),
    st.tuples(PACKED | mutated(PACKED) | st.binary(max_size=60), st.just("Content-Encoding: gzip\r\n")),
)
PATHS = st.sampled_from(
    ["/v1/models/toy:predict"] * 5
    + [f"/v1/models/{name}:{api}" for name in ("toy", "examples") for api in ("classify", "regress")]
)


def fuzz_rest(server, examples):
    """Post bodies to every API and check that all errors are client errors."""
    counts = Counter()

    @fuzzed(examples)
    @given(BODIES, PATHS)
    def ask(body, path):
        raw, more = body
        with Wire(rest_address(server)) as wire:
            status, text = wire.ask(http(raw, path, more=more))
        counts[status] += 1
        assert status in (200, 400, 404, 501), text
        if status != 200 and not SECRETS.search(raw.decode("utf-8", "replace")):  # errors quote the body
            check_error(json.loads(text)["error"])

    ask()
    print(f"bodies by REST: {dict(counts)}")
    assert counts[200] > 20  # not all requests are rejected early


MESSAGES = st.sampled_from(
    [
        predict_request("toy", {"text": ["ab", "c"]}),
        predict_request("toy", {"x": np.float32([[1, 2]]), "k": np.int32([3])}, "scale"),
        predict_request("toy", {"x": np.float32([1, 2, 3])}, "single"),
        predict_request("toy", {"x": np.float16([1])}, "half"),
    ]
)
SERIALIZE = predict_pb2.PredictRequest.SerializeToString
OUT_OF_RANGE = predict_request("toy", {"text": ["a"]})
OUT_OF_RANGE.inputs["text"].CopyFrom(tensor_pb2.TensorProto(dtype=types_pb2.DT_UINT16, int_val=[-1]))
MOST_ELEMENTS = 10**6  # a few bytes may request a tensor of any size, which TF Serving creates too

SMALL = st.integers(-3, 3)
TENSORS = st.fixed_dictionaries(
    {"dtype": st.sampled_from([0, 1, 3, 7, 19, 20, 21, 99]) | st.integers(0, 130)},
    optional={
        "tensor_shape": st.builds(
            lambda sizes, unknown: {"dim": [{"size": size} for size in sizes], "unknown_rank": unknown},
            st.lists(SMALL | st.integers(-(2**63), 2**63 - 1), max_size=3),
            st.booleans(),
        ),
        "tensor_content": st.binary(max_size=16),
        "float_val": st.lists(st.floats(width=32), max_size=4),
        "int_val": st.lists(SMALL | st.integers(-(2**31), 2**31 - 1), max_size=4),
        "string_val": st.lists(st.binary(max_size=4), max_size=4),
        "half_val": st.lists(st.integers(-5, 70_000), max_size=4),
        "version_number": SMALL,
    },
)
SPECS = st.fixed_dictionaries(
    {"name": st.sampled_from(["toy"] * 8 + ["", "examples", "no", "\0"])},
    optional={"signature_name": st.sampled_from(SIGNATURES), "version": st.builds(dict, value=SMALL)},
)


@st.composite
def messages(draw):
    """Draw a valid request with a part replaced by invalid but well-formed values."""
    message = predict_pb2.PredictRequest()
    message.CopyFrom(draw(MESSAGES))
    if draw(st.booleans()):
        message.inputs[draw(KEYS)].CopyFrom(tensor_pb2.TensorProto(**draw(TENSORS)))
    if draw(st.booleans()):
        message.model_spec.MergeFrom(model_pb2.ModelSpec(**draw(SPECS)))
    message.output_filter.extend(draw(st.lists(st.sampled_from(["upper", "y", "k_out", "no", ""]), max_size=2)))
    return message


def fuzz_grpc(server, examples):
    """Send messages to Predict and check that all errors are client errors."""
    counts = Counter()
    with faults.channel(server) as channel:
        predict = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")

        @fuzzed(examples)
        @example(SERIALIZE(OUT_OF_RANGE))
        @given(messages().map(SERIALIZE) | mutated(MESSAGES.map(SERIALIZE)) | messages().map(SERIALIZE))
        def ask(message):
            try:
                inputs = predict_pb2.PredictRequest.FromString(message).inputs.values()
                readable = True
                assume(all(math.prod(dim.size for dim in proto.tensor_shape.dim) < MOST_ELEMENTS for proto in inputs))
            except DecodeError:
                readable = False
            call = predict.future(message, timeout=30)
            code, details = call.code().name, call.details()
            counts[code] += 1
            check_error(details)
            if readable:
                assert code not in ("INTERNAL", "UNKNOWN"), details
            else:  # as from any gRPC server; but the two copies of the messages do not reject the same damaged entries
                assert code != "UNKNOWN", details
                assert code != "INTERNAL" or details == "Exception deserializing request!"

        ask()
    print(f"messages by gRPC: {dict(counts)}")
    assert counts["OK"] > 10
    assert counts["INVALID_ARGUMENT"] > 50
