"""The output formats for answers: JSONL, CSV, TSV, text or Parquet. Each one encodes parts and joins them."""

import abc
import base64
import csv
import io
import json
import math
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from seqattn_tf.batch.readers import ParquetReader, Reader, import_parquet
from seqattn_tf.lite.answer import Answer, AttentionMap

_DIGITS, _WEIGHT_DIGITS = 6, 4  # decimal places of scores and of weights
_SAID = ("answer", "score", "alternatives", "attention")

Said = tuple[dict[str, Any], Answer | None]  # the columns of a row, and its answer; None for an invalid row


def own(values: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of the input; a column with the name of an output column is renamed to `input_NAME`.

    >>> own({"text": "a", "answer": "b"})
    {'text': 'a', 'input_answer': 'b'}
    """
    return {_own_name(name): value for name, value in values.items()}


def _own_name(name: str) -> str:
    """Return the name that a column of the input has in the output."""
    return f"input_{name}" if name in _SAID else name


def to_line(value: Any) -> bytes:
    r"""Return a line of JSON, with bytes as in TF Serving's REST API.

    Values that JSON cannot represent become null or text.

    >>> to_line({"sound": b"\xff", "score": float("nan"), "odd": "\ud800"})
    b'{"sound": {"b64": "/w=="}, "score": null, "odd": "\\ud800"}\n'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError):
        text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"  # JSON escapes lone surrogates


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode("ascii")}
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _score(score: float) -> float | None:
    return round(score, _DIGITS) if math.isfinite(score) else None


def _cell(value: Any) -> str:
    """Return a value as text for a cell of a table."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value if isinstance(value, str) else to_line(value)[:-1].decode()


def _one_line(text: str) -> str:
    r"""Replace each line end in a text by a space; other characters at which Python splits lines are kept.

    >>> _one_line("a\r\nb\n"), _one_line("a\u2028b")
    ('a b', 'a\u2028b')
    """
    return " ".join(re.split(r"\r\n|\r|\n", re.sub(r"(\r\n|\r|\n)$", "", text)))


class Format(abc.ABC):
    """A file format for rows with their answers.

    Args:
        columns: The columns of the input, in order, if all rows have the same ones.
        schema: Their types, as a serialized Arrow schema, for Parquet.
        attention: Whether attention maps are written.
    """

    ending: ClassVar[str]
    holds_attention: ClassVar[bool] = False  # whether attention maps can be written
    needs_columns: ClassVar[bool] = False

    def __init__(self, columns: Sequence[str] = (), schema: bytes = b"", attention: bool = False) -> None:
        self.columns, self.schema, self.attention = [_own_name(name) for name in columns], schema, attention

    @abc.abstractmethod
    def encode(self, rows: Sequence[Said]) -> bytes:
        """Encode rows with their answers as the bytes of a part."""

    def head(self) -> bytes:
        """Return the header with which each part starts, and which a joined file contains once."""
        return b""

    def join(self, parts: Sequence[Path], joined: Path) -> None:
        """Join all parts into one file."""
        with joined.open("wb") as file:
            file.write(self.head())
            for part in parts:
                with part.open("rb") as opened:
                    opened.seek(len(self.head()))
                    shutil.copyfileobj(opened, file, 2**20)


class _JsonFormat(Format):
    """One JSON object per line, with everything in an answer."""

    ending, holds_attention = ".jsonl", True

    def encode(self, rows: Sequence[Said]) -> bytes:
        return b"".join(to_line({**own(values), **self._said(answer)}) for values, answer in rows if answer)

    def _said(self, answer: Answer) -> dict[str, Any]:
        said: dict[str, Any] = {"answer": answer.text, "score": _score(answer.score)}
        if answer.alternatives:
            said["alternatives"] = [{"answer": text, "score": _score(score)} for text, score in answer.alternatives]
        if self.attention:
            said["attention"] = {name: _look(look) for name, look in answer.attention.items()}
        return said


def _look(look: AttentionMap) -> dict[str, Any]:
    weights = look.weights.astype("float64").round(_WEIGHT_DIGITS)  # float32 would print more digits
    return {"queries": look.queries, "keys": look.keys, "weights": weights.tolist()}


class _CsvFormat(Format):
    """A table with the column names in its first line; contains answers and scores."""

    ending, needs_columns = ".csv", True

    def head(self) -> bytes:
        """Return the line with the column names."""
        return self._lines([[*self.columns, "answer", "score"]])

    def encode(self, rows: Sequence[Said]) -> bytes:
        cells = [self._cells(own(values), answer) for values, answer in rows if answer]
        return self.head() + self._lines(cells)

    def _cells(self, values: dict[str, Any], answer: Answer) -> list[str]:
        return [*(_cell(values.get(name)) for name in self.columns), answer.text, _cell(_score(answer.score))]

    def _lines(self, rows: Sequence[Sequence[str]]) -> bytes:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue().encode("utf-8", "replace")


class _TsvFormat(_CsvFormat):
    """A table without quotes: tabs and line ends within a cell become spaces."""

    ending = ".tsv"

    def _lines(self, rows: Sequence[Sequence[str]]) -> bytes:
        lines = ("\t".join(_one_line(cell.replace("\t", " ")) for cell in cells) for cells in rows)
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


class _TextFormat(Format):
    """Answers alone, with one line for each row of the input; the line of an invalid row is blank."""

    ending = ".txt"

    def encode(self, rows: Sequence[Said]) -> bytes:
        answers = (_one_line(answer.text) if answer else "" for _, answer in rows)
        return "".join(f"{answer}\n" for answer in answers).encode("utf-8", "replace")


class _ParquetFormat(Format):
    """Columns with the types of the input; attention maps are lists with their shapes."""

    ending, holds_attention, needs_columns = ".parquet", True, True

    def encode(self, rows: Sequence[Said]) -> bytes:
        import pyarrow as pa

        schema = self._schema()
        good = [(own(values), answer) for values, answer in rows if answer]
        data = {
            **{
                name: [_typed(values.get(name), schema.field(name).type) for values, _ in good] for name in self.columns
            },
            "answer": [answer.text for _, answer in good],
            "score": [_score(answer.score) for _, answer in good],
            "alternatives": [
                [{"answer": text, "score": _score(score)} for text, score in answer.alternatives] for _, answer in good
            ],
        }
        if self.attention:
            data["attention"] = [_flat(answer) for _, answer in good]
        sink = io.BytesIO()
        import_parquet().write_table(pa.table(data, schema=schema), sink)
        return sink.getvalue()

    def _schema(self) -> Any:
        import pyarrow as pa

        given = pa.ipc.read_schema(pa.py_buffer(self.schema))
        other = pa.struct([("answer", pa.string()), ("score", pa.float64())])
        names = [("answer", pa.string()), ("score", pa.float64()), ("alternatives", pa.list_(other))]
        if self.attention:
            texts, weights = pa.list_(pa.string()), pa.list_(pa.float32())
            parts = [("input", pa.string()), ("queries", texts), ("keys", texts), ("shape", pa.list_(pa.int32()))]
            names.append(("attention", pa.list_(pa.struct([*parts, ("weights", weights)]))))
        return pa.schema([*(field.with_name(_own_name(field.name)) for field in given), *names])

    def join(self, parts: Sequence[Path], joined: Path) -> None:
        parquet = import_parquet()
        with parquet.ParquetWriter(joined, self._schema()) as writer:
            for part in parts:
                writer.write_table(parquet.read_table(part))


def _flat(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "input": name,
            "queries": look.queries,
            "keys": look.keys,
            "shape": look.weights.shape,
            "weights": look.weights.round(_WEIGHT_DIGITS).ravel().tolist(),
        }
        for name, look in answer.attention.items()
    ]


def _typed(value: Any, kind: Any) -> Any:
    """Convert a value to the type of its column: in a text column, other values are encoded as JSON."""
    if value is None or str(kind) not in ("string", "large_string", "string_view"):
        return value
    return _cell(value).encode("utf-8", "replace").decode()


FORMATS: dict[str, type[Format]] = {
    kind.ending: kind for kind in (_JsonFormat, _CsvFormat, _TsvFormat, _TextFormat, _ParquetFormat)
}


def column_types(reader: Reader, rows: Iterable[dict[str, Any]]) -> Any:
    """Return the Arrow schema of a file: its own, text columns for a table, or the types required by its values."""
    import pyarrow as pa

    if isinstance(reader, ParquetReader):
        return reader.file.schema_arrow.remove_metadata()
    if reader.columns is not None:
        return pa.schema([(name, pa.string()) for name in reader.columns])
    kinds: dict[str, set[str]] = {}
    for values in rows:
        for name, value in values.items():
            kinds.setdefault(name, set()).add(_kind(value))
    return pa.schema([(name, _widest(found - {""})) for name, found in kinds.items()])


def _kind(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return "int64" if -(2**63) <= value < 2**63 else "string"
    return {bool: "bool", float: "double", type(None): ""}.get(type(value), "string")


def _widest(kinds: set[str]) -> str:
    if kinds == {"int64", "double"}:
        return "double"
    return kinds.pop() if len(kinds) == 1 else "string"
