"""Lines and rows of one file: plain, gzip or xz, UTF-8, every malformed line reported with its number.

A table is CSV (RFC 4180: quotes around what holds a comma, a quote or a line break; semicolons as separators, where the
first line has more of them), TSV (no quoting: a quote is a quote) or JSONL (one object per line).
"""

import codecs
import collections
import csv
import itertools
import json
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from seqattn_tf.packed import bare, open_file
from seqattn_tf.training.data.examples import DataWarning

TABLES = (".csv", ".tsv", ".jsonl")
SPELLED_OUT = 20  # malformed lines of a file; more are counted
LONGEST_CELL = 2**27  # characters of a cell of a CSV file
_Lines = Iterator[str | None]
_Rows = Iterator[tuple[int, list[Any]]]  # each with the number of its first line


def split_name(path: Path) -> tuple[str, str]:
    """`train.tok.de.gz` -> `train.tok`, `de`; the endings of tables keep their dot, being no languages."""
    name = bare(Path(path.name))
    last = name.suffix.lower() if name.suffix.lower() in TABLES else name.suffix[1:]
    return name.stem, last


def read_text(path: str | Path) -> str:
    """A whole text: UTF-8, a byte order mark dropped, every line ending in one line feed."""
    with open_file(Path(path)) as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {number}: expected UTF-8. Received: {error.reason}") from None


class Faults:
    """The malformed lines of one file: the first ones spelled out, the rest counted."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0

    def add(self, number: int, expected: str, received: object) -> None:
        """Report a line."""
        self.count += 1
        if self.count <= SPELLED_OUT:
            self._warn(f"{self.name}, line {number}: expected {expected}. Received: {str(received)[:60]!r}")

    def close(self) -> None:
        """Say how many more there were."""
        if self.count > SPELLED_OUT:
            self._warn(f"{self.name}: {self.count - SPELLED_OUT} more malformed lines passed over")

    @staticmethod
    def _warn(message: str) -> None:
        warnings.warn(message, DataWarning, stacklevel=4)


def iter_lines(path: Path, faults: Faults) -> _Lines:
    """The lines of a file without their ends, one after the other; None for one that is not UTF-8."""
    number = 0
    with open_file(path) as file:
        for number, data in enumerate(file, 1):
            if number == 1 and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise ValueError(f"{path}: expected UTF-8. Received: UTF-16; save it as UTF-8")
            try:
                yield data.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                faults.add(number, "UTF-8", error.reason)
                yield None
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
    found = _objects(lines, columns, faults) if kind == ".jsonl" else _cells(kind, lines, columns, faults)
    for number, cells in found:
        cells = [_as_text(cell) for cell in cells]
        bad = next((i for i, cell in enumerate(cells) if fault_of(cell)), None)
        if bad is None:
            good += 1
            yield tuple(cell.strip() for cell in cells)
        else:
            faults.add(number, f"{fault_of(cells[bad])} in {columns[bad]!r}", cells[bad])
    faults.close()
    if not good:
        raise ValueError(f"{path}: expected at least one good row. Received: {faults.count or 'no'} malformed ones")


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
            faults.add(number, "JSON", line)
            continue
        if isinstance(entry, dict) and all(key in entry for key in keys):
            yield number, [entry[key] for key in keys]
        else:
            faults.add(number, f"an object with {list(keys)}", line)


def _cells(kind: str, lines: _Lines, columns: Sequence[str], faults: Faults) -> _Rows:
    """Some cells of each row of a CSV or TSV file.

    The first line of a CSV file always has the names, and says how many cells each row has: one more is a comma without
    quotes around it. That of a TSV file has names where columns are named.
    """
    rows = _quoted(lines, faults) if kind == ".csv" else _tabbed(lines)
    number, first = next(rows, (1, []))
    header = [cell.strip() for cell in first] if kind == ".csv" or not all(map(str.isdecimal, columns)) else []
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
            faults.add(number, f"at least {max(places) + 1} columns", "\t".join(cells))
        elif width is not None and len(cells) != width:
            faults.add(number, f"{width} columns, as in the first line", ",".join(cells))
        else:
            yield number, [cells[place] for place in places]


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
    limit = csv.field_size_limit(LONGEST_CELL)
    try:
        while text.begin():
            try:
                cells = next(csv.reader(text, delimiter=delimiter, strict=True), [])
            except csv.Error as error:
                faults.add(text.number, "cells with whole quotes", f"{error}: {text.taken[0]}")
                text.give_back()
            else:
                if cells:
                    yield text.number, cells
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
