"""The JSON object of a request body, with the words of TF Serving's parser for what is none. Knows no TensorFlow."""

from __future__ import annotations

import json
import re
from typing import Any

from seqattn_tf.serving.api.json_values import shown
from seqattn_tf.serving.errors import invalid

# What Python's parser says -> what TF Serving's says of the same fault.
_FAULTS = {
    "Expecting value": "Invalid value.",
    "Expecting property name": "Missing a name for object member.",
    "Illegal trailing comma before end of object": "Missing a name for object member.",
    "Illegal trailing comma before end of array": "Invalid value.",
    "Expecting ':' delimiter": "Missing a colon after a name of object member.",
    "Unterminated string": "Missing a closing quotation mark in string.",
    "Invalid control character": "Invalid encoding in string.",
    "Invalid \\u": "Incorrect hex digit after \\u escape in string.",
    "Invalid \\": "Invalid escape character in string.",
}
_NO_COMMA = {
    "{": "Missing a comma or } after an object member.",
    "[": "Missing a comma or ] after an array element.",
}
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def parse_document(body: bytes) -> dict[str, Any]:
    """The JSON object of a body. What follows the object is ignored, NaN and Infinity are numbers."""
    if not body:
        raise invalid("JSON Parse error: The document is empty")
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise invalid(f"JSON Parse error: Invalid encoding in string. at offset: {error.start}") from None
    start = len(text) - len(text.lstrip(" \t\r\n"))
    if start == len(text):
        raise invalid(f"JSON Parse error: The document is empty. at offset: {len(body)}")
    try:
        document, _ = json.JSONDecoder().raw_decode(text, start)
        if _SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode()
    except RecursionError:
        raise invalid("JSON Parse error: lists or objects are nested too deeply") from None
    except UnicodeEncodeError:  # a half of a pair that has no other
        raise invalid("JSON Parse error: The surrogate pair in string is invalid.") from None
    except json.JSONDecodeError as error:
        offset = len(body) - len(text[error.pos :].encode())
        raise invalid(f"JSON Parse error: {_fault(error.msg, text[: error.pos])} at offset: {offset}") from None
    except ValueError:  # Python refuses integers of thousands of digits
        raise invalid("JSON Parse error: Number too big to be stored in double.") from None
    if not isinstance(document, dict):
        raise invalid(f"JSON Value: {shown(document)} Is not object")
    return document


def _fault(message: str, before: str) -> str:
    """A fault of Python's JSON parser in the words of TF Serving's, which tells lists and objects apart."""
    if message.startswith("Expecting ',' delimiter"):
        open_brackets = []
        for token in _TOKENS.findall(before):
            if token in "[{":
                open_brackets.append(token)
            elif token in "]}":
                open_brackets.pop()
        return _NO_COMMA[open_brackets[-1]]
    return next((ours for theirs, ours in _FAULTS.items() if message.startswith(theirs)), message)
