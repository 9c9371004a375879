"""The formats of the records of text files: lines of text, JSON objects, and rows of CSV and TSV.

CSV follows RFC 4180, with semicolons if the first line has more of them than commas; TSV has no quotes. Blank lines of
JSONL, CSV and TSV are no records; every line of a text is one. A malformed record costs no other: after quotes that are
not closed, the next record starts on the next line.

Lines are bytes, so that an encoding must end them as ASCII does, and so that the place of a record is known.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

from seqattn_tf.core.encodings import UTF8

_LONGEST_CELL = 2**27  # characters
_UNDECODABLE = "surrogateescape"  # how bytes that cannot be decoded pass through the parser of CSV

Raw = bytes | list[str]  # a record before it is parsed: a line, or the cells of a row of CSV


class Mark(NamedTuple):
    """The start of a record: an offset in bytes (in Parquet a row number from 0), and a line number."""

    place: int
    line: int


START = Mark(0, 1)


class MalformedRecord(ValueError):
    """A record that cannot be parsed.

    Attributes:
        expected: What was expected.
        received: What was received.
    """

    def __init__(self, expected: str, received: str) -> None:
        super().__init__(f"expected {expected}. Received: {received}")
        self.expected, self.received = expected, received


class UndecodableRecord(MalformedRecord):
    """A record with bytes that are invalid in the encoding of its file."""


class LineFormat:
    """The format of a text with one record per line, and the base of all others.

    Args:
        encoding: An encoding in which the byte 10 ends a line, and occurs nowhere else.
    """

    ending: ClassVar[str] = ".txt"

    def __init__(self, encoding: str = UTF8) -> None:
        self.encoding = encoding

    def split(self, lines: Iterable[bytes], start: Mark = START) -> Iterator[tuple[Mark, Raw]]:
        """Yield the records of some lines, and where each starts.

        Args:
            lines: Lines with their line ends.
            start: Where the first of them starts.
        """
        place, line = start
        for data in lines:
            if not self.is_blank(data):
                yield Mark(place, line), data
            place, line = place + len(data), line + 1

    def is_blank(self, data: bytes) -> bool:
        """Return whether a line is no record."""
        return False

    def parse(self, raw: Raw) -> Any:
        """Return the value of a record.

        Raises:
            MalformedRecord: If it has none.
        """
        return self._decode(raw)

    def _decode(self, raw: Any) -> str:
        try:
            return str(raw, self.encoding).rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise UndecodableRecord("UTF-8" if self.encoding == UTF8 else self.encoding, error.reason) from None


class JsonFormat(LineFormat):
    """The format with one JSON object per line."""

    ending = ".jsonl"

    def is_blank(self, data: bytes) -> bool:
        """Return whether a line is no record."""
        return not data.strip()

    def parse(self, raw: Raw) -> dict[str, Any]:
        """Return the object in a line."""
        text = self._decode(raw)
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise MalformedRecord("JSON", str(error)) from None
        if not isinstance(found, dict):
            raise MalformedRecord("a JSON object", f"{text:.60}")
        return found


class TsvFormat(LineFormat):
    """The format of rows with tabs between cells, where a quote is an ordinary character."""

    ending = ".tsv"

    def is_blank(self, data: bytes) -> bool:
        """Return whether a line is no record; empty cells are one."""
        return not data.strip(b" \r\n")

    def parse(self, raw: Raw) -> list[str]:
        """Return the cells of a row."""
        return self._decode(raw).split("\t")


class CsvFormat(LineFormat):
    """The format of rows with commas or semicolons between cells, some of which may be quoted.

    Attributes:
        delimiter: The delimiter. If it is empty, the next file that is split determines it by its first line.
    """

    ending = ".csv"

    def __init__(self, encoding: str = UTF8) -> None:
        super().__init__(encoding)
        self.delimiter = ""

    def split(self, lines: Iterable[bytes], start: Mark = START) -> Iterator[tuple[Mark, Raw]]:
        """Yield the cells of rows, and where each starts; where quotes are unbalanced, yield the bytes of one line."""
        place, line = start
        ahead = _Lookahead(iter(lines), self.encoding)
        self.delimiter = self.delimiter or csv_delimiter(ahead.peek())
        while ahead.begin():
            found: Raw
            try:
                found = _next_row(ahead, self.delimiter)
            except csv.Error:
                ahead.give_back()
                found = ahead.first
            if found and (isinstance(found, list) or found.strip()):
                yield Mark(place, line), found
            place, line = place + len(ahead.first) + len(ahead.rest), line + ahead.count

    def parse(self, raw: Raw) -> list[str]:
        """Return the cells of a row."""
        if isinstance(raw, bytes):
            raise MalformedRecord("balanced quotes", "an unbalanced quote")
        try:
            "".join(raw).encode()
        except UnicodeEncodeError:
            for cell in raw:
                self._decode(cell.encode(self.encoding, _UNDECODABLE))
        return raw


FORMATS: dict[str, type[LineFormat]] = {kind.ending: kind for kind in (JsonFormat, CsvFormat, TsvFormat, LineFormat)}


def shown(raw: Raw) -> Any:
    """Return a record that cannot be parsed in a form that JSON can represent."""
    if isinstance(raw, bytes):
        return raw.decode("utf-8", "backslashreplace").rstrip("\r\n")
    return [cell.encode("utf-8", _UNDECODABLE).decode("utf-8", "backslashreplace") for cell in raw]


def csv_delimiter(header: str) -> str:
    """Return the delimiter of a file with this first line.

    >>> csv_delimiter('name;"last, first"'), csv_delimiter("name,age")
    (';', ',')
    """
    unquoted = re.sub('"[^"]*"', "", header)
    return ";" if unquoted.count(";") > unquoted.count(",") else ","


def _next_row(lines: Iterator[str], delimiter: str) -> list[str]:
    """Return the cells of the next row, reading as many lines as its quotes require; a blank line has no cells.

    Raises:
        csv.Error: If a quote is not closed or is misplaced.
    """
    limit = csv.field_size_limit(_LONGEST_CELL)  # applies to the whole process, so it is raised only briefly
    try:
        return next(csv.reader(lines, delimiter=delimiter, strict=True), [])
    finally:
        csv.field_size_limit(limit)


class _Lookahead:
    """The lines of a file for `csv.reader`, which takes as many as a row needs; all but the first may be given back.

    Attributes:
        first: The first line of the row.
        rest: The other lines of the row.
        count: The number of its lines.
    """

    def __init__(self, lines: Iterator[bytes], encoding: str) -> None:
        self.lines, self.encoding, self.waiting = lines, encoding, io.BytesIO()
        self.first, self.rest, self.count, self.given = b"", bytearray(), 0, False

    def peek(self) -> str:
        """Return the first line with content."""
        begin, data = bytearray(), b""
        while not data.strip() and (data := self._read()):
            begin += data
        self.waiting = io.BytesIO(begin)
        return data.decode(self.encoding, _UNDECODABLE)

    def begin(self) -> bool:
        """Start a new row with the next line; return whether there is one."""
        self.first, self.rest, self.given = self._read(), bytearray(), False
        self.count = bool(self.first)
        return bool(self.first)

    def give_back(self) -> None:
        """Return all lines but the first, which belong to other rows."""
        if self.rest:  # no line waits after these: a row that fails later than an earlier one has read at least as far
            self.waiting = io.BytesIO(self.rest)
        self.rest, self.count = bytearray(), 1

    def _read(self) -> bytes:
        return self.waiting.readline() or next(self.lines, b"")

    def __iter__(self) -> "_Lookahead":
        return self

    def __next__(self) -> str:
        data = self.first
        if self.given:
            if not (data := self._read()):
                raise StopIteration
            self.rest += data
            self.count += 1
        self.given = True
        return data.decode(self.encoding, _UNDECODABLE)
