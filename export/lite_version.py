"""The runtime version that a LiteRT file requires, read from the file without TensorFlow or an interpreter.

A LiteRT file is a FlatBuffer. A table starts with the backward offset of its field list, which contains the position of
each field; values that are not stored inline are referenced by an offset relative to its own position.
"""

import re
import struct

_KIND = b"TFL3"
_KEY = b"min_runtime_version"
_BUFFERS, _METADATA = 4, 6  # fields of the model
_NAME, _BUFFER = 0, 1  # fields of a metadata entry
_DATA = 0  # field of a buffer


def least_runtime(model: bytes) -> str:
    """Return the first runtime release with all ops of a LiteRT file, as recorded by the converter.

    The converter considers ops and their versions, but not the ranks that a release supports for them.

    Raises:
        ValueError: If it is not a LiteRT file, is damaged, or does not contain the version.
    """
    if model[4:8] != _KIND:
        raise ValueError(f"model: expected a LiteRT file. Received: {len(model)} bytes of another format")
    try:
        found = _metadata(model, _KEY)
    except (struct.error, IndexError):
        raise ValueError(
            f"model: expected a complete LiteRT file. Received: an incomplete file of {len(model)} bytes"
        ) from None
    version = found.rstrip(b"\0")
    if not re.fullmatch(rb"\d+(\.\d+)+", version):
        shown = repr(version.decode("ascii", "replace")) if version else "nothing"
        raise ValueError(f"model: expected a LiteRT file with a {_KEY.decode()}. Received: {shown:.40}")
    return version.decode()


def _metadata(model: bytes, key: bytes) -> bytes:
    """Return the metadata with this key, or empty bytes."""
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
    if place < 0:  # Python would count it from the end
        raise struct.error
    return struct.unpack_from(f"<{form}", model, place)[0]


def _follow(model: bytes, place: int) -> int:
    return place + _number(model, place)


def _field(model: bytes, table: int, field: int) -> int:
    """Return the position of a field of a table, or 0 if the table lacks it."""
    fields = table - _number(model, table, "i")
    entry = 4 + 2 * field  # after two sizes
    offset = _number(model, fields + entry, "H") if entry < _number(model, fields, "H") else 0
    return table + offset if offset else 0


def _entries(model: bytes, place: int) -> range:
    """Return the positions of the entries of a vector of tables."""
    if not place:
        return range(0)
    vector = _follow(model, place)
    return range(vector + 4, vector + 4 + 4 * _number(model, vector), 4)


def _bytes(model: bytes, place: int) -> bytes:
    """Return a string or a vector of bytes."""
    if not place:
        return b""
    vector = _follow(model, place)
    size = _number(model, vector)
    if vector + 4 + size > len(model):
        raise struct.error
    return model[vector + 4 : vector + 4 + size]
