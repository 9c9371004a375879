import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from seqattn_tf.serving.errors import ServingError
from seqattn_tf.serving.protos.tensors import read_tensor, write_tensor

SHAPES = [(), (0,), (1,), (3,), (2, 0, 3), (2, 3, 4), (40, 41)]
DTYPES = ["float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64"]
DTYPES += ["uint8", "uint16", "uint32", "uint64", "bool", "complex64", "string"]


def tensor_of(dtype, shape):
    numbers = np.random.default_rng(0).integers(0, 100, shape)
    if dtype == "string":
        texts = np.array([b"%d\xff\0" % number for number in numbers.flat] + [b""], object)
        return texts[:-1].reshape(shape)
    made = numbers.astype(tf.as_dtype(dtype).as_numpy_dtype)
    return made / np.asarray(3, made.dtype) if "float" in dtype else made


def judged(proto):
    """Parse a proto with TensorFlow's own C++ code: an array, or None if it is invalid."""
    try:
        found = tf.io.parse_tensor(proto.SerializeToString(), proto.dtype).numpy()
        return np.array(found, object) if isinstance(found, bytes) else np.asarray(found)
    except (tf.errors.OpError, TypeError, ValueError):
        return None


@pytest.mark.parametrize("as_content", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_tensors_go_out_and_come_in_unchanged(dtype, as_content):
    for shape in SHAPES:
        array = tensor_of(dtype, shape)
        proto = tensor_pb2.TensorProto()
        write_tensor(array, proto, as_content)
        assert proto.HasField("tensor_shape")  # includes scalars
        assert as_content or not proto.tensor_content
        sent = tensor_pb2.TensorProto.FromString(proto.SerializeToString())
        back, official = read_tensor("x", sent), judged(sent)
        assert back.dtype == array.dtype
        assert back.shape == official.shape == array.shape
        assert back.tolist() == official.tolist() == array.tolist()
        if not (as_content and dtype == "string"):  # TensorFlow's Python code does not support this
            assert tf.make_ndarray(sent).tolist() == array.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_a_client_of_tensorflow_s_sends_is_read(dtype):
    for shape in SHAPES:
        array = tensor_of(dtype, shape)
        back = read_tensor("x", tf.make_tensor_proto(array, dtype, shape))
        assert (back.dtype, back.shape, back.tolist()) == (array.dtype, array.shape, array.tolist())
        assert back.flags.writeable


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
        ("bfloat16", "half_val"),
    ],
)
def test_values_are_in_the_field_that_clients_of_tf_serving_read(dtype, field):
    proto = tensor_pb2.TensorProto()
    write_tensor(tensor_of(dtype, (2, 70)), proto)
    assert len(getattr(proto, field)) == 140
    assert not proto.tensor_content


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
    ("proto", "expected"),
    [
        (broken([3], dtype=1, float_val=[2.5]), [2.5, 2.5, 2.5]),  # the last value is repeated
        (broken([3], dtype=1, float_val=[1, 2]), [1, 2, 2]),
        (broken([2], dtype=1), [0, 0]),
        (broken([2], dtype=1, float_val=[1, 2, 3]), [1, 2]),  # surplus values are ignored
        (broken([2], dtype=7, string_val=[b"a", b"b", b"c"]), [b"a", b"b"]),
        (broken([2], dtype=7), [b"", b""]),
        (broken([2], dtype=7, string_val=[b"a"]), [b"a", b"a"]),
        (broken([2], dtype=8, scomplex_val=[1, 2]), [1 + 2j, 1 + 2j]),
        (broken([2], dtype=19, half_val=[15360]), [1, 1]),
        (broken([2], dtype=14, half_val=[16256]), [1, 1]),
        (broken([2, 1], dtype=7, tensor_content=b"\x01\x02abc"), [[b"a"], [b"bc"]]),
        (broken([0], dtype=7), []),
        (unranked(), b"a"),
    ],
)
def test_values_fill_a_shape_as_tensorflow_has_it(proto, expected):
    assert read_tensor("x", proto).tolist() == expected
    assert judged(proto).tolist() == expected


@pytest.mark.parametrize(
    "proto",
    [
        broken([2], dtype=1, tensor_content=b"abc"),
        broken([2], dtype=1, tensor_content=b"abcdefghijkl"),
        broken([2], dtype=7, tensor_content=b"\x01\x02ab"),
        broken([2], dtype=7, tensor_content=b"\x01\x02abcd"),
        broken([2], dtype=7, tensor_content=b"\xff\xff\xff\xff\xff\xff"),
        broken([3], dtype=10, tensor_content=b"\x02\x01\x00"),
        broken([-1], dtype=7, string_val=[b"a"]),
        broken([2**40], dtype=1, tensor_content=b"\0\0\0\0"),
        broken([1], string_val=[b"a"]),
        broken([1], dtype=20),
    ],
)
def test_what_is_no_tensor_is_refused_by_name(proto):
    assert judged(proto) is None
    with pytest.raises(ServingError, match=r"^INVALID_ARGUMENT: tensor parsing error: x$"):
        read_tensor("x", proto)


def test_a_few_bytes_do_not_ask_for_any_memory():
    """A shape of 128 million elements with one value is half a gigabyte, and a larger shape could fill the memory."""
    proto = tensor_pb2.TensorProto(dtype=1, float_val=[0.5])
    proto.tensor_shape.dim.add(size=1 << 27)
    with pytest.raises(ServingError, match="tensor parsing error: x"):
        read_tensor("x", proto)
    proto.tensor_shape.dim[0].size = 1 << 20
    assert read_tensor("x", proto).tolist()[-1] == 0.5
