"""Readers for the rows of one file: JSONL, CSV, TSV, text and Parquet, each from any row.

The formats of text files are those of `core.records`. The first line of CSV and TSV contains the column names.
"""

import abc
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from seqattn_tf.core.encodings import SAMPLE, UTF8, described, guess, mark_of, misread
from seqattn_tf.core.records import FORMATS, START, MalformedRecord, Mark, Raw, shown


class Row(NamedTuple):
    """A row, or the invalid data in its place."""

    line: int
    values: Any  # by column; the raw data if there is a fault
    fault: str = ""


class Source(NamedTuple):
    """A file by its original path, and by the path of its decompressed copy."""

    path: Path
    read: Path


class Reader(abc.ABC):
    """A reader for the rows of one file.

    Attributes:
        columns: The column names of all rows; None if each row has its own.
    """

    ending: ClassVar[str]
    columns: list[str] | None = None

    def __init__(self, source: Source) -> None:
        self.name, self.path = source.path.name, source.read

    @abc.abstractmethod
    def marks(self) -> Iterator[Mark]:
        """Yield the start of each row."""

    @abc.abstractmethod
    def rows(self, mark: Mark, count: int) -> Iterator[Row]:
        """Yield `count` rows, the first of which starts at `mark`."""

    def check_encoding(self) -> None:  # noqa: B027 (most formats have nothing to check)
        """Raise an error if the text of the file is not in the required encoding."""


def _named_once(columns: list[str], file: str) -> list[str]:
    if twice := [name for name in columns if columns.count(name) > 1]:
        raise ValueError(f"{file}: expected unique column names. Received: {twice[0]!r:.60} twice")
    return columns


class _RecordReader(Reader):
    """A reader of the records of a text file."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.format = FORMATS[self.ending]()

    def parse(self, raw: Raw) -> dict[str, Any]:
        """Return the values of a row, by column.

        Raises:
            MalformedRecord: If the row is invalid.
        """
        found: dict[str, Any] = self.format.parse(raw)
        return found

    def records(self, mark: Mark) -> Iterator[tuple[Mark, Raw]]:
        """Yield the records from `mark` on."""
        with self.path.open("rb") as file:
            file.seek(mark.place)
            yield from self.format.split(file, mark)

    def marks(self) -> Iterator[Mark]:
        return (mark for mark, _ in self.records(self.first()))

    def first(self) -> Mark:
        """Return the start of the first row, after a byte order mark if there is one."""
        with self.path.open("rb") as file:
            begin = file.read(4096)
        marked = mark_of(begin)
        if (found := marked or (guess(begin) if 0 in begin else "")) not in ("", UTF8):
            self._refuse(found)
        return Mark(3 if marked == UTF8 else 0, 1)

    def check_encoding(self) -> None:
        """Raise an error if a file seems to have another encoding than UTF-8, in which many rows would be invalid."""
        if (found := misread(self._sample())) is not None:
            self._refuse(found)

    def _sample(self) -> bytes:
        with self.path.open("rb") as file:
            return file.read(SAMPLE)

    def _refuse(self, found: str, where: str = "") -> None:
        advice = f"; save it as UTF-8, or use --encoding {found or 'NAME'}"
        raise ValueError(f"{self.name}{where}: expected UTF-8. Received: {described(found)}{advice}")

    def rows(self, mark: Mark, count: int) -> Iterator[Row]:
        for (_, line), raw in itertools.islice(self.records(mark), count):
            try:
                yield Row(line, self.parse(raw))
            except MalformedRecord as error:
                yield Row(line, shown(raw), str(error))


class TextReader(_RecordReader):
    """A reader with one row per line."""

    ending = ".txt"

    def __init__(self, source: Source, column: str) -> None:
        super().__init__(source)
        self.column, self.columns = column, [column]

    def parse(self, raw: Raw) -> dict[str, Any]:
        """Return the line as the only column."""
        return {self.column: self.format.parse(raw)}


class _JsonReader(_RecordReader):
    """A reader with one JSON object per line."""

    ending = ".jsonl"


class _TsvReader(_RecordReader):
    """A reader of rows whose columns are named in the first line."""

    ending = ".tsv"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._begin, header = next(self.records(super().first()), (START, None))
        try:
            names = self.format.parse(header) if header is not None else []
        except MalformedRecord as error:
            if (found := guess(self._sample())) != UTF8:
                self._refuse(found, f", line {self._begin.line}")
            raise ValueError(f"{self.name}, line {self._begin.line}: {error}") from None
        self.columns: list[str] = _named_once([name.strip() for name in names], self.name)

    def first(self) -> Mark:
        """Return the start of the first row after the column names."""
        marks = (mark for mark, _ in self.records(self._begin))
        next(marks, None)
        return next(marks, Mark(self.path.stat().st_size, self._begin.line + 1))

    def parse(self, raw: Raw) -> dict[str, Any]:
        """Return the cells by column name."""
        cells = self.format.parse(raw)
        if len(cells) != len(self.columns):
            raise MalformedRecord(f"{len(self.columns)} columns, as in the first line", str(len(cells)))
        return dict(zip(self.columns, cells, strict=True))


class _CsvReader(_TsvReader):
    """A reader of rows whose columns are named in the first line; some cells may be quoted."""

    ending = ".csv"


class ParquetReader(Reader):
    """A reader of Parquet rows, whose marks and line numbers count rows."""

    ending = ".parquet"

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        parquet = import_parquet()
        try:
            self.file = parquet.ParquetFile(self.path)
        except Exception as error:  # pyarrow raises many different exceptions for damaged files
            if isinstance(error, OSError) and error.errno:
                raise
            raise ValueError(f"{self.name}: expected a Parquet file. Received: {error}") from None
        self.columns = _named_once(list(self.file.schema_arrow.names), self.name)

    def marks(self) -> Iterator[Mark]:
        return (Mark(place, place + 1) for place in range(self.file.metadata.num_rows))

    def rows(self, mark: Mark, count: int) -> Iterator[Row]:
        """Yield `count` rows, reading only the row groups that contain them."""
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
        """Yield the rows of batches after `skipped` ones, which are never converted to objects."""
        for batch in batches:
            if count <= 0:
                return
            if skipped < batch.num_rows:
                part = batch.slice(skipped, count)
                count -= part.num_rows
                yield part.to_pylist()
            skipped = max(0, skipped - batch.num_rows)


def import_parquet() -> Any:
    """Import and return `pyarrow.parquet`, which is an optional dependency."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ValueError(
            "Parquet: expected the package pyarrow. Received: it is not installed; "
            "run pip install 'seqattn-tf[parquet]'"
        ) from None
    return pyarrow.parquet


_KINDS = (_JsonReader, _CsvReader, _TsvReader, TextReader, ParquetReader)
READERS: dict[str, type[Reader]] = {kind.ending: kind for kind in _KINDS}
