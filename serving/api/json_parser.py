"""A parser for the JSON object of a request body, equivalent to TF Serving's parser. Does not need TensorFlow.

Python's parser does most of the work. A cheap test of the body detects where the two parsers could differ; then
`json_reader` parses the body.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from seqattn_tf.serving.api import json_pieces
from seqattn_tf.serving.api.json_reader import Tick, read_document
from seqattn_tf.serving.api.json_values import shown
from seqattn_tf.serving.errors import invalid

_SPACE = " \t\r\n"
# Any escape; the group matches in an unpaired half of a surrogate pair.
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|u[dD]([89a-fA-F])|.)", re.DOTALL)
_BIG = re.compile(rb"[0-9][eE][+]?[0-9]{3}|[0-9]{64}")
_SMALL_BODY = 1024  # bytes; up to this size a regular expression is faster than arrays
# Tests eight bytes at once: if the upper half of each byte is 3, all of them are digits, or characters of which no
# number contains a run.
_UPPER_HALVES, _DIGITS = np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x3030303030303030)
_ALL_TRUE = np.uint64(0x0101010101010101)
_E, _PLUS, _ZERO, _LOWER = np.uint8(ord("e")), np.uint8(ord("+")), np.uint8(ord("0")), np.uint8(0x20)


def parse_document(body: bytes, tick: Tick = lambda: None) -> dict[str, Any]:
    """Return the JSON object of a body. Text after the object is ignored; NaN and Infinity are numbers.

    Args:
        body: The body.
        tick: A function that is called from time to time while a large body is parsed; it may raise an error to stop.

    Raises:
        ServingError: If the body is invalid, with TF Serving's message.
    """
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    try:
        text = body.decode()
        if _differs(body):
            document = read_document(body, tick)
        else:
            document, _ = json_pieces.parse(text, len(text) - len(text.lstrip(_SPACE)), tick)
    except (ValueError, RecursionError):  # invalid JSON, or unsupported by Python: invalid UTF-8, `Inf`, deep nesting
        document = read_document(body, tick)
    if not isinstance(document, dict):  # parse again, because Python's parser reads only the 1 of an invalid "1e"
        raise invalid(f"JSON Value: {shown(read_document(body))} Is not object")
    return document


def _differs(body: bytes) -> bool:
    """Return whether Python's parser might accept what TF Serving's parser rejects or reads differently."""
    if b"\\" in body and any(_ESCAPE.findall(body)):
        return True
    return _BIG.search(body) is not None if len(body) < _SMALL_BODY else _has_big_number(body)


def _has_big_number(body: bytes) -> bool:
    """Return whether there may be a number too large for a double: a three-digit exponent or a very long run of digits.

    Every run of 127 or more digits contains 64 digits that start at a multiple of 64.
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
    """Return whether the text before an exponent could be a number rather than part of base64 or hexadecimal text."""
    before = body[max(0, place - 128) : place].rstrip(b"0123456789.")
    return before[-1:] in (b"", b"-", b"[", b",", b":", b" ", b"\t", b"\r", b"\n")
