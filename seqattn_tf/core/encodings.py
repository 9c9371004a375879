"""Text encodings: check the name of an encoding, and detect the encoding of some bytes."""

import codecs
import io
from collections.abc import Iterator
from typing import IO

UTF8 = "utf-8"
SAMPLE = 2**22  # the number of bytes used to detect an encoding
_MARKS = {  # longer marks first: that of UTF-32 begins like that of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: UTF8,
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_PUNCTUATION = frozenset(  # and symbols in Western texts: quotes, dashes, currencies, fractions
    bytes([0x80, 0x82, 0x84, 0x85, *range(0x91, 0x9A), *range(0xA0, 0xC0), 0xD7, 0xF7]).decode("cp1252")
)
_MOSTLY_ASCII = 0.3  # the maximum share of non-ASCII bytes in a text in a Western language


def check_encoding(name: str) -> str:
    """Return the canonical name of a text encoding.

    Raises:
        ValueError: If Python has no encoding of this name.

    >>> check_encoding("UTF8"), check_encoding("windows-1252")
    ('utf-8', 'cp1252')
    """
    try:
        found = codecs.lookup(name).name
        "a\n".encode(found)
    except (LookupError, ValueError):
        raise ValueError(
            f"encoding: expected an encoding supported by Python, such as utf-8, cp1252 or utf-16. Received: {name!r}"
        ) from None
    return UTF8 if found == "utf-8-sig" else found


def mark_of(data: bytes) -> str:
    """Return the encoding indicated by a byte order mark, or an empty string if there is none.

    >>> mark_of("a".encode("utf-16")), mark_of(b"a")
    ('utf-16', '')
    """
    return next((name for mark, name in _MARKS.items() if data.startswith(mark)), "")


def guess(data: bytes) -> str:
    """Return the most likely encoding of some bytes, or an empty string if none is likely.

    It recognizes UTF-8, UTF-16 and UTF-32 by their byte order marks, UTF-16 without one by its zero bytes, and cp1252.

    >>> guess("Müller, naïve".encode("cp1252")), guess("Müller".encode()), guess("Müller".encode("utf-16-le"))
    ('cp1252', 'utf-8', 'utf-16-le')
    """
    if marked := mark_of(data):
        return marked
    if zeros := data.count(0):
        even = data[::2].count(0)
        wide = zeros > 0.2 * len(data)
        return "utf-16-be" if wide and even > 0.9 * zeros else "utf-16-le" if wide and even < 0.1 * zeros else ""
    try:
        data.decode(UTF8)
        return UTF8
    except UnicodeDecodeError as error:
        if error.end == len(data) and error.reason == "unexpected end of data":  # a sample may split a character
            return UTF8
    other = sum(byte >= 128 for byte in data)
    try:
        letters = [letter for letter in data.decode("cp1252") if letter >= "\x80"]
    except UnicodeDecodeError:
        return ""
    likely = all(letter.isalpha() or letter in _PUNCTUATION for letter in letters)
    return "cp1252" if likely and other <= _MOSTLY_ASCII * len(data) else ""


def misread(data: bytes) -> str | None:
    """Return the likely encoding of bytes that should not be read as UTF-8, or an empty string if it is unknown.

    Return None if they may be read as UTF-8: the bytes are valid, or at most one line is invalid, or there are at least
    as many valid lines with non-ASCII characters as invalid ones.

    >>> names = "Maier\\nMüller\\nKöln"
    >>> misread(names.encode("cp1252")), misread(names.encode()), misread("Maier\\nMüller".encode("cp1252"))
    ('cp1252', None, None)
    """
    found = guess(data)
    if found == UTF8:
        return None
    if mark_of(data) or found.startswith("utf"):
        return found
    whole, broken = 0, []
    for line in data.split(b"\n"):
        try:
            whole += bool(line.decode(UTF8)) and not line.isascii()
        except UnicodeDecodeError:
            broken.append(line)
    if len(broken) < 2 or len(broken) <= whole:
        return None
    return guess(b"\n".join(broken)) if found != "cp1252" else found


def described(found: str) -> str:
    """Return a description of a detected encoding for use in messages.

    >>> described("cp1252")
    'what appears to be cp1252'
    """
    if found.startswith(("utf-16", "utf-32")):
        return found.upper()
    return f"what appears to be {found}" if found else "another encoding"


def breaks_lines_as_ascii(encoding: str) -> bool:
    """Return whether the byte 10 ends a line, and occurs nowhere else."""
    return "a\n".encode(encoding) == b"a\n"


def iter_text(file: IO[bytes], encoding: str) -> Iterator[str]:
    """Yield the decoded lines of a file with their line ends; only a line feed ends a line."""
    if breaks_lines_as_ascii(encoding):
        yield from (line.decode(encoding) for line in file)
    else:
        with io.TextIOWrapper(file, encoding=encoding, newline="\n") as text:
            yield from text
