"""The exception of the serving package, with TF Serving's codes, and the conversion of other exceptions to it.

This module imports neither TensorFlow nor gRPC, which keeps the REST client small.
"""

from __future__ import annotations

import re

# Canonical codes; the index is the number of the code in gRPC and TensorFlow.
CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)

# If several codes share a status, a REST client reports the first one.
HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ALREADY_EXISTS": 409,
    "ABORTED": 409,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNKNOWN": 500,
    "DATA_LOSS": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}

_GRPC_MESSAGE_LIMIT = 1024

_STACK = re.compile(
    r"^(Graph execution error:|Detected at node .*|<stack traces unavailable>|Node: .*"
    r"|\s+File \".*|\d+ root error\(s\) found\.|\d+ (successful operations|derived errors ignored)\.)\s*$"
)
_NODES = re.compile(r"\s*\[\[[^\]]*\]\]|\s*\[Op:[^\]]*\]|\{\{(function_)?node [^}]*\}\}\s*")
_ASSERTED, _PART = re.compile(r"assertion failed: ((?:\[[^\]]*\]\s*)+)"), re.compile(r"\[([^\]]*)\]")
_FIRST_ROOT_ERROR = re.compile(r"^\s*\(0\)\s+[A-Z_]+:\s*(.*?)(?=^\s*\(1\)\s)", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"(?<![\w/.:])/(?:[\w.@+~-]+/)+(?=[\w.@+~-]*)")


class ServingError(Exception):
    """A failed request, load or connection, with a canonical code and a message for the client.

    Args:
        code: A name from `CODES` other than `OK`, as spelled in gRPC.
        message: What was expected and what was received.
    """

    def __init__(self, code: str, message: str):
        if code not in HTTP_STATUS:
            raise ValueError(f"code: expected one of {', '.join(HTTP_STATUS)}. Received: {code!r}")
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message

    @property
    def http_status(self) -> int:
        """The HTTP status of this code."""
        return HTTP_STATUS[self.code]

    @property
    def grpc_details(self) -> str:
        """The message, truncated to the length that TF Serving sends over gRPC."""
        if len(self.message) <= _GRPC_MESSAGE_LIMIT:
            return self.message
        return self.message[:_GRPC_MESSAGE_LIMIT] + "...TRUNCATED"


def invalid(message: str) -> ServingError:
    """Return an INVALID_ARGUMENT error, the code of nearly all invalid requests."""
    return ServingError("INVALID_ARGUMENT", message)


def deadline_exceeded() -> ServingError:
    """Return the error for a run that took too long, with TensorFlow's message."""
    return ServingError("DEADLINE_EXCEEDED", "Timed out waiting for notification")


def from_http(status: int, message: str) -> ServingError:
    """Return the error for an HTTP status; the code is UNKNOWN if the status is not in `HTTP_STATUS`."""
    code = next((code for code, known in HTTP_STATUS.items() if known == status), "UNKNOWN")
    return ServingError(code, message)


def from_exception(error: Exception, hide: str = "") -> ServingError:
    """Convert any exception to a `ServingError` for a client, with the folder `hide` removed from its message.

    A `tf.errors.OpError` keeps its code (it is recognized by its `error_code`, to avoid importing TensorFlow). Any
    other exception that is not a `ServingError` becomes INTERNAL, with its type in the message.
    """
    if isinstance(error, ServingError):
        return error
    number = getattr(error, "error_code", None)
    if isinstance(number, int) and 0 < number < len(CODES):
        return ServingError(CODES[number], clean(str(getattr(error, "message", error)).replace(hide, "")))
    first_line = next(iter(clean(str(error).replace(hide, "")).splitlines()), "")
    return ServingError("INTERNAL", f"{type(error).__name__}: {first_line}")


def clean(message: str) -> str:
    """Remove graph nodes, stack traces and local folders from a TensorFlow message.

    >>> clean("Graph execution error:\\n\\nDetected at node a\\nx > 3\\n\\t [[{{node a}}]] [Op:__inference_f_1]")
    'x > 3'
    """
    first = _FIRST_ROOT_ERROR.search(message)
    if first:
        message = first.group(1)
    message = _NODES.sub("", message)
    lines = [line for line in message.splitlines() if line.strip() and not _STACK.match(line)]
    return _PATH.sub("", "\n".join(lines)).strip()


def readable(message: str) -> str:
    """Format the message of a failed TensorFlow assertion like a Python error; return any other message unchanged.

    >>> readable("assertion failed: [text: expected at most 6 symbols, received] [7]")
    'text: expected at most 6 symbols. Received: 7'
    """
    found = _ASSERTED.search(message)
    if found is None:
        return message
    said = " ".join(part for part in _PART.findall(found[1]) if part.strip())
    expected, _, received = said.partition(", received")
    received = re.sub(r"^other bytes: (\d+)$", r"\1 bytes of another format", received.strip(" :"))
    return f"{expected}. Received: {received}" if received else expected
