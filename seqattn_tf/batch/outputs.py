"""What answers are written as: JSONL, CSV, TSV, text or Parquet; each the bytes of a part, and parts joined."""

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
from seqattn_tf.lite.answer import Answer, Look

_DIGITS, _WEIGHT_DIGITS = 6, 4  # after the point, of scores and of weights
_SAID = ("answer", "score", "alternatives", "looks")

Said = tuple[dict[str, Any], Answer | None]  # the columns of a row, and what was said to it; None of a bad row


def own(values: dict[str, Any]) -> dict[str, Any]:
    """The columns of the input; one that has the name of something said is kept as `input_NAME`.

    >>> own({"text": "a", "answer": "b"})
    {'text': 'a', 'input_answer': 'b'}
    """
    return {_own_name(name): value for name, value in values.items()}


def _own_name(name: str) -> str:
    """The name that a column of the input has in the output."""
    return f"input_{name}" if name in _SAID else name


def to_line(value: Any) -> bytes:
    r"""A line of JSON; bytes as TF Serving's REST has them, what JSON has no word for as null, or as text.

    >>> to_line({"sound": b"\xff", "score": float("nan"), "odd": "\ud800"})
    b'{"sound": {"b64": "/w=="}, "score": null, "odd": "\\ud800"}\n'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError):
        text = json.dumps(_plain(value), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "backslashreplace") + b"\n"  # half a surrogate pair as JSON spells it


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
    """A value in a table that holds texts."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return value if isinstance(value, str) else to_line(value)[:-1].decode()


def _one_line(text: str) -> str:
    r"""A text with a space in place of each line end; other characters at which Python splits lines stay.

    >>> _one_line("a\r\nb\n"), _one_line("a\u2028b")
    ('a b', 'a\u2028b')
    """
    return " ".join(re.split(r"\r\n|\r|\n", re.sub(r"(\r\n|\r|\n)$", "", text)))


class Format(abc.ABC):
    """How rows with their answers are written.

    Args:
        columns: the columns of the input, in order, where all rows have the same.
        schema: their types, as Arrow serialises them, for Parquet.
        attention: whether looks are written.
    """

    ending: ClassVar[str]
    looks: ClassVar[bool] = False  # whether looks can be written
    needs_columns: ClassVar[bool] = False

    def __init__(self, columns: Sequence[str] = (), schema: bytes = b"", attention: bool = False) -> None:
        self.columns, self.schema, self.attention = [_own_name(name) for name in columns], schema, attention

    @abc.abstractmethod
    def encode(self, rows: Sequence[Said]) -> bytes:
        """A part."""

    def head(self) -> bytes:
        """What each part begins with, and a whole file once."""
        return b""

    def join(self, parts: Sequence[Path], joined: Path) -> None:
        """Write one file of all parts."""
        with joined.open("wb") as file:
            file.write(self.head())
            for part in parts:
                with part.open("rb") as opened:
                    opened.seek(len(self.head()))
                    shutil.copyfileobj(opened, file, 2**20)


class JsonFormat(Format):
    """An object a line, with everything."""

    ending, looks = ".jsonl", True

    def encode(self, rows: Sequence[Said]) -> bytes:
        """A part."""
        return b"".join(to_line({**own(values), **self._said(answer)}) for values, answer in rows if answer)

    def _said(self, answer: Answer) -> dict[str, Any]:
        said: dict[str, Any] = {"answer": answer.text, "score": _score(answer.score)}
        if answer.alternatives:
            said["alternatives"] = [{"answer": text, "score": _score(score)} for text, score in answer.alternatives]
        if self.attention:
            said["looks"] = {name: _look(look) for name, look in answer.looks.items()}
        return said


def _look(look: Look) -> dict[str, Any]:
    weights = look.weights.astype("float64").round(_WEIGHT_DIGITS)  # as doubles they have no more digits
    return {"rows": look.rows, "places": look.places, "weights": weights.tolist()}


class CsvFormat(Format):
    """A table with the names in its first line; answers and scores."""

    ending, needs_columns = ".csv", True

    def head(self) -> bytes:
        """The names."""
        return self._lines([[*self.columns, "answer", "score"]])

    def encode(self, rows: Sequence[Said]) -> bytes:
        """A part."""
        cells = [self._cells(own(values), answer) for values, answer in rows if answer]
        return self.head() + self._lines(cells)

    def _cells(self, values: dict[str, Any], answer: Answer) -> list[str]:
        return [*(_cell(values.get(name)) for name in self.columns), answer.text, _cell(_score(answer.score))]

    def _lines(self, rows: Sequence[Sequence[str]]) -> bytes:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue().encode("utf-8", "replace")


class TsvFormat(CsvFormat):
    """A table without quotes: a tab or the end of a line within a cell becomes a space."""

    ending = ".tsv"

    def _lines(self, rows: Sequence[Sequence[str]]) -> bytes:
        lines = ("\t".join(_one_line(cell.replace("\t", " ")) for cell in cells) for cells in rows)
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


class TextFormat(Format):
    """The answers alone, a line for each row of the input: a blank one where the row was bad."""

    ending = ".txt"

    def encode(self, rows: Sequence[Said]) -> bytes:
        """A part."""
        answers = (_one_line(answer.text) if answer else "" for _, answer in rows)
        return "".join(f"{answer}\n" for answer in answers).encode("utf-8", "replace")


class ParquetFormat(Format):
    """Columns with the types of the input; looks as lists with their shape."""

    ending, looks, needs_columns = ".parquet", True, True

    def encode(self, rows: Sequence[Said]) -> bytes:
        """A part."""
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
            data["looks"] = [_flat(answer) for _, answer in good]
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
            parts = [("input", pa.string()), ("rows", texts), ("places", texts), ("shape", pa.list_(pa.int32()))]
            names.append(("looks", pa.list_(pa.struct([*parts, ("weights", weights)]))))
        return pa.schema([*(field.with_name(_own_name(field.name)) for field in given), *names])

    def join(self, parts: Sequence[Path], joined: Path) -> None:
        """Write one file of all parts."""
        parquet = import_parquet()
        with parquet.ParquetWriter(joined, self._schema()) as writer:
            for part in parts:
                writer.write_table(parquet.read_table(part))


def _flat(answer: Answer) -> list[dict[str, Any]]:
    return [
        {
            "input": name,
            "rows": look.rows,
            "places": look.places,
            "shape": look.weights.shape,
            "weights": look.weights.round(_WEIGHT_DIGITS).ravel().tolist(),
        }
        for name, look in answer.looks.items()
    ]


def _typed(value: Any, kind: Any) -> Any:
    """A value as a column of this type holds it: what is no text in a column of texts, as JSON writes it."""
    if value is None or str(kind) not in ("string", "large_string", "string_view"):
        return value
    return _cell(value).encode("utf-8", "replace").decode()


FORMATS: dict[str, type[Format]] = {
    kind.ending: kind for kind in (JsonFormat, CsvFormat, TsvFormat, TextFormat, ParquetFormat)
}


def column_types(reader: Reader, rows: Iterable[dict[str, Any]]) -> Any:
    """The Arrow schema of what a file holds: its own, texts of a table, or what the values of its rows need."""
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
