"""The plan of a job: shards of rows, which depend only on the input and the number of rows per shard."""

import base64
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seqattn_tf.batch.inputs import open_reader
from seqattn_tf.batch.outputs import FORMATS, Format, column_types
from seqattn_tf.batch.readers import Reader, Row, Source
from seqattn_tf.batch.shards import WRITTEN_BY, read_own
from seqattn_tf.core.atomic_io import write_json
from seqattn_tf.core.records import Mark


class Span(NamedTuple):
    """Consecutive rows of one file."""

    file: int
    place: int
    line: int
    rows: int


class Shard(NamedTuple):
    """Rows that are answered and written together."""

    number: int
    spans: tuple[Span, ...]

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(span.rows for span in self.spans)


@dataclasses.dataclass(frozen=True)
class Job:
    """Everything required to answer a shard.

    Attributes:
        model: The folder of the model; for LiteRT, its `lite` folder.
        files: The input files, in order.
        inputs: The column of each input of the model.
        ending: The suffix of the output.
        batch_size: The number of rows per batch.
        attention: Whether attention maps are written.
        threads: The number of threads in each process.
        plugins: Modules to import first.
        engine: What runs the model, `litert` or `keras`.
        columns: The columns of the input, if the output format requires them.
        schema: Their types, as a serialized Arrow schema, for Parquet.
    """

    model: Path
    files: tuple[Source, ...]
    inputs: Mapping[str, str]
    ending: str = ".jsonl"
    batch_size: int = 256
    attention: bool = False
    threads: int = 1
    plugins: tuple[str, ...] = ()
    engine: str = "keras"
    columns: tuple[str, ...] = ()
    schema: bytes = b""

    def reader(self, number: int) -> Reader:
        """Return the reader of one of the files."""
        return open_reader(self.files[number], list(self.inputs.values()))

    def rows(self, shard: Shard) -> Iterator[tuple[Source, Row]]:
        """Yield the rows of a shard, each with its file."""
        for span in shard.spans:
            found = self.reader(span.file).rows(Mark(span.place, span.line), span.rows)
            yield from ((self.files[span.file], row) for row in found)

    def format(self) -> Format:
        """Return the output format."""
        return FORMATS[self.ending](self.columns, self.schema, self.attention)


def make(job: Job, shard_rows: int) -> tuple[Job, list[Shard]]:
    """Scan the input once to determine the shards, and the columns of the output if its format requires them."""
    readers = [job.reader(number) for number in range(len(job.files))]
    for reader in readers:
        reader.check_encoding()
    if FORMATS[job.ending].needs_columns:
        job = _with_columns(job, readers)
    marks = ((number, mark) for number, reader in enumerate(readers) for mark in reader.marks())
    shards: list[Shard] = []
    while spans := _spans(itertools.islice(marks, shard_rows)):
        shards.append(Shard(len(shards), spans))
    return job, shards


def _spans(marks: Iterator[tuple[int, Mark]]) -> tuple[Span, ...]:
    spans: list[Span] = []
    for number, mark in marks:
        if spans and spans[-1].file == number:
            spans[-1] = spans[-1]._replace(rows=spans[-1].rows + 1)
        else:
            spans.append(Span(number, *mark, 1))
    return tuple(spans)


def _with_columns(job: Job, readers: Sequence[Reader]) -> Job:
    if job.ending != ".parquet":
        names = itertools.chain.from_iterable(_names(reader) for reader in readers)
        return dataclasses.replace(job, columns=tuple(dict.fromkeys(names)))
    import pyarrow as pa

    try:
        schema = pa.unify_schemas([column_types(r, _values(r)) for r in readers], promote_options="permissive")
    except pa.ArrowInvalid as error:
        raise ValueError(f"input: expected files whose columns have the same types. Received: {error}") from None
    return dataclasses.replace(job, columns=tuple(schema.names), schema=schema.serialize().to_pybytes())


def _values(reader: Reader) -> Iterator[dict[str, Any]]:
    """Yield the rows of a file whose rows have different columns; yield nothing for other files."""
    if reader.columns is None and (first := next(reader.marks(), None)):
        yield from (row.values for row in reader.rows(first, 2**63 - 1) if not row.fault)


def _names(reader: Reader) -> Iterator[str]:
    return (name for values in ([reader.columns] if reader.columns is not None else _values(reader)) for name in values)


def save(path: Path, job: Job, shards: Sequence[Shard]) -> None:
    """Save a plan, so that a resumed job need not scan the input again."""
    columns = {"columns": job.columns, "schema": base64.b64encode(job.schema).decode("ascii")}
    write_json(path, {"written_by": WRITTEN_BY, **columns, "shards": [shard.spans for shard in shards]})


def load(path: Path, job: Job) -> tuple[Job, list[Shard]]:
    """Load a saved plan."""
    kept = read_own(path)
    if kept is None:
        raise ValueError(f"{path}: expected a plan written by seqattn map. Received: a different file")
    job = dataclasses.replace(job, columns=tuple(kept["columns"]), schema=base64.b64decode(kept["schema"]))
    found = (tuple(Span(*span) for span in spans) for spans in kept["shards"])
    return job, [Shard(number, spans) for number, spans in enumerate(found)]
