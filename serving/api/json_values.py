"""JSON values as numpy arrays and back, by the rules of TF Serving's REST API. Knows no TensorFlow."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from seqattn_tf.serving.errors import ServingError, invalid

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
_MOST_AXES = 64  # of a numpy array
_SHOWN_CHARACTERS = 512
_EXACT_INTEGERS = {"float": 2**24 - 1, "double": 2**53 - 1}
_WRITE = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would make an encoder for every string
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_JSON_TYPES = {dict: "Object", list: "Array", str: "String", int: "Number", float: "Number"}


def shown(value: Any) -> str:
    """A JSON value for an error message, cut when long."""
    try:
        text = json.dumps(value, indent=4, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply to be shown)"
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def json_type(value: Any) -> str:
    """The name of a JSON value's type: `Null`, `True`, `False`, `Object`, `Array`, `String` or `Number`."""
    if value is None:
        return "Null"
    return str(value) if type(value) is bool else _JSON_TYPES[type(value)]


def is_base64(value: Any) -> bool:
    """Whether a value is `{"b64": "..."}`: bytes, not an object with fields."""
    return isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str)


def read_values(value: Any, dtype: str) -> tuple[tuple[int, ...], list]:
    """A scalar or nested list as its shape and its converted values in row order; refuses ragged lists."""
    shape = _shape(value)
    if len(shape) >= _MOST_AXES:  # one is left for the rows
        raise invalid(f"Expecting lists nested less than {_MOST_AXES} deep but got: {len(shape)}")
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


def write_array(alias: str, array: np.ndarray) -> str:
    """An output as JSON text, the way `write_rows` writes its parts.

    >>> write_array("y", np.float32([[0.2, 3], [1e9, 16777217]]))
    '[[0.2, 3.0], [1e+09, 16777216.0]]'
    """
    return list_text(write_rows(alias, array)) if array.ndim else _write_values(alias, array)[0]


def write_rows(alias: str, array: np.ndarray) -> list[str]:
    """One JSON text for each element of the first axis: `*_bytes` strings in base64, other strings as text, decimals
    as TF Serving prints them."""
    texts = _write_values(alias, array)
    for axis in range(array.ndim - 1, 0, -1):
        size = array.shape[axis]
        texts = [list_text(texts[start * size : (start + 1) * size]) for start in range(math.prod(array.shape[:axis]))]
    return texts


def list_text(texts: Sequence[str]) -> str:
    """Texts of JSON values as the text of their list."""
    return "[" + ", ".join(texts) + "]"


def write_floats(array: np.ndarray) -> list[str]:
    """Each number in six digits where they say it exactly, else in full; a whole one with `.0`, so that it stays a
    decimal."""
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    flat = array.ravel()
    values, full = flat.tolist(), "%.9g" if array.dtype == np.float32 else "%.17g"
    texts = ["%g" % value for value in values]  # noqa: UP031  half the time of format
    exact = (np.array(list(map(float, texts)), array.dtype) == flat).tolist()
    texts = [text if same else full % value for text, same, value in zip(texts, exact, values, strict=True)]
    return [text if "." in text or "e" in text else _NOT_FINITE.get(text) or text + ".0" for text in texts]


def write_text(value: bytes | str) -> str:
    """A string as JSON; bytes that are no UTF-8 are replaced."""
    return _WRITE(value if isinstance(value, str) else value.decode("utf-8", "replace"))


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
        return read_bytes(value)
    if dtype not in NUMPY_TYPES:
        raise _not_convertible(value, dtype)
    if dtype in _EXACT_INTEGERS:
        return read_float(value, dtype)
    fits = type(value) is bool if dtype == "bool" else type(value) is int and _in_range(value, dtype)
    if not fits:
        raise _wrong_type(value, dtype)
    return value


def read_float(value: Any, dtype: str) -> float:
    """A JSON number as a decimal of the dtype; an integer that it cannot hold exactly is refused."""
    if type(value) not in (int, float):
        raise _wrong_type(value, dtype)
    # Integers beyond 64 bits are read as decimals, and decimals are rounded: only integers must be exact.
    if type(value) is int and _EXACT_INTEGERS[dtype] < abs(value) < 2**64:
        raise invalid(f"Cannot convert JSON value: {shown(value)} to {dtype} without loss of precision.")
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def read_bytes(value: Any) -> bytes:
    """A JSON string, or an object with base64, as bytes."""
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
    return value.encode()


def _in_range(value: int, dtype: str) -> bool:
    limits = np.iinfo(NUMPY_TYPES[dtype])
    return int(limits.min) <= value <= int(limits.max)


def _wrong_type(value: Any, dtype: str) -> ServingError:
    return invalid(f"JSON Value: {shown(value)} Type: {json_type(value)} is not of expected type: {dtype}")


def _not_convertible(value: Any, dtype: str) -> ServingError:
    return ServingError("UNIMPLEMENTED", f"Conversion of JSON Value: {shown(value)} to type: {dtype}")


def _write_values(alias: str, array: np.ndarray) -> list[str]:
    kind = array.dtype.kind
    if kind == "O":
        return [_write_base64(value) if alias.endswith(BYTES_SUFFIX) else write_text(value) for value in array.ravel()]
    if kind == "f":
        return write_floats(array)
    if kind == "b":
        return ["true" if value else "false" for value in array.ravel()]
    if kind in "iu":
        return [str(value) for value in array.ravel().tolist()]
    raise invalid(f"Failed to write JSON value for tensor type: {array.dtype.name}")


def _write_base64(value: bytes) -> str:
    return f'{{"b64": "{base64.b64encode(value).decode("ascii")}"}}'
