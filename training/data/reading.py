"""Lines and rows of one file: plain, gzip or xz, every malformed line reported with its number.

Files are in UTF-8 unless `reading_with` names another encoding. A file that appears to be in another one is refused,
and so is one of which more rows are malformed than `max_bad_rows` allows.

A table is CSV (RFC 4180: quotes around what holds a comma, a quote or a line break; semicolons as separators, where the
first line has more of them), TSV (no quoting: a quote is a quote) or JSONL (one object per line).
"""

import collections
import contextlib
import contextvars
import csv
import dataclasses
import itertools
import json
import math
import re
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
from seqattn_tf.training.data.examples import DataWarning

TABLES = (".csv", ".tsv", ".jsonl")
SPELLED_OUT = 20  # malformed lines of a file; more are counted
_FIRST = 3  # malformed lines that an error names
LONGEST_CELL = 2**27  # characters of a cell of a CSV file
_Lines = Iterator[str | None]
_Rows = Iterator[tuple[int, list[Any]]]  # each with the number of its first line


def split_name(path: Path) -> tuple[str, str]:
    """`train.tok.de.gz` -> `train.tok`, `de`; the endings of tables keep their dot, being no languages."""
    name = bare(Path(path.name))
    last = name.suffix.lower() if name.suffix.lower() in TABLES else name.suffix[1:]
    return name.stem, last


@dataclasses.dataclass(frozen=True)
class ReadingRules:
    """How files are read: their encoding, and the share of the rows of a file that may be malformed."""

    encoding: str = UTF8
    max_bad_rows: float = 0.01

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoding", check_encoding(self.encoding))
        if not 0 <= self.max_bad_rows <= 1:
            raise ValueError(f"max_bad_rows: expected a share from 0 to 1. Received: {self.max_bad_rows}")


_DEFAULT = ReadingRules()
_RULES: contextvars.ContextVar[ReadingRules] = contextvars.ContextVar("reading_rules", default=_DEFAULT)


def current_rules() -> ReadingRules:
    """Return the rules by which files are read now."""
    return _RULES.get()


@contextlib.contextmanager
def reading_with(encoding: str = UTF8, max_bad_rows: float = 0.01) -> Iterator[None]:
    """Read all files by these rules for as long as the block runs.

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
    advice = f"; save it as UTF-8, or --set encoding={found or 'NAME'}"
    raise ValueError(f"{name}: expected UTF-8. Received: {described(found)}{advice}")


def _check_mark(path: Path, begin: bytes, encoding: str) -> None:
    """Refuse a file whose first bytes show that it is in another encoding."""
    marked = mark_of(begin)
    if encoding == UTF8 and (marked not in ("", UTF8) or 0 in begin):
        found = marked or guess(_sample(path))
        if found != UTF8 and (marked or found):
            _refuse_encoding(path, found)
    elif marked and not encoding.startswith(marked):
        raise ValueError(f"{path}: expected {encoding}. Received: the byte order mark of {marked}")


def read_text(path: str | Path) -> str:
    """Return a whole text, a byte order mark dropped, every line ending in one line feed."""
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
    """The malformed lines of one file: the first ones spelled out, the rest counted.

    Attributes:
        count: lines that were reported.
        lost: rows that are lost with them.
    """

    def __init__(self, name: str) -> None:
        self.name, self.count, self.lost = name, 0, 0
        self._first: list[str] = []

    def add(self, where: int | str, expected: str, received: object, lost: int = 1) -> None:
        """Report the line of a number, or something else by its name, with which so many rows are lost."""
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
        """Say how many more there were, and refuse the file if too many of its rows are lost.

        Args:
            good: how many rows were read.
            what: what the rows are called.
        """
        if self.count > SPELLED_OUT:
            self._warn(f"{self.name}: {self.count - SPELLED_OUT} more malformed lines skipped")
        refuse_loss(self.name, self.lost, self.lost + good, what, self._first)

    @staticmethod
    def _warn(message: str) -> None:
        warnings.warn(message, DataWarning, stacklevel=4)


def refuse_loss(name: str, lost: int, total: int, what: str = "rows", first: Sequence[str] = ()) -> None:
    """Raise an error where more than the allowed share of some rows is lost.

    Args:
        name: of the file.
        lost: malformed rows.
        total: all of them.
        what: what they are called.
        first: what is wrong with the first ones.
    """
    most = current_rules().max_bad_rows
    if total and lost > most * total:
        allowed = math.ceil(100 * lost / total) / 100
        shown = "; ".join([*first, *(["..."] if lost > len(first) else [])])
        raise ValueError(
            f"{name}: expected at most {100 * most:g} % malformed {what}. Received: {lost} of {total} ({shown}). "
            f"Correct them, or skip them with --set max_bad_rows={allowed:g}"
        )


def iter_lines(path: Path, faults: Faults) -> _Lines:
    """The lines of a file without their ends, one after the other; None for one that cannot be decoded."""
    encoding = current_rules().encoding
    number, whole, broken = 0, 0, 0
    with open_file(path) as file:
        if not breaks_lines_as_ascii(encoding):
            yield from _wide_lines(path, file, encoding)
            return
        for number, data in enumerate(file, 1):
            if number == 1:
                _check_mark(path, data, encoding)
            try:
                line = data.decode("utf-8-sig" if number == 1 and encoding == UTF8 else encoding)
            except UnicodeDecodeError as error:
                if not broken and encoding == UTF8 and (found := misread(_sample(path))) is not None:
                    _refuse_encoding(path, found, str(number))
                broken += 1
                faults.add(number, _spoken(encoding), error.reason)
                yield None
            else:
                whole += not data.isascii()
                yield line.rstrip("\r\n")
    if not number:
        raise ValueError(f"{path}: expected lines. Received: an empty file")
    if broken > max(whole, 1) and encoding == UTF8:
        _refuse_encoding(path, "")


def _wide_lines(path: Path, file: IO[bytes], encoding: str) -> _Lines:
    """The lines of a file in an encoding of several bytes a character, which cannot be taken up after a broken one."""
    number = 0
    try:
        for number, line in enumerate(iter_text(file, encoding), 1):
            yield (line.removeprefix("\ufeff") if number == 1 else line).rstrip("\r\n")
    except UnicodeError as error:
        reason = getattr(error, "reason", error)
        raise ValueError(f"{path}: expected {encoding}. Received: {reason}") from None
    if not number:
        raise ValueError(f"{path}: expected lines. Received: an empty file")


def read_lines(path: Path, faults: Faults) -> list[str | None]:
    """The same, all at once."""
    return list(iter_lines(path, faults))


def fault_of(cell: object) -> str | None:
    """What is wrong with one value of an example."""
    if not isinstance(cell, str):
        return "text"
    if not cell.strip():
        return "text on each side"
    try:
        cell.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell
        return "whole characters"
    return None


def read_rows(path: str | Path, columns: Sequence[str]) -> list[tuple[str, ...]]:
    """All rows of `iter_rows`."""
    return list(iter_rows(path, columns))


def iter_rows(path: str | Path, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Some columns of a table, row by row, blanks at their ends dropped; malformed lines are reported.

    Args:
        path: a `.csv` or `.jsonl` file, or anything else as TSV; `.gz` and `.xz` are opened.
        columns: keys, or column numbers from 0, or names, which the first line then has to give.
    """
    path, good = Path(path), 0
    faults = Faults(path.name)
    lines, kind = iter_lines(path, faults), split_name(path)[1]
    found = _objects(lines, columns, faults) if kind == ".jsonl" else _cells(path, lines, columns, faults)
    for number, cells in found:
        cells = [_as_text(cell) for cell in cells]
        bad = next((i for i, cell in enumerate(cells) if fault_of(cell)), None)
        if bad is None:
            good += 1
            yield tuple(cell.strip() for cell in cells)
        else:
            faults.add(number, f"{fault_of(cells[bad])} in {columns[bad]!r}", cells[bad])
    if not good:
        raise ValueError(f"{path}: expected at least one good row. Received: {faults.count or 'no'} malformed ones")
    faults.close(good)


def _as_text(cell: Any) -> Any:
    """Numbers and truth values, which JSON has beside texts, as JSON writes them."""
    return json.dumps(cell) if isinstance(cell, bool | int | float) else cell


def _objects(lines: _Lines, keys: Sequence[str], faults: Faults) -> _Rows:
    for number, line in enumerate(lines, 1):
        if line is None:
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            faults.add(number, "JSON", line, lost=bool(line.strip()))
            continue
        if isinstance(entry, dict) and all(key in entry for key in keys):
            yield number, [entry[key] for key in keys]
        else:
            faults.add(number, f"an object with {list(keys)}", line)


def _cells(path: Path, lines: _Lines, columns: Sequence[str], faults: Faults) -> _Rows:
    """Some cells of each row of a CSV or TSV file.

    The first line of a CSV file always has the names, and says how many cells each row has: one more is a comma without
    quotes around it. That of a TSV file has names where columns are named.
    """
    kind = split_name(path)[1]
    named = kind == ".csv" or not all(map(str.isdecimal, columns))
    lines = _with_names(path, lines) if named else lines
    rows = _quoted(lines, faults) if kind == ".csv" else _tabbed(lines)
    number, first = next(rows, (1, []))
    header = [cell.strip() for cell in first] if named else []
    shown = [name[:30] for name in header]
    if missing := [column for column in columns if not column.isdecimal() and column not in header]:
        raise ValueError(f"{faults.name}: expected columns named {missing} in its first line. Received: {shown}")
    if twice := [column for column in columns if header.count(column) > 1]:
        raise ValueError(f"{faults.name}: expected one column named {twice[0]!r}. Received: {shown}")
    places = [header.index(column) if column in header else int(column) for column in columns]
    width = len(first) if kind == ".csv" else None
    if not header:
        rows = _with_first(number, first, rows)
    for number, cells in rows:
        if len(cells) <= max(places):
            faults.add(number, f"at least {max(places) + 1} columns", "\t".join(cells), lost=any(cells))
        elif width is not None and len(cells) != width:
            faults.add(number, f"{width} columns, as in the first line", ",".join(cells))
        else:
            yield number, [cells[place] for place in places]


def _with_names(path: Path, lines: _Lines) -> _Lines:
    """Lines of which the first with something in it, which names the columns, has to be decoded."""
    for number, line in enumerate(lines, 1):
        if line is None:
            _refuse_encoding(path, guess(_sample(path)), str(number))
        yield line
        if line:
            break
    yield from lines


def _with_first(number: int, first: list[str], rows: _Rows) -> _Rows:
    yield number, first
    yield from rows


def _tabbed(lines: _Lines) -> _Rows:
    for number, line in enumerate(lines, 1):
        if line is not None:
            yield number, line.split("\t")


def _quoted(lines: _Lines, faults: Faults) -> _Rows:
    """Rows of one line or more; where the quotes of one do not close, its first line is lost, and no other."""
    text = _Ahead(lines)
    names = re.sub('"[^"]*"', "", text.peek())
    delimiter = ";" if names.count(";") > names.count(",") else ","
    while text.begin():
        try:
            cells = _next_cells(text, delimiter)
        except csv.Error as error:
            faults.add(text.number, "cells with whole quotes", f"{error}: {text.taken[0]}")
            text.give_back()
        else:
            if cells:
                yield text.number, cells


def _next_cells(text: "_Ahead", delimiter: str) -> list[str]:
    """One row. The limit of a cell is that of the whole process, so it is raised for no longer than this."""
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        return next(csv.reader(text, delimiter=delimiter, strict=True), [])
    finally:
        csv.field_size_limit(limit)


class _Ahead:
    """Lines for a reader that takes as many as a row needs, all but the first of which it may give back.

    Attributes:
        number: of the first line of the row.
        taken: the lines of the row.
    """

    def __init__(self, lines: _Lines) -> None:
        self.lines, self.number = lines, 1
        self.taken: list[str | None] = []
        self.waiting: collections.deque[str | None] = collections.deque()

    def peek(self) -> str:
        """The first line with something in it."""
        for line in self.lines:
            self.waiting.append(line)
            if line:
                return line
        return ""

    def begin(self) -> bool:
        """Whether there is another row; it begins with the next line."""
        self.number, self.taken = self.number + len(self.taken), []
        if not self.waiting:
            self.waiting.extend(itertools.islice(self.lines, 1))
        return bool(self.waiting)

    def give_back(self) -> None:
        """The lines after the first are those of other rows."""
        self.waiting.extendleft(reversed(self.taken[1:]))
        self.taken = self.taken[:1]

    def __iter__(self) -> "_Ahead":
        return self

    def __next__(self) -> str:
        while True:
            line = self.waiting.popleft() if self.waiting else next(self.lines)
            self.taken.append(line)
            if line is not None:
                return line + "\n"
