"""Tensors from and to `TensorProto`, on the path of every gRPC request: as few steps as there can be."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, types_pb2

from seqattn_tf.serving.errors import ServingError

# TF Serving writes outputs into the typed field of the proto, and clients read that field by name.
_FIELDS = {
    np.dtype(np.float16): (types_pb2.DT_HALF, "half_val"),
    np.dtype(np.int8): (types_pb2.DT_INT8, "int_val"),
    np.dtype(np.int16): (types_pb2.DT_INT16, "int_val"),
    np.dtype(np.int32): (types_pb2.DT_INT32, "int_val"),
    np.dtype(np.uint8): (types_pb2.DT_UINT8, "int_val"),
    np.dtype(np.uint16): (types_pb2.DT_UINT16, "int_val"),
    np.dtype(np.int64): (types_pb2.DT_INT64, "int64_val"),
    np.dtype(np.uint32): (types_pb2.DT_UINT32, "uint32_val"),
    np.dtype(np.uint64): (types_pb2.DT_UINT64, "uint64_val"),
    np.dtype(np.bool_): (types_pb2.DT_BOOL, "bool_val"),
    np.dtype(np.object_): (types_pb2.DT_STRING, "string_val"),
}
# On the wire a list of decimals is its length and the array's own bytes: dtype -> enum, tag of the field.
_PACKED = {
    np.dtype("<f4"): (types_pb2.DT_FLOAT, b"\x2a"),
    np.dtype("<f8"): (types_pb2.DT_DOUBLE, b"\x32"),
}


def read_tensor(alias: str, proto: tensor_pb2.TensorProto) -> tf.Tensor:
    """The tensor that a client sent as the input `alias`.

    Raises:
        ServingError: the values do not fill the shape, or the dtype is none.
    """
    shape = proto.tensor_shape
    sizes = [dim.size for dim in shape.dim]
    try:
        if shape.unknown_rank or any(size < 0 for size in sizes):
            raise ValueError(f"expected known sizes. Received: {shape}")
        if proto.dtype == types_pb2.DT_STRING and [len(proto.string_val)] == sizes:
            return tf.constant(list(proto.string_val), tf.string)
        return tf.constant(tf.make_ndarray(proto), proto.dtype)
    except (
        ValueError,
        TypeError,
        KeyError,
        OverflowError,
        MemoryError,
        tf.errors.OpError,
    ):  # make_ndarray has all of them
        raise ServingError("INVALID_ARGUMENT", f"tensor parsing error: {alias}") from None


def write_tensor(tensor: tf.Tensor, proto: tensor_pb2.TensorProto) -> None:
    """Writes an output into an empty proto.

    >>> proto = tensor_pb2.TensorProto()
    >>> write_tensor(tf.constant([[0.5, 2.0]]), proto)
    >>> list(proto.float_val), [dim.size for dim in proto.tensor_shape.dim]
    ([0.5, 2.0], [1, 2])
    """
    array = to_numpy(tensor)
    if array.dtype in _PACKED:
        number, tag = _PACKED[array.dtype]
        proto.MergeFromString(_head(number, array.shape) + tag + _varint(array.nbytes) + array.tobytes())
    elif array.dtype in _FIELDS:
        number, field = _FIELDS[array.dtype]
        proto.MergeFromString(_head(number, array.shape))
        values = array.view(np.uint16) if array.dtype == np.float16 else array
        getattr(proto, field).extend(values.ravel().tolist())
    else:
        proto.CopyFrom(tf.make_tensor_proto(array, tensor.dtype, tensor.shape))


def to_numpy(tensor: tf.Tensor) -> np.ndarray:
    """The values of a tensor; strings are an array of bytes, with or without dimensions."""
    array = tensor.numpy()
    return np.array(array, np.object_) if isinstance(array, bytes) else np.asarray(array)


@lru_cache(maxsize=4096)
def _head(number: int, shape: tuple[int, ...]) -> bytes:
    """Dtype and shape of a proto, as bytes; the same few come again and again."""
    proto = tensor_pb2.TensorProto(dtype=number)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto.SerializeToString()


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    digits.append(number)
    return bytes(digits)
