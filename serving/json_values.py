"""JSON values as numpy arrays and back, by the rules of TF Serving's REST API. Knows no TensorFlow."""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import Any

import numpy as np

from seqattn_tf.serving.errors import ServingError

# dtypes that JSON can carry, by TF Serving's names. Strings are object arrays of bytes.
NUMPY_TYPES = {
    "bool": np.bool_,
    "string": np.object_,
    "float": np.float32,
    "double": np.float64,
    "int8": np.int8,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "uint8": np.uint8,
    "uint32": np.uint32,
    "uint64": np.uint64,
}
BYTES_SUFFIX = "_bytes"
_SHOWN_CHARACTERS = 512
_EXACT_INTEGERS = {"float": 2**24 - 1, "double": 2**53 - 1}
_JSON_TYPES = {dict: "Object", list: "Array", str: "String", int: "Number", float: "Number"}


def invalid(message: str) -> ServingError:
    """An INVALID_ARGUMENT: what nearly every fault of a body is."""
    return ServingError("INVALID_ARGUMENT", message)


def shown(value: Any) -> str:
    """A JSON value for an error message, cut when long."""
    text = json.dumps(value, indent=4, ensure_ascii=False)
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def is_base64(value: Any) -> bool:
    """Whether a value is `{"b64": "..."}`: bytes, not an object with fields."""
    return isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str)


def read_values(value: Any, dtype: str) -> tuple[tuple[int, ...], list]:
    """A scalar or nested list as its shape and its converted values in row order; refuses ragged lists."""
    shape = _shape(value)
    leaves: list = []
    _collect(value, shape, 0, leaves)
    return shape, [_convert(leaf, dtype) for leaf in leaves]


def to_array(values: list, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Converted values as an array. Numbers too large for a float become infinite."""
    if dtype not in NUMPY_TYPES:  # an empty list reaches this without a value that could be refused
        raise _not_convertible([], dtype)
    if dtype == "string":
        array = np.empty(len(values), np.object_)
        array[:] = values
        return array.reshape(shape)
    with np.errstate(over="ignore"):
        return np.array(values, NUMPY_TYPES[dtype]).reshape(shape)


def from_array(alias: str, array: np.ndarray) -> Any:
    """An output as nested lists: `*_bytes` strings in base64, other strings as text, floats in their shortest form."""
    if array.dtype == np.object_:
        write = _write_base64 if alias.endswith(BYTES_SUFFIX) else _write_text
        written = np.empty(array.size, np.object_)
        written[:] = [write(value) for value in array.ravel()]
        return written.reshape(array.shape).tolist()
    if array.dtype.kind == "f" and array.dtype.itemsize < 8:
        # A float32 printed as a double shows noise digits (0.20000000298); its own shortest digits do not.
        digits = array.astype(str).ravel().tolist()
        return np.array([float(text) for text in digits]).reshape(array.shape).tolist()
    if array.dtype.kind in "biuf":
        return array.tolist()
    raise invalid(f"Failed to write JSON value for tensor type: {array.dtype.name}")


def _shape(value: Any) -> tuple[int, ...]:
    """The shape that the first element of each level announces."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(shape)


def _collect(value: Any, shape: tuple[int, ...], level: int, leaves: list) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid(
                f"JSON Value: {shown(value)} found at incorrect level: {level + 1} "
                f"in the JSON DOM. Expected at level: {len(shape)}"
            )
        leaves.append(value)
        return
    if level >= len(shape):
        raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise invalid(
            f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: {shape[level]}"
        )
    for item in value:
        _collect(item, shape, level + 1, leaves)


def _convert(value: Any, dtype: str) -> Any:
    """One JSON value as one element of the dtype; the JSON type must be the right one (1.0 is no integer)."""
    if dtype == "string":
        return _read_bytes(value)
    if dtype not in NUMPY_TYPES:
        raise _not_convertible(value, dtype)
    if dtype in _EXACT_INTEGERS:
        return _read_float(value, dtype)
    fits = type(value) is bool if dtype == "bool" else type(value) is int and _in_range(value, dtype)
    if not fits:
        raise _wrong_type(value, dtype)
    return value


def _read_float(value: Any, dtype: str) -> float:
    if type(value) not in (int, float):
        raise _wrong_type(value, dtype)
    # Integers beyond 64 bits are read as decimals, and decimals are rounded: only integers must be exact.
    if type(value) is int and _EXACT_INTEGERS[dtype] < abs(value) < 2**64:
        raise invalid(f"Cannot convert JSON value: {shown(value)} to {dtype} without loss of precision.")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _read_bytes(value: Any) -> bytes:
    if isinstance(value, dict):
        if not is_base64(value):
            raise invalid(f"JSON Value: {shown(value)} not formatted correctly for base64 data")
        text = "".join(value["b64"].split()).rstrip("=")
        try:
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise invalid("Unable to base64 decode") from None
    if not isinstance(value, str):
        raise _wrong_type(value, "string")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise invalid("JSON Parse error: The surrogate pair in string is invalid.") from None


def _in_range(value: int, dtype: str) -> bool:
    limits = np.iinfo(NUMPY_TYPES[dtype])
    return int(limits.min) <= value <= int(limits.max)


def _wrong_type(value: Any, dtype: str) -> ServingError:
    literal = {True: "True", False: "False"}.get(value, "Null") if value is None or type(value) is bool else None
    name = literal or _JSON_TYPES[type(value)]
    return invalid(f"JSON Value: {shown(value)} Type: {name} is not of expected type: {dtype}")


def _not_convertible(value: Any, dtype: str) -> ServingError:
    return ServingError("UNIMPLEMENTED", f"Conversion of JSON Value: {shown(value)} to type: {dtype}")


def _write_base64(value: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(value).decode("ascii")}


def _write_text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
