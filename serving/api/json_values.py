"""JSON values as numpy arrays, by the rules of TF Serving's REST API. Does not need TensorFlow."""

from __future__ import annotations

import base64
import itertools
import json
import math
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import ml_dtypes
import numpy as np

from seqattn_tf.serving.api.json_reader import INT64_TO_UINT64, Repeated
from seqattn_tf.serving.errors import ServingError, invalid

# The dtypes that JSON can represent, by TF Serving's names. Strings are object arrays of bytes.
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
# The dtypes that JSON cannot represent; only empty lists of them are accepted.
_EMPTY_TYPES = {"half": np.float16, "bfloat16": ml_dtypes.bfloat16, "uint16": np.uint16}
_EMPTY_TYPES |= {"complex64": np.complex64, "complex128": np.complex128}
# The valid range of each integer type. As in TF Serving, small types are read as int32 and then truncated.
_RANGES = {name: range(-(2**31), 2**31) for name in ("int8", "uint8", "int16", "int32")}
_RANGES |= {"int64": range(-(2**63), 2**63), "uint32": range(2**32), "uint64": range(2**64)}
_DECIMALS = ("float", "double")
_NUMBERS = {int, float}
_FEW = 16  # values for which a loop is faster than arrays
_TINY = {name: float(np.finfo(NUMPY_TYPES[name]).tiny) for name in _DECIMALS}
_MOST_AXES = 64  # the maximum for a numpy array
_SHOWN_BYTES, _SHOWN_CHARACTERS = 256, 512  # after which no further value is shown, and at which a long one is cut
_SHOW = json.JSONEncoder(ensure_ascii=False).encode
_MOST_PLACES = 21  # digits before the point of a number that is shown without an exponent
_BASE64 = re.compile(r"([A-Za-z0-9+/]*)([=.]*)")
# Characters after the last group of four -> possible numbers of padding characters.
_PADDING = {0: (0,), 2: (0, 2), 3: (0, 1)}
_JSON_TYPES = {dict: "Object", list: "Array", str: "String", int: "Number", float: "Number"}


class _NotFiniteError(Exception):
    """Ends the text of a value."""


def shown(value: Any) -> str:
    """Format a JSON value for an error message, cut as in TF Serving if it is long."""
    text, size = "", 0
    try:
        for piece in _shown_pieces(value, "", "\n"):
            text += piece
            size += len(piece.encode("utf-8", "surrogateescape"))
            if size >= _SHOWN_BYTES:
                break
    except _NotFiniteError:
        return text
    except RecursionError:
        return "(nested too deeply to be shown)"
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def number_text(value: float) -> str:
    """Format a finite number as TF Serving's JSON library does in error messages.

    >>> [number_text(value) for value in (1234567.8, 1e20, 1e21, 1e22, 1.5e-7, 7e-46)]
    ['1234567.8', '100000000000000000000.0', '1e21', '1e22', '1.5e-7', '7e-46']
    """
    if abs(value) < sys.float_info.min:
        value = math.copysign(0.0, value)  # its parser runs with denormal numbers flushed to zero
    sign, figures, exponent = Decimal(repr(value)).normalize().as_tuple()
    digits, exponent = "".join(map(str, figures)), int(exponent)
    point = len(digits) + exponent  # the position of the decimal point in the digits
    if value == 0:
        text = "0.0"
    elif exponent >= 0 and point <= _MOST_PLACES:
        text = digits + "0" * exponent + ".0"
    elif 0 < point <= _MOST_PLACES:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        text = digits[0] + (f".{digits[1:]}" if digits[1:] else "") + f"e{point - 1}"
    return "-" + text if sign else text


def _shown_pieces(value: Any, prefix: str, end: str) -> Iterator[str]:
    """Yield the pieces of a value's JSON text between which it may be cut.

    Args:
        value: The value.
        prefix: What precedes the value.
        end: A line break with the indentation of the members of objects.
    """
    if isinstance(value, float) or (type(value) is int and value not in INT64_TO_UINT64):
        if not math.isfinite(value):
            yield prefix
            raise _NotFiniteError  # TF Serving's text ends here
        yield prefix + number_text(float(value))
    elif isinstance(value, dict):
        yield prefix + "{"
        members = value.pairs if isinstance(value, Repeated) else value.items()
        for place, (name, member) in enumerate(members):
            yield f"{',' if place else ''}{end}    {_SHOW(name)}"
            yield from _shown_pieces(member, ": ", end + "    ")
        yield (end if value else "") + "}"
    elif isinstance(value, list):
        yield prefix + "["
        for place, member in enumerate(value):
            yield from _shown_pieces(member, ", " if place else "", end + "    ")
        yield "]"
    else:
        yield prefix + _SHOW(value)


def json_type(value: Any) -> str:
    """Return the name of a JSON value's type: `Null`, `True`, `False`, `Object`, `Array`, `String` or `Number`."""
    if value is None:
        return "Null"
    if type(value) is bool:
        return str(value)
    return "Object" if isinstance(value, dict) else _JSON_TYPES[type(value)]


def is_base64(value: Any) -> bool:
    """Return whether a value is `{"b64": "..."}`, which means bytes rather than an object with fields."""
    return type(value) is dict and value.keys() == {"b64"} and isinstance(value["b64"], str)


def read_array(value: Any, dtype: str) -> np.ndarray:
    """Convert a scalar or a nested list to an array.

    Raises:
        ServingError: If the value is invalid, with TF Serving's message for the first fault in the order of the text.
    """
    array = read_regular(value, dtype)
    return to_array(*read_values(value, dtype), dtype) if array is None else array


def read_regular(value: Any, dtype: str) -> np.ndarray | None:
    """Convert a value without irregularities to an array; return None if it must be examined in detail."""
    if dtype in _DECIMALS and type(value) is list and len(value) < _FEW and set(map(type, value)) <= _NUMBERS and value:
        return _decimals(value, dtype)
    shape: list[int] = []
    level = [value]
    kinds = {type(value)}
    while kinds == {list}:
        sizes = set(map(len, level))
        if len(sizes) != 1 or len(shape) == _MOST_AXES - 1:
            return None
        shape += sizes
        level = list(itertools.chain.from_iterable(level))
        kinds = set(map(type, level))
    try:
        array = _as_array(level, kinds, dtype)
    except (OverflowError, UnicodeEncodeError):
        return None
    return None if array is None else array.reshape(shape)


def read_values(value: Any, dtype: str) -> tuple[tuple[int, ...], list]:
    """Return the shape of a scalar or nested list and its converted values in row-major order; reject ragged lists."""
    shape = _shape(value)
    if len(shape) >= _MOST_AXES:  # leaves one axis for the rows
        raise invalid(f"Expecting lists nested less than {_MOST_AXES} deep but got: {len(shape)}")
    values: list = []
    _collect(value, shape, 0, dtype, values)
    return shape, values


def to_array(shape: tuple[int, ...], values: list, dtype: str) -> np.ndarray:
    """Convert a list of values to an array. Numbers too large for the float type become infinite."""
    if dtype not in NUMPY_TYPES:  # an empty list, without any value that could have been rejected before
        return np.empty(shape, _EMPTY_TYPES[dtype])
    if dtype == "string":
        array = np.empty(len(values), np.object_)
        array[:] = values
        return array.reshape(shape)
    if dtype in _DECIMALS:
        return _decimals(values, dtype).reshape(shape)
    read_as = np.int32 if _RANGES.get(dtype) == _RANGES["int32"] else NUMPY_TYPES[dtype]
    with np.errstate(over="ignore"):
        return np.array(values, read_as).astype(NUMPY_TYPES[dtype]).reshape(shape)


def read_float(value: Any, dtype: str) -> float:
    """Return a JSON number as a float."""
    if type(value) not in (int, float):
        raise _wrong_type(value, dtype)
    return float(value)


def read_bytes(value: Any) -> bytes:
    """Return a JSON string, or an object with base64, as bytes."""
    if isinstance(value, dict):
        if not is_base64(value):
            raise invalid(f"JSON Value: {shown(value)} not formatted correctly for base64 data")
        symbols = _BASE64.fullmatch("".join(value["b64"].split()))
        if symbols is None or len(symbols[2]) not in _PADDING.get(len(symbols[1]) % 4, ()):
            raise invalid("Unable to base64 decode")
        return base64.b64decode(symbols[1] + "=" * (-len(symbols[1]) % 4))
    if not isinstance(value, str):
        raise _wrong_type(value, "string")
    return value.encode("utf-8", "surrogateescape")


def _as_array(level: list, kinds: set[type], dtype: str) -> np.ndarray | None:
    if dtype in _DECIMALS and kinds <= {int, float}:
        return _decimals(level, dtype)
    if dtype == "string" and kinds <= {str}:
        array = np.empty(len(level), np.object_)
        array[:] = list(map(str.encode, level))
        return array
    if dtype == "bool" and kinds <= {bool}:
        return np.array(level, np.bool_)
    if dtype in _RANGES and kinds <= {int}:
        wide = np.array(level, np.uint64 if dtype == "uint64" else np.int64)
        fits = not level or (int(wide.min()) in _RANGES[dtype] and int(wide.max()) in _RANGES[dtype])
        return wide.astype(NUMPY_TYPES[dtype]) if fits else None
    return None


def _decimals(values: list, dtype: str) -> np.ndarray:
    """Return numbers as floats; denormal ones become zero, as on the processor of TF Serving while it reads JSON."""
    tiny = _TINY[dtype]
    with np.errstate(over="ignore"):
        if len(values) < _FEW and not any(-tiny < value < tiny and value for value in values):
            return np.array(values, NUMPY_TYPES[dtype])
        array = np.array(values, np.float64)
        denormal = np.abs(array) < tiny
        if denormal.any():
            array[denormal] *= 0  # keeps the sign
        return array.astype(NUMPY_TYPES[dtype])


def _shape(value: Any) -> tuple[int, ...]:
    """Return the shape that the first element of each level implies."""
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(shape)


def _collect(value: Any, shape: tuple[int, ...], level: int, dtype: str, values: list) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid(
                f"JSON Value: {shown(value)} found at incorrect level: {level + 1} "
                f"in the JSON DOM. Expected at level: {len(shape)}"
            )
        values.append(_convert(value, dtype))
        return
    if level >= len(shape):
        raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise invalid(
            f"Encountered list at unexpected size: {len(value)} at level: {level} expected size: {shape[level]}"
        )
    for item in value:
        _collect(item, shape, level + 1, dtype, values)


def _convert(value: Any, dtype: str) -> Any:
    """Convert one JSON value to an element of the dtype; the JSON type must match (1.0 is not an integer)."""
    if dtype == "string":
        return read_bytes(value)
    if isinstance(value, dict):
        raise _wrong_type(value, dtype)
    if dtype not in NUMPY_TYPES:
        raise _not_convertible(value, dtype)
    if dtype in _DECIMALS:
        return read_float(value, dtype)
    fits = type(value) is bool if dtype == "bool" else type(value) is int and value in _RANGES[dtype]
    if not fits:
        raise _wrong_type(value, dtype)
    return value


def _wrong_type(value: Any, dtype: str) -> ServingError:
    return invalid(f"JSON Value: {shown(value)} Type: {json_type(value)} is not of expected type: {dtype}")


def _not_convertible(value: Any, dtype: str) -> ServingError:
    return ServingError("UNIMPLEMENTED", f"Conversion of JSON Value: {shown(value)} to type: {dtype}")
