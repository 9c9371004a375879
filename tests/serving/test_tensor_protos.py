import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from seqattn_tf.serving.api.tensor_protos import read_tensor, to_numpy, write_tensor
from seqattn_tf.serving.errors import ServingError

SHAPES = [(), (0,), (1,), (3,), (2, 0, 3), (2, 3, 4), (40, 41)]
DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64"]
DTYPES += ["uint8", "uint16", "uint32", "uint64", "bool", "complex64", "string"]


def tensor_of(dtype, shape):
    numbers = np.random.default_rng(0).integers(0, 100, shape)
    if dtype == "string":
        return tf.strings.as_string(tf.constant(numbers)) + tf.constant(b"\xff\0")
    return tf.cast(numbers, dtype) / tf.cast(3, dtype) if "float" in dtype else tf.cast(numbers, dtype)


def values(tensor):
    return to_numpy(tensor).tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_go_out_and_come_in_unchanged(dtype):
    for shape in SHAPES:
        tensor = tensor_of(dtype, shape)
        proto = tensor_pb2.TensorProto()
        write_tensor(tensor, proto)
        back = read_tensor("x", tensor_pb2.TensorProto.FromString(proto.SerializeToString()))
        official = tf.constant(tf.make_ndarray(proto), dtype)  # what a client of TensorFlow's reads
        assert back.dtype == official.dtype == tensor.dtype
        assert back.shape == official.shape == tensor.shape
        assert values(back) == values(official) == values(tensor)


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_client_of_tensorflow_s_sends_is_read(dtype):
    for shape in SHAPES:
        tensor = tensor_of(dtype, shape)
        back = read_tensor("x", tf.make_tensor_proto(to_numpy(tensor), dtype, shape))
        assert (back.dtype, back.shape, values(back)) == (tensor.dtype, tensor.shape, values(tensor))


@pytest.mark.parametrize(
    ("dtype", "field"),
    [
        ("float32", "float_val"),
        ("float64", "double_val"),
        ("float16", "half_val"),
        ("int16", "int_val"),
        ("int64", "int64_val"),
        ("uint64", "uint64_val"),
        ("bool", "bool_val"),
        ("string", "string_val"),
    ],
)
def test_values_are_in_the_field_that_clients_of_tf_serving_read(dtype, field):
    proto = tensor_pb2.TensorProto()
    write_tensor(tensor_of(dtype, (2, 70)), proto)
    assert len(getattr(proto, field)) == 140
    assert not proto.tensor_content


def test_one_value_fills_a_shape():
    proto = tensor_pb2.TensorProto(dtype=1, float_val=[2.5])
    proto.tensor_shape.dim.add(size=3)
    assert values(read_tensor("x", proto)) == [2.5, 2.5, 2.5]


def broken(sizes, **fields):
    proto = tensor_pb2.TensorProto(**fields)
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    return proto


def unranked():
    proto = tensor_pb2.TensorProto(dtype=7, string_val=[b"a"])
    proto.tensor_shape.unknown_rank = True
    return proto


@pytest.mark.parametrize(
    "proto",
    [
        broken([2], dtype=1, float_val=[1, 2, 3]),
        broken([2], dtype=7, string_val=[b"a", b"b", b"c"]),
        broken([2], dtype=1, tensor_content=b"abc"),
        broken([-1], dtype=7, string_val=[b"a"]),
        broken([2**40], dtype=1, tensor_content=b"\0\0\0\0"),
        broken([1], string_val=[b"a"]),
        broken([1], dtype=20),
        unranked(),
    ],
)
def test_what_is_no_tensor_is_refused_by_name(proto):
    with pytest.raises(ServingError, match=r"^INVALID_ARGUMENT: tensor parsing error: x$"):
        read_tensor("x", proto)
