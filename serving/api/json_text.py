"""JSON text of numpy arrays, by the rules of TF Serving's REST API. Does not need TensorFlow."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence

import numpy as np

from seqattn_tf.serving.api.json_reader import Tick
from seqattn_tf.serving.errors import invalid

BYTES_SUFFIX = "_bytes"
_PIECE = 1 << 16  # values that are written at once; each takes about 200 bytes of memory until its list is complete
_WRITE = json.JSONEncoder(ensure_ascii=False).encode  # `json.dumps` would create an encoder for every string
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
# Rejected by TF Serving, with its names for them.
_NOT_WRITTEN = {np.dtype(np.float16): "half", np.dtype(np.uint16): "uint16"}


def write_array(alias: str, array: np.ndarray, tick: Tick = lambda: None) -> str:
    """Return an output as JSON text; see `write_rows` for the format.

    >>> write_array("y", np.float32([[0.2, 3], [1e9, 16777217]]))
    '[[0.2, 3.0], [1e+09, 16777216.0]]'
    """
    if not array.ndim:
        return _write_values(alias, array)[0]
    if array.ndim > 1 or array.size <= _PIECE:
        return list_text(write_rows(alias, array, tick))
    pieces = []
    for start in range(0, len(array), _PIECE):
        tick()
        pieces.append(", ".join(_write_values(alias, array[start : start + _PIECE])))
    return list_text(pieces)


def write_rows(alias: str, array: np.ndarray, tick: Tick = lambda: None) -> list[str]:
    """Return one JSON text for each element of the first axis.

    Strings of outputs named `*_bytes` are in base64, other strings are text, and floats have TF Serving's format.
    """
    tick()
    if array.size > _PIECE and len(array) > 1:
        step = max(1, _PIECE * len(array) // array.size)
        parts = [array[start : start + step] for start in range(0, len(array), step)]
        return [text for part in parts for text in write_rows(alias, part, tick)]
    if array.size > _PIECE:
        return [write_array(alias, array[0], tick)]
    texts = _write_values(alias, array)
    for axis in range(array.ndim - 1, 0, -1):
        size = array.shape[axis]
        texts = [list_text(texts[start * size : (start + 1) * size]) for start in range(math.prod(array.shape[:axis]))]
    return texts


def list_text(texts: Sequence[str]) -> str:
    """Return the text of a JSON list, given the texts of its values."""
    return "[" + ", ".join(texts) + "]"


def write_floats(array: np.ndarray) -> list[str]:
    """Format each number with six digits if that is exact, otherwise with all digits; whole numbers end in `.0`."""
    flat = array.ravel()
    values, full = flat.tolist(), "%.9g" if array.dtype == np.float32 else "%.17g"
    texts = ["%g" % value for value in values]  # noqa: UP031  half the time of format
    if list(map(float, texts)) != values:
        exact = (np.array(list(map(float, texts)), array.dtype) == flat).tolist()
        texts = [text if same else full % value for text, same, value in zip(texts, exact, values, strict=True)]
    return [text if "." in text or "e" in text else _NOT_FINITE.get(text) or text + ".0" for text in texts]


def write_text(value: bytes | str) -> str:
    """Return a string as JSON; bytes that are not valid UTF-8 are replaced."""
    return _WRITE(value if isinstance(value, str) else value.decode("utf-8", "replace"))


def _write_values(alias: str, array: np.ndarray) -> list[str]:
    kind = array.dtype.kind
    if not array.size:
        return []
    if kind == "O":
        return [_write_base64(value) if alias.endswith(BYTES_SUFFIX) else write_text(value) for value in array.ravel()]
    if kind == "b":
        return ["true" if value else "false" for value in array.ravel()]
    if kind in "fiu" and array.dtype not in _NOT_WRITTEN:
        return write_floats(array) if kind == "f" else [str(value) for value in array.ravel().tolist()]
    name = _NOT_WRITTEN.get(array.dtype, array.dtype.name)
    raise invalid(f"Failed to write JSON value for tensor type: {name}")


def _write_base64(value: bytes) -> str:
    return f'{{"b64": "{base64.b64encode(value).decode("ascii")}"}}'
