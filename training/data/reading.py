"""Lines, rows and pairs of one file: plain, gzip or xz, UTF-8, every malformed line reported with its number."""

import contextlib
import gzip
import json
import lzma
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from seqattn_tf.training.data.examples import Example, from_text

SPELLED_OUT = 20  # malformed lines of a file; more are counted
_OPENERS = {".gz": gzip.open, ".xz": lzma.open}


def split_name(path: Path) -> tuple[str, str]:
    """`train.tok.de.gz` -> `train.tok`, `de`; `.tsv` and `.jsonl` keep their dot, being no languages."""
    bare = Path(path.name).with_suffix("") if path.suffix.lower() in _OPENERS else Path(path.name)
    last = bare.suffix.lower() if bare.suffix.lower() in (".tsv", ".jsonl") else bare.suffix[1:]
    return bare.stem, last


@contextlib.contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a plain, gzip or xz file; one that breaks off is a `ValueError`."""
    try:
        with _OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
            yield file
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: expected a whole {path.suffix} file. Received: {error}") from None


def read_text(path: str | Path) -> str:
    """A whole text: UTF-8, a byte order mark dropped, every line ending in one line feed."""
    with open_file(Path(path)) as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {number}: expected UTF-8. Received: {error.reason}") from None


class _Faults:
    """The malformed lines of one file: the first ones spelled out, the rest counted."""

    def __init__(self, name: str) -> None:
        self.name, self.count = name, 0

    def add(self, number: int, expected: str, received: object) -> None:
        self.count += 1
        if self.count <= SPELLED_OUT:
            self._warn(f"{self.name}, line {number}: expected {expected}. Received: {str(received)[:60]!r}")

    def close(self) -> None:
        if self.count > SPELLED_OUT:
            self._warn(f"{self.name}: {self.count - SPELLED_OUT} more malformed lines passed over")

    @staticmethod
    def _warn(message: str) -> None:
        warnings.warn(message, stacklevel=4)


def _lines(path: Path, faults: _Faults) -> list[str | None]:
    """The lines of a file; None for one that is not UTF-8."""
    lines: list[str | None] = []
    with open_file(path) as file:
        for number, data in enumerate(file, 1):
            try:
                lines.append(data.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n"))
            except UnicodeDecodeError as error:
                faults.add(number, "UTF-8", error.reason)
                lines.append(None)
    if not lines:
        raise ValueError(f"{path}: expected lines. Received: an empty file")
    return lines


def _fault(cell: object) -> str | None:
    """What is wrong with one side of a pair."""
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
    """Some columns of a TSV or JSONL file, blanks at their ends dropped; malformed lines are reported.

    Args:
        path: a `.jsonl` file, or anything else as TSV; `.gz` and `.xz` are opened.
        columns: keys, or column numbers from 0, or names, which the first line then has to give.
    """
    path = Path(path)
    faults = _Faults(path.name)
    lines = _lines(path, faults)
    found = (_parsed if split_name(path)[1] == ".jsonl" else _cut)(lines, columns, faults)
    rows = []
    for number, cells in found:
        bad = next((i for i, cell in enumerate(cells) if _fault(cell)), None)
        if bad is None:
            rows.append(tuple(cell.strip() for cell in cells))
        else:
            faults.add(number, f"{_fault(cells[bad])} in {columns[bad]!r}", cells[bad])
    faults.close()
    if not rows:
        raise ValueError(f"{path}: expected at least one good line. Received: {len(lines)} malformed ones")
    return rows


def _parsed(lines: list[str | None], keys: Sequence[str], faults: _Faults) -> Iterator[tuple[int, list[object]]]:
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


def _cut(lines: list[str | None], columns: Sequence[str], faults: _Faults) -> Iterator[tuple[int, list[object]]]:
    header: list[str] = []
    if not all(column.isdecimal() for column in columns):
        header = [name.strip() for name in (lines[0] or "").split("\t")]
        missing = [column for column in columns if not column.isdecimal() and column not in header]
        if missing:
            shown = [name[:30] for name in header]
            raise ValueError(f"{faults.name}: expected columns named {missing} in its first line. Received: {shown}")
    places = [int(column) if column.isdecimal() else header.index(column) for column in columns]
    for number, line in enumerate(lines, 1):
        if line is None or (header and number == 1):
            continue
        cells = line.split("\t")
        if len(cells) > max(places):
            yield number, [cells[place] for place in places]
        else:
            faults.add(number, f"at least {max(places) + 1} columns", line)


def read_pairs(paths: Sequence[Path], source: str, target: str) -> list[Example]:
    """The pairs of one TSV or JSONL file, or of two files of parallel text."""
    if len(paths) == 1:
        return [from_text(*row) for row in read_rows(paths[0], (source, target))]
    faults = [_Faults(path.name) for path in paths]
    sides = [_lines(path, fault) for path, fault in zip(paths, faults, strict=True)]
    if len(sides[0]) != len(sides[1]):
        counts = " and ".join(f"{path.name} with {len(side)}" for path, side in zip(paths, sides, strict=True))
        raise ValueError(f"{paths[0].parent}: expected the same number of lines. Received: {counts}")
    pairs = []
    for number, cells in enumerate(zip(*sides, strict=True), 1):
        bad = [cell is not None and _fault(cell) for cell in cells]
        for fault, expected, cell in zip(faults, bad, cells, strict=True):
            if expected:
                fault.add(number, expected, cell)
        if None not in cells and not any(bad):
            pairs.append(from_text(*(cell.strip() for cell in cells)))
    for fault in faults:
        fault.close()
    if not pairs:
        raise ValueError(f"{paths[0]}: expected at least one good line. Received: {len(sides[0])} malformed ones")
    return pairs
