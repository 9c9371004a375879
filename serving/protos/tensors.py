"""Conversion of arrays from and to `TensorProto`; every gRPC request depends on it, so it must be fast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from seqattn_tf.serving.errors import ServingError, invalid
from seqattn_tf.serving.protos import DataType, TensorProto

# TF Serving writes outputs to the typed field of the proto, and clients read that field by its name.
_FIELDS = {
    np.dtype(np.float32): (DataType.DT_FLOAT, "float_val"),
    np.dtype(np.float64): (DataType.DT_DOUBLE, "double_val"),
    np.dtype(np.float16): (DataType.DT_HALF, "half_val"),
    np.dtype(ml_dtypes.bfloat16): (DataType.DT_BFLOAT16, "half_val"),
    np.dtype(np.int8): (DataType.DT_INT8, "int_val"),
    np.dtype(np.int16): (DataType.DT_INT16, "int_val"),
    np.dtype(np.int32): (DataType.DT_INT32, "int_val"),
    np.dtype(np.uint8): (DataType.DT_UINT8, "int_val"),
    np.dtype(np.uint16): (DataType.DT_UINT16, "int_val"),
    np.dtype(np.int64): (DataType.DT_INT64, "int64_val"),
    np.dtype(np.uint32): (DataType.DT_UINT32, "uint32_val"),
    np.dtype(np.uint64): (DataType.DT_UINT64, "uint64_val"),
    np.dtype(np.bool_): (DataType.DT_BOOL, "bool_val"),
    np.dtype(np.complex64): (DataType.DT_COMPLEX64, "scomplex_val"),
    np.dtype(np.complex128): (DataType.DT_COMPLEX128, "dcomplex_val"),
    np.dtype(np.object_): (DataType.DT_STRING, "string_val"),
}
_READ = {number: (dtype, field) for dtype, (number, field) in _FIELDS.items()}
# The type of the field's elements where it is not the dtype: the bits of 16-bit floats, or the parts of complex
# numbers.
_STORED = {
    np.dtype(np.float16): np.uint16,
    np.dtype(ml_dtypes.bfloat16): np.uint16,
    np.dtype(np.complex64): np.float32,
    np.dtype(np.complex128): np.float64,
}
# A tensor with fewer values than elements is limited in size, because a few bytes could request any amount of memory.
_FILLED = 1 << 28  # bytes
# Tags of the packed float fields. On the wire, such a list is its tag, its length and the bytes of the array.
_PACKED = {np.dtype("<f4"): b"\x2a", np.dtype("<f8"): b"\x32"}


def dtype_number(dtype: np.dtype) -> int:
    """Return the number of a dtype in protos; DT_INVALID for one that they cannot hold.

    >>> DataType(dtype_number(np.dtype(np.float32))).name
    'DT_FLOAT'
    """
    return _FIELDS[dtype][0] if dtype in _FIELDS else DataType.DT_INVALID


def dtype_of(number: int) -> np.dtype:
    """Return the dtype with a number in protos; strings are objects, as are dtypes that NumPy does not have."""
    return _READ[number][0] if number in _READ else np.dtype(np.object_)


def read_tensor(alias: str, proto: TensorProto) -> np.ndarray:
    """Return the array of the input `alias`; strings are an object array of bytes.

    If there are fewer values than elements, the last value is repeated, as in TensorFlow, up to 256 MB.

    Raises:
        ServingError: If the values do not fit the shape, or the dtype is unsupported.
    """
    shape = tuple(dim.size for dim in proto.tensor_shape.dim)
    try:
        if any(size < 0 for size in shape):
            raise ValueError(f"expected known sizes. Received: {proto.tensor_shape}")
        dtype, field = _READ[proto.dtype]
        places = math.prod(shape)
        if not proto.tensor_content:
            return _from_field(getattr(proto, field), dtype, places).reshape(shape)
        if dtype == np.object_:
            return _strings(_split_strings(proto.tensor_content, places)).reshape(shape)
        if not places:  # TensorFlow does not look at the content of an empty tensor
            return np.empty(shape, dtype)
        if dtype == np.bool_ and max(proto.tensor_content) > 1:
            _refuse(places)
        array = np.frombuffer(proto.tensor_content, dtype)
        return array.reshape(shape).copy() if array.size == places else _refuse(places)
    except (ValueError, KeyError, OverflowError, MemoryError):
        raise invalid(f"tensor parsing error: {alias}") from None


def write_tensor(array: np.ndarray, proto: TensorProto, as_content: bool = False) -> None:
    """Write an output to an empty proto: to the field of its dtype, or as bytes.

    >>> proto = TensorProto()
    >>> write_tensor(np.float32([[0.5, 2.0]]), proto)
    >>> list(proto.float_val), [dim.size for dim in proto.tensor_shape.dim]
    ([0.5, 2.0], [1, 2])
    """
    if array.dtype not in _FIELDS:
        raise ServingError("UNIMPLEMENTED", f"expected an output of a dtype with a name. Received: {array.dtype}")
    number, field = _FIELDS[array.dtype]
    head = _head(number, array.shape)
    if as_content:
        proto.MergeFromString(head)
        proto.tensor_content = _join_strings(array) if array.dtype == np.object_ else array.tobytes()
    elif array.dtype in _PACKED:
        proto.MergeFromString(head + _PACKED[array.dtype] + _varint(array.nbytes) + array.tobytes())
    else:
        proto.MergeFromString(head)
        flat = np.ravel(array)
        stored = _STORED.get(array.dtype)
        getattr(proto, field).extend((flat if stored is None else flat.view(stored)).tolist())


def _from_field(values: Sequence[Any], dtype: np.dtype, places: int) -> np.ndarray:
    """Return an array with the given number of elements; missing ones repeat the last value."""
    if dtype == np.object_:
        array = _strings(list(values[:places]))
    else:
        array = np.array(values, _STORED.get(dtype, dtype))
        each = dtype.itemsize // array.itemsize  # two for complex numbers
        array = array[: array.size // each * each].view(dtype)[:places]
    if array.size == places:
        return array
    if places * dtype.itemsize > _FILLED:
        _refuse(places)
    filled = np.empty(places, dtype)
    filled[: array.size] = array
    filled[array.size :] = array[-1] if array.size else (b"" if dtype == np.object_ else 0)
    return filled


def _strings(texts: list[bytes]) -> np.ndarray:
    array = np.empty(len(texts), np.object_)
    array[:] = texts
    return array


def _split_strings(content: bytes, count: int) -> list[bytes]:
    """Split strings in TensorFlow's packed format: all lengths as varints, followed by all bytes."""
    lengths, place = [], 0
    for _ in range(count):
        length, shift = 0, 0
        while True:
            if place >= len(content) or shift > 28:
                _refuse(count)
            byte = content[place]
            length |= (byte & 127) << shift
            place, shift = place + 1, shift + 7
            if byte < 128:
                break
        lengths.append(length)
    if place + sum(lengths) != len(content):
        _refuse(count)
    texts = []
    for length in lengths:
        texts.append(content[place : place + length])
        place += length
    return texts


def _join_strings(array: np.ndarray) -> bytes:
    texts = [text if isinstance(text, bytes) else text.encode() for text in array.flat]
    return b"".join([*map(_varint, map(len, texts)), *texts])


def _refuse(places: int) -> np.ndarray:
    raise ValueError(f"expected {places} values. Received: other content")


@lru_cache(maxsize=4096)
def _head(number: int, shape: tuple[int, ...]) -> bytes:
    """Return the dtype and shape of a proto as bytes; cached, because few combinations occur."""
    proto = TensorProto(dtype=number)
    proto.tensor_shape.SetInParent()  # a scalar has a shape too, which is empty
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto.SerializeToString()


@lru_cache(maxsize=4096)
def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > 127:
        digits.append(number & 127 | 128)
        number >>= 7
    digits.append(number)
    return bytes(digits)
