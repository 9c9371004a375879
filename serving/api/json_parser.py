"""The JSON object of a request body, as TF Serving's parser reads it. Knows no TensorFlow.

Python's parser does the work; a cheap look at the body tells when the two would differ, and then `json_reader` reads.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from seqattn_tf.serving.api.json_reader import as_object, read_document
from seqattn_tf.serving.api.json_values import shown
from seqattn_tf.serving.errors import invalid

_SCAN = json.JSONDecoder(object_pairs_hook=as_object).raw_decode
_SPACE = " \t\r\n"
# Every escape; a group for half of a surrogate pair that has no other half.
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|u[dD]([89a-fA-F])|.)", re.DOTALL)
_BIG = re.compile(rb"[0-9][eE][+]?[0-9]{3}|[0-9]{64}")
_SMALL_BODY = 1024  # bytes; up to here one regular expression is faster than arrays
# Eight bytes at a time: all of them are digits, or signs that no number has a run of, if their upper halves are 3.
_UPPER_HALVES, _DIGITS = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x3030303030303030)
_ALL_TRUE = np.uint64(0x0101010101010101)
_E, _PLUS, _ZERO, _LOWER = np.uint8(ord("e")), np.uint8(ord("+")), np.uint8(ord("0")), np.uint8(0x20)


def parse_document(body: bytes) -> dict[str, Any]:
    """The JSON object of a body. What follows the object is ignored, NaN and Infinity are numbers.

    Raises:
        ServingError: with TF Serving's message.
    """
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    try:
        text = body.decode()
        document = read_document(body) if _differs(body) else _SCAN(text, len(text) - len(text.lstrip(_SPACE)))[0]
    except (ValueError, RecursionError):  # no JSON, or not for Python: no UTF-8, `Inf`, deep lists
        document = read_document(body)
    if not isinstance(document, dict):  # read again: of "1e" Python reads the 1
        raise invalid(f"JSON Value: {shown(read_document(body))} Is not object")
    return document


def _differs(body: bytes) -> bool:
    """Whether Python's parser might take as fine what TF Serving's refuses or reads otherwise."""
    if b"\\" in body and any(_ESCAPE.findall(body)):
        return True
    return _BIG.search(body) is not None if len(body) < _SMALL_BODY else _has_big_number(body)


def _has_big_number(body: bytes) -> bool:
    """Whether there may be a number beyond a double: an exponent of three digits, or digits without end.

    A run of 127 digits or more has 64 of them at a multiple of 64.
    """
    words = np.frombuffer(body, np.uint64, len(body) // 64 * 8)
    if (((words & _UPPER_HALVES) == _DIGITS).view(np.uint64) == _ALL_TRUE).any():
        return True
    letters = np.frombuffer(body, np.uint8)
    places = np.flatnonzero((letters[:-1] | _LOWER) == _E)
    following = letters[places + 1]
    places = places[(following - _ZERO < 10) | (following == _PLUS)]
    return any(_BIG.match(body, place - 1) and _in_number(body, place) for place in places.tolist() if place)


def _in_number(body: bytes, place: int) -> bool:
    """Whether what stands before an exponent could be a number, not a piece of some base64 or hexadecimal text."""
    before = body[max(0, place - 128) : place].rstrip(b"0123456789.")
    return before[-1:] in (b"", b"-", b"[", b",", b":", b" ", b"\t", b"\r", b"\n")
