"""What a LiteRT file needs, read from the file alone: neither TensorFlow nor an interpreter is loaded.

A LiteRT file is a FlatBuffer. A table begins with the way back to its list of fields, which says where each of them
stands; what is not in place is behind an offset that counts from where it is written.
"""

import re
import struct

_KIND = b"TFL3"
_KEY = b"min_runtime_version"
_BUFFERS, _METADATA = 4, 6  # fields of the model
_NAME, _BUFFER = 0, 1  # of an entry of the metadata
_DATA = 0  # of a buffer


def least_runtime(model: bytes) -> str:
    """The first release of the runtime that has every op of a LiteRT file, by the converter that wrote it.

    It knows the ops and their versions, not for how many axes a release runs them.

    Raises:
        ValueError: it is no LiteRT file, or a broken one, or one that does not say.
    """
    if model[4:8] != _KIND:
        raise ValueError(f"model: expected a LiteRT file. Received: {len(model)} bytes of something else")
    try:
        found = _metadata(model, _KEY)
    except (struct.error, IndexError):
        raise ValueError(f"model: expected a whole LiteRT file. Received: {len(model)} bytes of one") from None
    version = found.rstrip(b"\0")
    if not re.fullmatch(rb"\d+(\.\d+)+", version):
        said = repr(version.decode("ascii", "replace")) if version else "nothing"
        raise ValueError(f"model: expected a LiteRT file with a {_KEY.decode()}. Received: {said:.40}")
    return version.decode()


def _metadata(model: bytes, key: bytes) -> bytes:
    """What stands under a key, empty where there is no such key."""
    root = _follow(model, 0)
    buffers = _entries(model, _field(model, root, _BUFFERS))
    for entry in _entries(model, _field(model, root, _METADATA)):
        table = _follow(model, entry)
        if _bytes(model, _field(model, table, _NAME)) == key:
            number = _field(model, table, _BUFFER)
            buffer = buffers[_number(model, number) if number else 0]
            return _bytes(model, _field(model, _follow(model, buffer), _DATA))
    return b""


def _number(model: bytes, place: int, form: str = "I") -> int:
    if place < 0:  # which Python would count from the end
        raise struct.error
    return struct.unpack_from(f"<{form}", model, place)[0]


def _follow(model: bytes, place: int) -> int:
    return place + _number(model, place)


def _field(model: bytes, table: int, field: int) -> int:
    """Where a field of a table stands; 0 where the table lacks it."""
    fields = table - _number(model, table, "i")
    entry = 4 + 2 * field  # behind two sizes
    offset = _number(model, fields + entry, "H") if entry < _number(model, fields, "H") else 0
    return table + offset if offset else 0


def _entries(model: bytes, place: int) -> range:
    """Where the entries of a vector of tables stand."""
    if not place:
        return range(0)
    vector = _follow(model, place)
    return range(vector + 4, vector + 4 + 4 * _number(model, vector), 4)


def _bytes(model: bytes, place: int) -> bytes:
    """A string, or a vector of bytes."""
    if not place:
        return b""
    vector = _follow(model, place)
    size = _number(model, vector)
    if vector + 4 + size > len(model):
        raise struct.error
    return model[vector + 4 : vector + 4 + size]
