"""What is to be done: shards of rows, made from the input and the number of rows of a shard alone."""

import base64
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seqattn_tf.batch.inputs import open_reader
from seqattn_tf.batch.outputs import FORMATS, Format, column_types
from seqattn_tf.batch.readers import Mark, Reader, Row, Source
from seqattn_tf.batch.shards import WRITTEN_BY, read_own
from seqattn_tf.core.atomic_io import write_json


class Span(NamedTuple):
    """Rows of one file that follow each other."""

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
        """How many there are."""
        return sum(span.rows for span in self.spans)


@dataclasses.dataclass(frozen=True)
class Job:
    """What whoever answers a shard has to know.

    Attributes:
        model: its folder.
        files: the input, in order.
        inputs: the column of each input of the model.
        ending: of the output.
        batch_size: rows that the model is given at once.
        attention: whether looks are written.
        threads: of TensorFlow, in each process.
        plugins: modules to import first.
        columns: of the input, where the output needs to know them.
        schema: their types, as Arrow serialises them, for Parquet.
    """

    model: Path
    files: tuple[Source, ...]
    inputs: Mapping[str, str]
    ending: str = ".jsonl"
    batch_size: int = 256
    attention: bool = False
    threads: int = 1
    plugins: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    schema: bytes = b""

    def reader(self, number: int) -> Reader:
        """What reads one of the files."""
        return open_reader(self.files[number], list(self.inputs.values()))

    def rows(self, shard: Shard) -> Iterator[tuple[Source, Row]]:
        """The rows of a shard, each with its file."""
        for span in shard.spans:
            found = self.reader(span.file).rows(Mark(span.place, span.line), span.rows)
            yield from ((self.files[span.file], row) for row in found)

    def format(self) -> Format:
        """How answers are written."""
        return FORMATS[self.ending](self.columns, self.schema, self.attention)


def make(job: Job, shard_rows: int) -> tuple[Job, list[Shard]]:
    """Go through the input once: where shards begin, and the columns of the output where it needs them."""
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
    """The rows of a file in which each has columns of its own; none of another."""
    if reader.columns is None and (first := next(reader.marks(), None)):
        yield from (row.values for row in reader.rows(first, 2**63 - 1) if not row.fault)


def _names(reader: Reader) -> Iterator[str]:
    return (name for values in ([reader.columns] if reader.columns is not None else _values(reader)) for name in values)


def save(path: Path, job: Job, shards: Sequence[Shard]) -> None:
    """Keep a plan, so that who goes on need not go through the input again."""
    columns = {"columns": job.columns, "schema": base64.b64encode(job.schema).decode("ascii")}
    write_json(path, {"written_by": WRITTEN_BY, **columns, "shards": [shard.spans for shard in shards]})


def load(path: Path, job: Job) -> tuple[Job, list[Shard]]:
    """The plan that was kept."""
    kept = read_own(path)
    if kept is None:
        raise ValueError(f"{path}: expected a plan that seqattn map wrote. Received: something else")
    job = dataclasses.replace(job, columns=tuple(kept["columns"]), schema=base64.b64decode(kept["schema"]))
    found = (tuple(Span(*span) for span in spans) for spans in kept["shards"])
    return job, [Shard(number, spans) for number, spans in enumerate(found)]
