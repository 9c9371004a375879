"""A JSON parser that mirrors TF Serving's parser byte by byte, including its error messages.

Python's parser is faster and is tried first (`json_parser`). This one is for input on which the two differ: `Inf`,
numbers too large for a double, unpaired surrogates, invalid UTF-8, and invalid JSON. It is not recursive, so nesting
depth is unlimited. Does not need TensorFlow.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

from seqattn_tf.serving.errors import ServingError, invalid

_SPACE = re.compile(rb"[ \t\r\n]*")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_DIGITS = re.compile(rb"[0-9]*")
_INTEGER = re.compile(rb"-?(?:0|[1-9][0-9]*)")
_HEX = re.compile(rb"[0-9a-fA-F]{4}")
_LITERALS = {b"t": (b"true", True), b"f": (b"false", False), b"n": (b"null", None)}
_ESCAPES = {b'"': b'"', b"\\": b"\\", b"/": b"/", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
INT64_TO_UINT64 = range(-(2**63), 2**64)
_MOST_EXPONENT = 308  # the largest decimal exponent of a double
_END = b""
_TICK = 4096  # values
Tick = Callable[[], None]  # called from time to time; may raise an error to stop


class Repeated(dict):
    """An object with duplicate keys: the first value counts, or the last one in the features of examples.

    Attributes:
        pairs: All members in their order.
        last: The last value of each name.
    """

    def __init__(self, pairs: list[tuple[str, Any]]):
        super().__init__()
        for name, value in pairs:
            self.setdefault(name, value)
        self.pairs = pairs
        self.last = dict(pairs)


def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object as a dictionary."""
    made = dict(pairs)
    return made if len(made) == len(pairs) else Repeated(pairs)


def read_document(body: bytes, tick: Tick = lambda: None) -> Any:
    """Return the value at the start of a body; text after it is ignored.

    Bytes of strings that are not valid UTF-8 are represented as in Python's `surrogateescape`.

    Raises:
        ServingError: If the body is invalid, with the message and offset of TF Serving.
    """
    return _Reader(body).document(tick)


class _Reader:
    """A parser at a position in a body. A NUL byte ends the body, as in a C string."""

    def __init__(self, body: bytes):
        self._body = body.partition(b"\0")[0]
        self._at = 3 if body.startswith(b"\xef\xbb\xbf") else 0

    def document(self, tick: Tick) -> Any:
        self._skip()
        if self._peek() in (_END, b"]", b"}", b",", b":"):
            raise self._fault("The document is empty.")
        open_lists: list[list] = []  # the values of each open list, or the members of each open object
        names: list[str | None] = []  # the name of each open object's current member; None for a list
        for count in itertools.count():
            if count % _TICK == 0:
                tick()
            self._skip()
            value, closed = self._begin(open_lists, names)
            while closed:
                if not open_lists:
                    return value
                open_lists[-1].append(value if names[-1] is None else (names[-1], value))
                value, closed = self._after(open_lists, names)

    def _begin(self, open_lists: list[list], names: list[str | None]) -> tuple[Any, bool]:
        """Read a scalar or an empty list or object, or open a list or object.

        Returns:
            The value, and whether it is complete.
        """
        first = self._peek()
        if first not in (b"[", b"{"):
            return self._scalar(first), True
        self._at += 1
        self._skip()
        if self._peek() == (b"]" if first == b"[" else b"}"):
            self._at += 1
            return [] if first == b"[" else {}, True
        open_lists.append([])
        names.append(None if first == b"[" else self._name())
        return None, False

    def _after(self, open_lists: list[list], names: list[str | None]) -> tuple[Any, bool]:
        """Read what follows a value in a list or object: a comma, or the end, which completes the list or object."""
        self._skip()
        is_list = names[-1] is None
        following = self._peek()
        if following == b",":
            self._at += 1
            self._skip()
            if not is_list:
                names[-1] = self._name()
            return None, False
        if following != (b"]" if is_list else b"}"):
            end, of = ("]", "an array element") if is_list else ("}", "an object member")
            raise self._fault(f"Missing a comma or '{end}' after {of}.")
        self._at += 1
        names.pop()
        values = open_lists.pop()
        return values if is_list else as_object(values), True

    def _name(self) -> str:
        if self._peek() != b'"':
            raise self._fault("Missing a name for object member.")
        name = self._string()
        self._skip()
        if self._peek() != b":":
            raise self._fault("Missing a colon after a name of object member.")
        self._at += 1
        return name

    def _scalar(self, first: bytes) -> Any:
        if first == b'"':
            return self._string()
        if first not in _LITERALS:
            return self._number()
        word, value = _LITERALS[first]
        if not self._consume(word):
            raise self._fault("Invalid value.")
        return value

    def _string(self) -> str:
        self._at += 1
        parts = []
        while True:
            parts.append(self._take(_PLAIN))
            following = self._peek()
            if following == b'"':
                self._at += 1
                return b"".join(parts).decode("utf-8", "surrogateescape")
            if following == _END:
                raise self._fault("Missing a closing quotation mark in string.")
            if following != b"\\":
                raise self._fault("Invalid escape character in string.")
            parts.append(self._escape())

    def _escape(self) -> bytes:
        start = self._at
        letter = self._body[start + 1 : start + 2]
        if letter in _ESCAPES:
            self._at += 2
            return _ESCAPES[letter]
        if letter != b"u":
            raise self._fault("Invalid escape character in string.")
        code = self._hex(start)
        if 0xD800 <= code <= 0xDBFF:
            low = self._hex(start) if self._body.startswith(b"\\u", self._at) else 0
            if not 0xDC00 <= low <= 0xDFFF:
                raise self._fault("The surrogate pair in string is invalid.", start)
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
        return chr(code).encode("utf-8", "surrogatepass")

    def _hex(self, start: int) -> int:
        r"""Read a \uXXXX escape and return its number."""
        digits = _HEX.match(self._body, self._at + 2)
        if digits is None:
            raise self._fault("Incorrect hex digit after \\u escape in string.", start)
        self._at = digits.end()
        return int(digits.group(), 16)

    def _number(self) -> int | float:
        start = self._at
        integer = self._take(_INTEGER)
        if not integer:
            return self._no_digits()
        if math.isinf(float(integer)):
            raise self._fault("Number too big to be stored in double.", start)
        fraction = self._digits("Miss fraction part in number.") if self._consume(b".") else b""
        exponent = b""
        if self._consume(b"e") or self._consume(b"E"):
            negative = not self._consume(b"+") and self._consume(b"-")
            exponent = self._digits("Miss exponent in number.")
            if not negative and int(exponent.lstrip(b"0")[:9] or 0) > _MOST_EXPONENT + len(fraction):
                raise self._fault("Number too big to be stored in double.", start)
        if fraction or exponent:
            return float(self._body[start : self._at])
        whole = int(integer)
        return whole if whole in INT64_TO_UINT64 else float(whole)

    def _no_digits(self) -> float:
        """Read NaN, Inf or Infinity; each may have a minus sign."""
        sign = -1 if self._consume(b"-") else 1
        if self._consume(b"NaN"):
            return math.nan
        if not self._consume(b"Inf") or (self._peek() == b"i" and not self._consume(b"inity")):
            raise self._fault("Invalid value.")
        return sign * math.inf

    def _digits(self, missing: str) -> bytes:
        found = self._take(_DIGITS)
        if not found:
            raise self._fault(missing)
        return found

    def _take(self, pattern: re.Pattern[bytes]) -> bytes:
        """Consume and return the text that matches here; empty if there is no match."""
        found = pattern.match(self._body, self._at)
        if found is None:
            return b""
        self._at = found.end()
        return found.group()

    def _consume(self, word: bytes) -> bool:
        """Consume a word and return whether it is complete.

        If it is not, the matching part is consumed nevertheless, so that the error offset points to the mismatch.
        """
        for letter in word:
            if self._body[self._at : self._at + 1] != bytes([letter]):
                return False
            self._at += 1
        return True

    def _peek(self) -> bytes:
        return self._body[self._at : self._at + 1]

    def _skip(self) -> None:
        self._take(_SPACE)

    def _fault(self, message: str, at: int | None = None) -> ServingError:
        return invalid(f"JSON Parse error: {message} at offset: {self._at if at is None else at}")
