"""Parse large JSON texts piece by piece with Python's parser, so that other threads run in between.

Python's parser keeps the interpreter's lock until it has read a whole text: a tenth of a second for a million numbers,
in which the server could not answer anyone.
"""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from seqattn_tf.serving.api.json_reader import Tick, as_object

PIECE = 1 << 16  # characters that are parsed at once; a longer list or object is parsed in pieces
_SCAN = json.JSONDecoder(object_pairs_hook=as_object)
_SPACE = re.compile(r"[ \t\r\n]*")
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_OPEN, _CLOSE = np.frombuffer(b"[{", np.uint8), np.frombuffer(b"]}", np.uint8)
_QUOTE, _COMMA = ord('"'), ord(",")


def parse(text: str, start: int = 0, tick: Tick = lambda: None) -> tuple[Any, int]:
    """Return the JSON value at a position of a text, and the position behind it.

    >>> parse('{"a": [1, 2]} and more')
    ({'a': [1, 2]}, 13)

    Args:
        text: The text.
        start: The position of the first character of the value.
        tick: A function that is called between pieces; it may raise an error to stop.

    Raises:
        ValueError: If the text is not valid JSON.
    """
    tick()
    if len(text) - start <= PIECE:
        return _SCAN.raw_decode(text, start)
    if text[start] == "[":
        return _list(text, start, tick)
    if text[start] == "{":
        return _object(text, start, tick)
    return _SCAN.raw_decode(text, start)


def _list(text: str, start: int, tick: Tick) -> tuple[list[Any], int]:
    values: list[Any] = []
    at = start + 1
    while True:
        end, is_last = _end_of_piece(text[at : at + PIECE])
        if end >= 0:
            found = _SCAN.decode(f"[{text[at : at + end]}]")
            if not found and (values or not is_last):
                raise ValueError(f"expected a value at character {at}")
            values += found
            at = _after(text, at + end, "]" if is_last else ",")
            if is_last:
                return values, at
        else:  # a value that is larger than a piece
            value, at = parse(text, _skip(text, at), tick)
            values.append(value)
            at = _skip(text, at)
            if text[at : at + 1] == "]":
                return values, at + 1
            at = _after(text, at, ",")
        tick()


def _end_of_piece(piece: str) -> tuple[int, bool]:
    """Return the position of the bracket that ends the list, or else of the last comma between its values; -1 if none.

    Returns:
        The position, and whether the list ends there.
    """
    letters = np.frombuffer(_ESCAPED.sub(b"xx", piece.encode("latin-1", "replace")), np.uint8)
    plain = ~np.logical_xor.accumulate(letters == _QUOTE)  # outside of strings
    steps = np.isin(letters, _OPEN).astype(np.int8) - np.isin(letters, _CLOSE)
    depth = np.cumsum(steps * plain, dtype=np.int32)
    ends = np.flatnonzero(depth < 0)
    if len(ends):
        return int(ends[0]), True
    commas = np.flatnonzero((letters == _COMMA) & plain & (depth == 0))
    return (int(commas[-1]) if len(commas) else -1), False


def _object(text: str, start: int, tick: Tick) -> tuple[dict[str, Any], int]:
    pairs: list[tuple[str, Any]] = []
    at = _skip(text, start + 1)
    if text[at : at + 1] == "}":
        return {}, at + 1
    while True:
        if text[at : at + 1] != '"':
            raise ValueError(f"expected a name at character {at}")
        name, at = _SCAN.raw_decode(text, at)
        at = _skip(text, _after(text, _skip(text, at), ":"))
        value, at = parse(text, at, tick)
        pairs.append((name, value))
        at = _skip(text, at)
        if text[at : at + 1] == "}":
            return as_object(pairs), at + 1
        at = _skip(text, _after(text, at, ","))


def _after(text: str, at: int, expected: str) -> int:
    if text[at : at + 1] != expected:
        raise ValueError(f"expected {expected!r} at character {at}")
    return at + 1


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    assert match is not None  # the pattern matches an empty text
    return match.end()
