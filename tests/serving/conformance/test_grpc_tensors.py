"""Tensors in gRPC: valid and invalid inputs, and the format of outputs.

See predict_util.cc. Inputs are valid if TensorFlow accepts them for its own constants.
"""

import pytest
import tensorflow as tf
from conformance.calls import named, predict, refusal, values
from tensorflow.core.framework import tensor_pb2, types_pb2


def tensor(dtype, sizes, **fields):
    return tensor_pb2.TensorProto(dtype=dtype, tensor_shape=tf.TensorShape(sizes).as_proto(), **fields)


def packed(*texts):
    """Return strings in TensorFlow's packed format: the lengths, then the texts."""
    return bytes(map(len, texts)) + b"".join(texts)


SENT = [  # name | signature of `types` | tensor | values of the output
    ("bytes of floats", "float", tensor(types_pb2.DT_FLOAT, [2], tensor_content=b"\0\0\x80?\0\0\0@"), [1.0, 2.0]),
    ("one value for all", "float", tensor(types_pb2.DT_FLOAT, [3], float_val=[0.5]), [0.5, 0.5, 0.5]),
    ("the last value for the rest", "int32", tensor(types_pb2.DT_INT32, [2, 2], int_val=[1, 2]), [[1, 2], [2, 2]]),
    ("no value at all", "int64", tensor(types_pb2.DT_INT64, [2]), [0, 0]),
    ("no string at all", "string", tensor(types_pb2.DT_STRING, [2]), [b"", b""]),
    ("values too many", "int32", tensor(types_pb2.DT_INT32, [1], int_val=[1, 2]), [1]),
    ("no dimension", "float", tensor(types_pb2.DT_FLOAT, [], float_val=[1.5]), 1.5),
    ("no shape said", "float", tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[1.5]), 1.5),
    ("a rank that nobody knows", "float", tensor_pb2.TensorProto(dtype=1, tensor_shape={"unknown_rank": True}), 0.0),
    ("bytes of strings", "string", tensor(types_pb2.DT_STRING, [2], tensor_content=packed(b"ab", b"c")), [b"ab", b"c"]),
    ("a small integer that wraps", "uint8", tensor(types_pb2.DT_UINT8, [2], int_val=[300, -1]), [44, 255]),
    ("uint16", "uint16", tensor(types_pb2.DT_UINT16, [1], int_val=[65535]), [65535]),
    ("bfloat16", "bfloat16", tensor(types_pb2.DT_BFLOAT16, [1], half_val=[0x3FC0]), [1.5]),
]


@pytest.mark.parametrize(("signature", "sent", "expected"), named(SENT))
def test_what_may_be_sent(stubs, signature, sent, expected):
    response = stubs.predictions.Predict(predict("types", {"x": sent}, signature=signature), timeout=30)
    assert values(response.outputs["y"]) == expected


BROKEN = [  # name | signature | tensor
    ("bytes too few", "float", tensor(types_pb2.DT_FLOAT, [2], tensor_content=b"\0\0\x80?")),
    ("bytes too many", "float", tensor(types_pb2.DT_FLOAT, [1], tensor_content=b"\0\0\x80?\0\0\0@")),
    ("lengths that do not fit", "string", tensor(types_pb2.DT_STRING, [2], tensor_content=b"\x09\x01abc")),
    ("no dtype", "float", tensor(types_pb2.DT_INVALID, [1], float_val=[1.0])),
    ("a size that nobody knows", "float", tensor_pb2.TensorProto(dtype=1, tensor_shape={"dim": [{"size": -1}]})),
]


@pytest.mark.parametrize(("signature", "sent"), named(BROKEN))
def test_what_may_not(stubs, signature, sent):
    request = predict("types", {"x": sent}, signature=signature)
    assert refusal(stubs.predictions.Predict, request) == ("INVALID_ARGUMENT", "tensor parsing error: x")


@pytest.mark.parametrize(
    "request_",
    [
        predict("toy", {"text": ["a", "b"]}, signature="joined"),
        predict("toy", {"x": [1.0]}, signature="scalar"),
        predict("half_plus_two", {"x": 1.0}),
        predict("types", {"x": True}, signature="bool"),
    ],
    ids=["a string and an integer", "a float", "half_plus_two", "a bool"],
)
def test_outputs_without_dimensions_say_so(stubs, request_):
    for proto in stubs.predictions.Predict(request_, timeout=30).outputs.values():
        assert proto.HasField("tensor_shape")
        assert (len(proto.tensor_shape.dim), proto.tensor_shape.unknown_rank) == (0, False)


FIELDS = [  # signature of `types` | dtype | field | the value of the field for 1.5
    ("to_half", types_pb2.DT_HALF, "half_val", [0x3E00]),
    ("to_bfloat16", types_pb2.DT_BFLOAT16, "half_val", [0x3FC0]),
    ("to_uint16", types_pb2.DT_UINT16, "int_val", [1]),
]


@pytest.mark.parametrize(("signature", "dtype", "field", "stands"), FIELDS)
def test_outputs_of_small_types(stubs, signature, dtype, field, stands):
    proto = stubs.predictions.Predict(predict("types", {"x": [1.5]}, signature=signature), timeout=30).outputs["y"]
    assert (proto.dtype, list(getattr(proto, field)), proto.tensor_content) == (dtype, stands, b"")


CONTENT = [  # with --enable_serialization_as_tensor_content: name, and signature | input | bytes of the output
    ("floats", "float", tf.make_tensor_proto([1.0, 2.0]), b"\0\0\x80?\0\0\0@"),
    ("integers", "int64", tf.make_tensor_proto([1], tf.int64), b"\1\0\0\0\0\0\0\0"),
    ("truths", "bool", tf.make_tensor_proto([True, False]), b"\1\0"),
    ("strings", "string", tf.make_tensor_proto(["ab", "c"]), packed(b"ab", b"c")),
    ("bfloat16", "to_bfloat16", tf.make_tensor_proto([1.5]), b"\xc0?"),
    ("half", "to_half", tf.make_tensor_proto([1.5]), b"\0>"),
]


@pytest.mark.parametrize(("signature", "sent", "content"), named(CONTENT))
def test_outputs_as_content_where_that_is_wanted(flagged_stubs, signature, sent, content):
    response = flagged_stubs.predictions.Predict(predict("types", {"x": sent}, signature=signature), timeout=30)
    assert response.outputs["y"].tensor_content == content


def test_a_batch_needs_an_input(flagged_stubs):
    """--enable_batching: a signature without inputs has nothing to batch."""
    request = predict("counter", {}, signature="get_counter")
    message = "Batching Run() must have at least one input tensor"
    assert refusal(flagged_stubs.predictions.Predict, request) == ("INVALID_ARGUMENT", message)


def test_a_batch_needs_a_dimension(flagged_stubs):
    request = predict("types", {"x": 1.0}, signature="float")
    message = "Batching Run() input tensors must have at least one dimension"
    assert refusal(flagged_stubs.predictions.Predict, request) == ("INVALID_ARGUMENT", message)


FILTERS = [  # name | output_filter | outputs, of toy's default signature
    ("none: all of them", [], ["raw_bytes", "score", "upper", "version"]),
    ("one", ["score"], ["score"]),
    ("two, in any order", ["version", "upper"], ["upper", "version"]),
]


@pytest.mark.parametrize(("wanted", "outputs"), named(FILTERS))
def test_output_filter(stubs, wanted, outputs):
    response = stubs.predictions.Predict(predict("toy", {"text": ["a"]}, outputs=wanted), timeout=30)
    assert sorted(response.outputs) == outputs
