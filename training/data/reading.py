"""Functions that read lines and rows of a file (plain, gzip or xz) and report malformed lines by their numbers.

Files are in UTF-8 unless `reading_with` names another encoding. A file that appears to be in a different encoding is an
error, and so is one in which the share of malformed rows exceeds `max_bad_rows`.

A table is CSV (RFC 4180: values that contain a comma, a quote or a line break are quoted; the separator is a semicolon
if the first line has more semicolons than commas), TSV (no quoting: a quote is an ordinary character) or JSONL (one
object per line).
"""

import codecs
import contextlib
import contextvars
import dataclasses
import json
import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from seqattn_tf.core.compressed import bare, open_file
from seqattn_tf.core.encodings import (
    SAMPLE,
    UTF8,
    breaks_lines_as_ascii,
    check_encoding,
    described,
    guess,
    iter_text,
    mark_of,
    misread,
)
from seqattn_tf.core.records import FORMATS, LineFormat, MalformedRecord, TsvFormat, UndecodableRecord, shown
from seqattn_tf.training.data.examples import DataWarning

TABLES = (".csv", ".tsv", ".jsonl")
SPELLED_OUT = 20  # malformed lines of a file that are reported in full; the others are counted
_FIRST = 3  # malformed lines that an error message shows
_Values = Iterator[tuple[int, Any]]  # of records, each with the number of its first line; an error if it is malformed
_Rows = Iterator[tuple[int, list[Any]]]


def split_name(path: Path) -> tuple[str, str]:
    """Split a file name into stem and ending: `train.tok.de.gz` becomes `train.tok`, `de`.

    The endings of tables keep their dot, to tell them from languages.
    """
    name = bare(Path(path.name))
    last = name.suffix.lower() if name.suffix.lower() in TABLES else name.suffix[1:]
    return name.stem, last


@dataclasses.dataclass(frozen=True)
class ReadingRules:
    """The rules for reading files: their encoding, and the share of the rows of a file that may be malformed."""

    encoding: str = UTF8
    max_bad_rows: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoding", check_encoding(self.encoding))
        if not 0 <= self.max_bad_rows <= 1:
            raise ValueError(f"max_bad_rows: expected a fraction from 0 to 1. Received: {self.max_bad_rows}")


_DEFAULT = ReadingRules()
_RULES: contextvars.ContextVar[ReadingRules] = contextvars.ContextVar("reading_rules", default=_DEFAULT)


def current_rules() -> ReadingRules:
    """Return the rules currently used for reading files."""
    return _RULES.get()


@contextlib.contextmanager
def reading_with(encoding: str = UTF8, max_bad_rows: float = 0.01) -> Iterator[None]:
    """Read all files by these rules inside the `with` block.

    >>> with reading_with(encoding="windows-1252"):
    ...     current_rules()
    ReadingRules(encoding='cp1252', max_bad_rows=0.01)
    """
    token = _RULES.set(ReadingRules(encoding, max_bad_rows))
    try:
        yield
    finally:
        _RULES.reset(token)


def _sample(path: Path) -> bytes:
    with open_file(path) as file:
        return file.read(SAMPLE)


def _refuse_encoding(path: Path, found: str, where: str = "") -> None:
    """Raise the error for a file that is not in UTF-8."""
    name = f"{path}, line {where}" if where else f"{path}"
    advice = f"; save it as UTF-8, or use --set encoding={found or 'NAME'}"
    raise ValueError(f"{name}: expected UTF-8. Received: {described(found)}{advice}")


def _check_mark(path: Path, begin: bytes, encoding: str) -> None:
    """Raise an error if the first bytes of a file show that it is in another encoding."""
    marked = mark_of(begin)
    if encoding == UTF8 and (marked not in ("", UTF8) or 0 in begin):
        found = marked or guess(_sample(path))
        if found != UTF8 and (marked or found):
            _refuse_encoding(path, found)
    elif marked and not encoding.startswith(marked):
        raise ValueError(f"{path}: expected {encoding}. Received: the byte order mark of {marked}")


def read_text(path: str | Path) -> str:
    """Return the text of a file, without a byte order mark and with line feeds as line endings."""
    path, encoding = Path(path), current_rules().encoding
    with open_file(path) as file:
        data = file.read()
    _check_mark(path, data[:4096], encoding)
    try:
        return data.decode("utf-8-sig" if encoding == UTF8 else encoding).replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        if encoding == UTF8 and (found := misread(data)) is not None:
            _refuse_encoding(path, found, str(number))
        raise ValueError(f"{path}, line {number}: expected {_spoken(encoding)}. Received: {error.reason}") from None


def _spoken(encoding: str) -> str:
    return "UTF-8" if encoding == UTF8 else encoding


class Faults:
    """A record of the malformed lines of one file: the first ones are reported in full, the others are counted.

    Attributes:
        count: The number of reports.
        lost: The number of rows lost.
    """

    def __init__(self, name: str) -> None:
        self.name, self.count, self.lost = name, 0, 0
        self._first: list[str] = []

    def add(self, where: int | str, expected: str, received: object, lost: int = 1) -> None:
        """Report a malformed line, by its number, or another malformed item, by its name.

        Args:
            where: The line number or the name.
            expected: What was expected.
            received: What was received.
            lost: The number of rows that are lost with it.
        """
        self.count += 1
        self.lost += lost
        place = f"line {where}" if isinstance(where, int) else where
        shown = received if isinstance(received, int) else repr(str(received)[:60])
        reason = f"{place}: expected {expected}. Received: {shown}"
        if len(self._first) < _FIRST and lost:
            self._first.append(reason)
        if self.count <= SPELLED_OUT:
            self._warn(f"{self.name}, {reason}")

    def close(self, good: int, what: str = "rows") -> None:
        """Report how many more malformed lines there were, and raise an error if too many rows are lost.

        Args:
            good: The number of rows read.
            what: The name of the rows in messages.
        """
        if self.count > SPELLED_OUT:
            self._warn(f"{self.name}: {self.count - SPELLED_OUT} more malformed lines skipped")
        refuse_loss(self.name, self.lost, self.lost + good, what, self._first)

    @staticmethod
    def _warn(message: str) -> None:
        warnings.warn(message, DataWarning, stacklevel=4)


def refuse_loss(name: str, lost: int, total: int, what: str = "rows", first: Sequence[str] = ()) -> None:
    """Raise an error if more than the allowed share of rows is lost.

    Args:
        name: The name of the file.
        lost: The number of malformed rows.
        total: The number of all rows.
        what: The name of the rows in messages.
        first: Descriptions of the first malformed rows.
    """
    most = current_rules().max_bad_rows
    if total and lost > most * total:
        allowed = math.ceil(100 * lost / total) / 100
        shown = "; ".join([*first, *(["..."] if lost > len(first) else [])])
        raise ValueError(
            f"{name}: expected at most {100 * most:g} % malformed {what}. Received: {lost} of {total} ({shown}). "
            f"Fix them, or skip them with --set max_bad_rows={allowed:g}"
        )


def iter_lines(path: Path, faults: Faults) -> Iterator[str | None]:
    """Yield the lines of a file without their line endings, and None for a line that cannot be decoded."""
    for _, line in _iter_parsed(path, LineFormat.ending, faults):
        yield None if isinstance(line, MalformedRecord) else line


def _iter_parsed(path: Path, ending: str, faults: Faults) -> _Values:
    """Yield the values of the records of a file. A malformed one is reported, and yielded as an error."""
    encoding = current_rules().encoding
    wide, whole, broken = not breaks_lines_as_ascii(encoding), 0, 0
    records = FORMATS[ending](UTF8 if wide else encoding)
    with open_file(path) as file:
        for mark, raw in records.split((_recoded if wide else _checked)(path, file, encoding)):
            try:
                value = records.parse(raw)
                whole += not (raw.isascii() if isinstance(raw, bytes) else all(map(str.isascii, raw)))
            except UndecodableRecord as error:
                if not broken and encoding == UTF8 and (found := misread(_sample(path))) is not None:
                    _refuse_encoding(path, found, str(mark.line))
                broken += 1
                faults.add(mark.line, error.expected, error.received)
                value = error
            except MalformedRecord as error:
                faults.add(mark.line, error.expected, shown(raw))
                value = error
            yield mark.line, value
    if broken > max(whole, 1) and encoding == UTF8:
        _refuse_encoding(path, "")


def _checked(path: Path, file: IO[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the lines of a file without a byte order mark, after checking how it begins."""
    first = file.readline()
    _check_mark(path, first, encoding)
    yield _nonempty(path, first).removeprefix(codecs.BOM_UTF8 if encoding == UTF8 else b"")
    yield from file


def _recoded(path: Path, file: IO[bytes], encoding: str) -> Iterator[bytes]:
    """Yield the lines of a file in an encoding with several bytes per character, in UTF-8 without a byte order mark.

    Reading cannot continue after a broken line in such an encoding, so the first one is an error.
    """
    lines = iter_text(file, encoding)
    try:
        yield _nonempty(path, next(lines, "").encode()).removeprefix(codecs.BOM_UTF8)
        yield from map(str.encode, lines)
    except UnicodeError as error:
        reason = getattr(error, "reason", error)
        raise ValueError(f"{path}: expected {encoding}. Received: {reason}") from None


def _nonempty(path: Path, first: bytes) -> bytes:
    if not first:
        raise ValueError(f"{path}: expected at least one line. Received: an empty file")
    return first


def read_lines(path: Path, faults: Faults) -> list[str | None]:
    """Return all lines of `iter_lines`."""
    return list(iter_lines(path, faults))


def fault_of(cell: object) -> str | None:
    """Return what is expected of a malformed value of an example, or None if the value is valid."""
    if not isinstance(cell, str):
        return "text"
    if not cell.strip():
        return "nonempty text"
    try:
        cell.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can represent
        return "complete characters"
    return None


def read_rows(path: str | Path, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return all rows of `iter_rows`."""
    return list(iter_rows(path, columns))


def iter_rows(path: str | Path, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield some columns of each row of a table, stripped of surrounding whitespace. Malformed lines are reported.

    Args:
        path: A `.csv` or `.jsonl` file; any other file is read as TSV. `.gz` and `.xz` files are decompressed.
        columns: Keys, column numbers from 0, or names, which the first line must then contain.
    """
    path, good = Path(path), 0
    faults = Faults(path.name)
    ending = split_name(path)[1]
    values = _iter_parsed(path, ending if ending in TABLES else TsvFormat.ending, faults)
    found = _objects(values, columns, faults) if ending == ".jsonl" else _cells(path, values, columns, faults)
    for number, cells in found:
        cells = [_as_text(cell) for cell in cells]
        bad = next((i for i, cell in enumerate(cells) if fault_of(cell)), None)
        if bad is None:
            good += 1
            yield tuple(cell.replace("\r\n", "\n").strip() for cell in cells)
        else:
            faults.add(number, f"{fault_of(cells[bad])} in {columns[bad]!r}", cells[bad])
    if not good:
        raise ValueError(f"{path}: expected at least one valid row. Received: {faults.count or 'no'} malformed ones")
    faults.close(good)


def _as_text(cell: Any) -> Any:
    """Return numbers and booleans, which occur in JSON, as JSON text."""
    return json.dumps(cell) if isinstance(cell, bool | int | float) else cell


def _objects(values: _Values, keys: Sequence[str], faults: Faults) -> _Rows:
    """Yield the values of some keys of each object."""
    for number, entry in values:
        if isinstance(entry, MalformedRecord):
            continue
        if all(key in entry for key in keys):
            yield number, [entry[key] for key in keys]
        else:
            faults.add(number, f"a JSON object with the keys {list(keys)}", list(entry))


def _cells(path: Path, rows: _Values, columns: Sequence[str], faults: Faults) -> _Rows:
    """Yield some cells of each row of a CSV or TSV file.

    The first line of a CSV file always contains the names of the columns. It also defines the number of cells of each
    row: an additional cell is due to a comma that was not quoted. The first line of a TSV file contains names if
    columns are given by name.
    """
    is_csv = split_name(path)[1] == ".csv"
    header: list[str] = []
    width = None
    if is_csv or not all(map(str.isdecimal, columns)):
        number, first = next(rows, (1, []))
        if isinstance(first, UndecodableRecord):
            _refuse_encoding(path, guess(_sample(path)), str(number))
        if isinstance(first, MalformedRecord):
            raise ValueError(f"{path}, line {number}: {first}")
        header, width = [cell.strip() for cell in first], len(first) if is_csv else None
    shown_names = [name[:30] for name in header]
    if missing := [column for column in columns if not column.isdecimal() and column not in header]:
        raise ValueError(f"{faults.name}: expected columns named {missing} in its first line. Received: {shown_names}")
    if twice := [column for column in columns if header.count(column) > 1]:
        raise ValueError(f"{faults.name}: expected a single column named {twice[0]!r}. Received: {shown_names}")
    places = [header.index(column) if column in header else int(column) for column in columns]
    for number, cells in rows:
        if isinstance(cells, MalformedRecord):
            continue
        if len(cells) <= max(places):
            faults.add(number, f"at least {max(places) + 1} columns", "\t".join(cells))
        elif width is not None and len(cells) != width:
            faults.add(number, f"{width} columns, as in the first line", ",".join(cells))
        else:
            yield number, [cells[place] for place in places]
