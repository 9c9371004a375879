"""Checks of requests and replies against the limits of a server, before they cost time and memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import numpy as np

from seqattn_tf.serving.errors import ServingError, invalid
from seqattn_tf.serving.limits import Limits

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def check_json(body: bytes, limits: Limits, exceeded: Callable[[str], None]) -> None:
    """Check the number of values and the nesting depth of a JSON document without parsing it.

    Raises:
        ServingError: INVALID_ARGUMENT if there are too many.
    """
    # Brackets and commas in strings count, too, at first: that is fast, and enough for nearly all documents.
    opened = body.count(b"[") + body.count(b"{")
    if 0 < limits.max_request_values < opened + body.count(b","):
        plain = _without_strings(body)
        if sum(map(plain.count, (b"[", b"{", b","))) > limits.max_request_values:
            exceeded("max_request_values")
            raise invalid(f"JSON: expected at most {limits.max_request_values} values. Received: more")
    if 0 < limits.max_request_depth < opened and depth(body) > limits.max_request_depth:
        exceeded("max_request_depth")
        raise invalid(f"JSON: expected at most {limits.max_request_depth} nested lists and objects. Received: more")


def check_rows(inputs: Mapping[str, np.ndarray], limits: Limits, exceeded: Callable[[str], None]) -> None:
    """Check the number of rows of the inputs of a request that are texts or bytes.

    Raises:
        ServingError: INVALID_ARGUMENT if there are too many.
    """
    rows = max((len(array) for array in inputs.values() if array.ndim and array.dtype == np.object_), default=0)
    if 0 < limits.max_rows < rows:
        exceeded("max_rows")
        raise invalid(f"expected at most {limits.max_rows} rows. Received: {rows}")


def check_reply(outputs: Mapping[str, np.ndarray], limits: Limits, exceeded: Callable[[str], None]) -> int:
    """Return the number of values of a reply, if there are not too many.

    Raises:
        ServingError: OUT_OF_RANGE if there are too many.
    """
    values = sum(array.size for array in outputs.values())
    if 0 < limits.max_reply_values < values:
        exceeded("max_reply_values")
        raise ServingError(
            "OUT_OF_RANGE", f"expected a reply of at most {limits.max_reply_values} values. Received: {values}"
        )
    return values


def depth(body: bytes) -> int:
    """Return the nesting depth of a JSON document; brackets in strings do not count.

    >>> depth(b'{"a": [[1, "]["], []]}')
    3
    """
    brackets = np.frombuffer(_without_strings(body).translate(None, _NO_BRACKETS), np.uint8)
    steps = (brackets & 2).astype(np.int8) - 1  # 1 for [ and {, whose second bit is set, and -1 for ] and }
    return max(0, int(np.cumsum(steps, dtype=np.int32).max(initial=0)))


def _without_strings(body: bytes) -> bytes:
    return _STRING.sub(b"", body)
