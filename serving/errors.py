"""The one error of the serving package, with TF Serving's codes, and the way from other exceptions to it.

Nothing here imports TensorFlow or gRPC, so that the REST client stays light.
"""

from __future__ import annotations

import re

# Canonical codes: the position is the number that gRPC and TensorFlow give to the code.
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

# Where several codes share a status, the first one listed is what a REST client reports.
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
    """A request, a load or a connection that failed, with a canonical code and a message for the client.

    Args:
        code: a name of `CODES` other than `OK`, as gRPC spells it.
        message: what was expected and what was received.
    """

    def __init__(self, code: str, message: str):
        if code not in HTTP_STATUS:
            raise ValueError(f"code: expected one of {', '.join(HTTP_STATUS)}. Received: {code!r}")
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message

    @property
    def http_status(self) -> int:
        """The HTTP status that carries this code."""
        return HTTP_STATUS[self.code]

    @property
    def grpc_details(self) -> str:
        """The message, cut to the length that TF Serving sends over gRPC."""
        if len(self.message) <= _GRPC_MESSAGE_LIMIT:
            return self.message
        return self.message[:_GRPC_MESSAGE_LIMIT] + "...TRUNCATED"


def invalid(message: str) -> ServingError:
    """An INVALID_ARGUMENT: what nearly every fault of a request is."""
    return ServingError("INVALID_ARGUMENT", message)


def from_http(status: int, message: str) -> ServingError:
    """The error behind an HTTP status; statuses outside the map are UNKNOWN."""
    code = next((code for code, known in HTTP_STATUS.items() if known == status), "UNKNOWN")
    return ServingError(code, message)


def from_exception(error: Exception, hide: str = "") -> ServingError:
    """Any exception as a `ServingError` fit for a client, without the folder `hide` in its message.

    A `tf.errors.OpError` keeps its code (it is known by its `error_code`, so that TensorFlow need not be imported);
    everything that is neither that nor a `ServingError` is INTERNAL and says its type.
    """
    if isinstance(error, ServingError):
        return error
    number = getattr(error, "error_code", None)
    if isinstance(number, int) and 0 < number < len(CODES):
        return ServingError(CODES[number], clean(str(getattr(error, "message", error)).replace(hide, "")))
    first_line = next(iter(clean(str(error).replace(hide, "")).splitlines()), "")
    return ServingError("INTERNAL", f"{type(error).__name__}: {first_line}")


def clean(message: str) -> str:
    """A TensorFlow message without graph nodes, stack traces and folders of this machine.

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
    """What TensorFlow says of a failed assertion as the field would say it in Python; anything else as it is.

    >>> readable("assertion failed: [text: expected at most 6 symbols, received] [7]")
    'text: expected at most 6 symbols. Received: 7'
    """
    found = _ASSERTED.search(message)
    if found is None:
        return message
    said = " ".join(part for part in _PART.findall(found[1]) if part.strip())
    expected, _, received = said.partition(", received")
    received = re.sub(r"^other bytes: (\d+)$", r"\1 bytes of something else", received.strip(" :"))
    return f"{expected}. Received: {received}" if received else expected
