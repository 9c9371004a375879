"""The rows of one file: JSONL, CSV, TSV, text and Parquet, each read from where it begins.

CSV is that of RFC 4180, with semicolons where the first line has more of them; TSV has no quotes. The first line of
both names the columns. Blank lines of tables are no rows; a line of a text is one, blank or not.
"""

import abc
import csv
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple

from seqattn_tf.core.encodings import SAMPLE, UTF8, described, guess, mark_of, misread

_LONGEST_CELL = 2**27  # characters


class Mark(NamedTuple):
    """Where a row begins: the byte of a file (of Parquet the row, from 0), and the number of its line."""

    place: int
    line: int


class Row(NamedTuple):
    """A row, or what stands where one should be."""

    line: int
    values: Any  # by column; as it was found where there is a fault
    fault: str = ""


class Source(NamedTuple):
    """A file as it is named, and as it is read: unpacked."""

    path: Path
    read: Path


class Reader(abc.ABC):
    """The rows of one file.

    Attributes:
        columns: the names that the file gives to all rows; None where each row has its own.
    """

    ending: ClassVar[str]
    columns: list[str] | None = None

    def __init__(self, source: Source) -> None:
        self.name, self.path = source.path.name, source.read

    @abc.abstractmethod
    def marks(self) -> Iterator[Mark]:
        """Where each row begins."""

    @abc.abstractmethod
    def rows(self, mark: Mark, count: int) -> Iterator[Row]:
        """So many rows, the first of which begins at a mark."""

    def check_encoding(self) -> None:  # noqa: B027 (most formats have nothing to check)
        """Refuse a file whose text is in another encoding than it has to be."""


def _named_once(columns: list[str], file: str) -> list[str]:
    if twice := [name for name in columns if columns.count(name) > 1]:
        raise ValueError(f"{file}: expected columns of different names. Received: {twice[0]!r:.60} twice")
    return columns


class _Lines(Reader):
    """A file of lines; the hook is `parse`, of one line."""

    blank = False  # whether a blank line is a row

    @abc.abstractmethod
    def parse(self, record: Any) -> Any:
        """The values of a row; a `ValueError` says what is wrong with it."""

    def records(self, mark: Mark) -> Iterator[tuple[Mark, Any]]:
        """What rows are made of."""
        place, line = mark
        with self.path.open("rb") as file:
            file.seek(place)
            for data in file:
                if self.blank or data.strip():
                    yield Mark(place, line), data
                place, line = place + len(data), line + 1

    def marks(self) -> Iterator[Mark]:
        """Where each row begins."""
        return (mark for mark, _ in self.records(self.first()))

    def first(self) -> Mark:
        """Where the first row may begin: after a byte order mark."""
        with self.path.open("rb") as file:
            begin = file.read(4096)
        marked = mark_of(begin)
        if (found := marked or (guess(begin) if 0 in begin else "")) not in ("", UTF8):
            self._refuse(found)
        return Mark(3 if marked == UTF8 else 0, 1)

    def check_encoding(self) -> None:
        """Refuse a file that appears to be in another encoding than UTF-8, of which many rows would be lost."""
        if (found := misread(self._sample())) is not None:
            self._refuse(found)

    def _sample(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(SAMPLE)

    def _refuse(self, found: str, where: str = "") -> None:
        advice = f"; save it as UTF-8, or --encoding {found or 'NAME'}"
        raise ValueError(f"{self.name}{where}: expected UTF-8. Received: {described(found)}{advice}")

    def rows(self, mark: Mark, count: int) -> Iterator[Row]:
        """So many rows."""
        for (_, line), record in itertools.islice(self.records(mark), count):
            try:
                yield Row(line, self.parse(record))
            except (ValueError, RecursionError) as error:
                yield Row(line, _shown(record), str(error))


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"expected UTF-8. Received: {error.reason}") from None


def _shown(record: Any) -> Any:
    """What was found, as JSON can hold it."""
    if isinstance(record, bytes):
        return record.decode("utf-8", "backslashreplace").rstrip("\r\n")
    return _shown(record.encode("utf-8", "surrogateescape")) if isinstance(record, str) else [*map(_shown, record)]


class TextReader(_Lines):
    """One row a line."""

    ending, blank = ".txt", True

    def __init__(self, source: Source, column: str) -> None:
        super().__init__(source)
        self.columns = [column]

    def parse(self, record: bytes) -> dict[str, str]:
        """The line itself."""
        return {self.columns[0]: _decode(record)} if self.columns else {}


class JsonReader(_Lines):
    """One object a line."""

    ending = ".jsonl"

    def parse(self, record: bytes) -> dict[str, Any]:
        """The object."""
        text = _decode(record)
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"expected JSON. Received: {error}") from None
        if not isinstance(found, dict):
            raise ValueError(f"expected an object. Received: {text:.60}")
        return found


class TsvReader(_Lines):
    """Cells between tabs."""

    ending = ".tsv"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._begin, header = next(self.records(super().first()), (Mark(0, 1), []))
        try:
            names = self.cells(header)
        except ValueError as error:
            if (found := guess(self._sample())) != UTF8:
                self._refuse(found, f", line {self._begin.line}")
            raise ValueError(f"{self.name}, line {self._begin.line}: {error}") from None
        self.columns = _named_once([name.strip() for name in names], self.name)

    def first(self) -> Mark:
        """After the names."""
        marks = (mark for mark, _ in self.records(self._begin))
        next(marks, None)
        return next(marks, Mark(self.path.stat().st_size, self._begin.line + 1))

    def cells(self, record: Any) -> list[str]:
        """The cells of a row."""
        return _decode(record).split("\t") if record else []

    def parse(self, record: Any) -> dict[str, str]:
        """Cells by the names of the first line."""
        cells, columns = self.cells(record), self.columns or []
        if len(cells) != len(columns):
            raise ValueError(f"expected {len(columns)} columns, as in the first line. Received: {len(cells)}")
        return dict(zip(columns, cells, strict=True))


class CsvReader(TsvReader):
    """Cells between commas or semicolons, some in quotes.

    Where the quotes of a row do not close, its first line is a fault, and the next line begins a row.
    """

    ending = ".csv"
    delimiter = ","

    def __init__(self, source: Source) -> None:
        with source.read.open("rb") as file:
            names = re.sub(rb'"[^"]*"', b"", next(filter(bytes.strip, file), b""))
        self.delimiter = ";" if names.count(b";") > names.count(b",") else ","
        super().__init__(source)

    def records(self, mark: Mark) -> Iterator[tuple[Mark, Any]]:
        """Lists of cells; of what is none, the bytes of its first line."""
        place, line = mark
        with self.path.open("rb") as file:
            file.seek(place)
            found: list[str] | bytes
            while (feed := _Feed(file)).fill():
                try:
                    found = feed.cells(self.delimiter)
                except csv.Error:
                    found, feed.lengths = feed.first, feed.lengths[:1]
                    file.seek(place + feed.lengths[0])
                if found and (isinstance(found, list) or found.strip()):
                    yield Mark(place, line), found
                place, line = place + sum(feed.lengths), line + len(feed.lengths)

    def cells(self, record: Any) -> list[str]:
        """The cells of a row."""
        if isinstance(record, bytes):
            raise ValueError("expected cells with whole quotes. Received: a quote too many or too few")
        for cell in record:
            _decode(cell.encode("utf-8", "surrogateescape"))
        return list(record)


class _Feed:
    """Lines of a file for `csv.reader`, which takes as many as a row needs."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.first, self.given = file, b"", False
        self.lengths: list[int] = []  # of the lines that were taken

    def fill(self) -> bool:
        """Whether there is a line."""
        self.first = self.file.readline()
        self.lengths = [len(self.first)] if self.first else []
        return bool(self.first)

    def cells(self, delimiter: str) -> list[str]:
        """One row. The limit of a cell is that of the whole process, so it is raised for no longer than this."""
        limit = csv.field_size_limit(_LONGEST_CELL)
        try:
            return next(csv.reader(self, delimiter=delimiter, strict=True), [])
        finally:
            csv.field_size_limit(limit)

    def __iter__(self) -> "_Feed":
        return self

    def __next__(self) -> str:
        if not self.given:
            self.given = True
            return self.first.decode("utf-8", "surrogateescape")
        data = self.file.readline()
        if not data:
            raise StopIteration
        self.lengths.append(len(data))
        return data.decode("utf-8", "surrogateescape")


class ParquetReader(Reader):
    """Rows of a Parquet file; a mark counts them, and so does a line."""

    ending = ".parquet"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        parquet = import_parquet()
        try:
            self.file = parquet.ParquetFile(self.path)
        except Exception as error:  # pyarrow has a class for each kind of damage
            if isinstance(error, OSError) and error.errno:
                raise
            raise ValueError(f"{self.name}: expected a Parquet file. Received: {error}") from None
        self.columns = _named_once(list(self.file.schema_arrow.names), self.name)

    def marks(self) -> Iterator[Mark]:
        """One for each row."""
        return (Mark(place, place + 1) for place in range(self.file.metadata.num_rows))

    def rows(self, mark: Mark, count: int) -> Iterator[Row]:
        """So many rows, from the groups that hold them."""
        first, groups, skipped = 0, [], 0
        for group in range(self.file.num_row_groups):
            size = self.file.metadata.row_group(group).num_rows
            if first + size <= mark.place:
                skipped = first + size
            elif first < mark.place + count:
                groups.append(group)
            first += size
        batches = self.file.iter_batches(batch_size=max(count, 1), row_groups=groups)
        found = itertools.chain.from_iterable(self._some(batches, mark.place - skipped, count))
        return (Row(line, values) for line, values in enumerate(found, mark.line))

    @staticmethod
    def _some(batches: Any, skipped: int, count: int) -> Iterator[list[dict[str, Any]]]:
        """Rows of batches after some that are passed over, never turned into objects."""
        for batch in batches:
            if count <= 0:
                return
            if skipped < batch.num_rows:
                part = batch.slice(skipped, count)
                count -= part.num_rows
                yield part.to_pylist()
            skipped = max(0, skipped - batch.num_rows)


def import_parquet() -> Any:
    """`pyarrow.parquet`, which is an extra."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError("Parquet: expected pyarrow. Received: none; pip install 'seqattn-tf[parquet]'") from None
    return pyarrow.parquet


_KINDS = (JsonReader, CsvReader, TsvReader, TextReader, ParquetReader)
READERS: dict[str, type[Reader]] = {kind.ending: kind for kind in _KINDS}
