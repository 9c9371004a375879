"""The work of one process, which loads the model once and answers shards."""

import base64
import json
import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from seqattn_tf import plugins
from seqattn_tf.batch.outputs import to_line
from seqattn_tf.batch.plan import Job, Shard
from seqattn_tf.batch.readers import Row, Source
from seqattn_tf.batch.shards import Answered
from seqattn_tf.core.quiet import hide_messages
from seqattn_tf.lite import LiteModel
from seqattn_tf.lite.answer import Answer
from seqattn_tf.lite.model_inputs import columns

TEXTS = ("text", "lines")  # widgets of inputs that are not files

Asked = dict[str, str | bytes]


def limit_threads(job: Job) -> None:
    """Limit the number of TensorFlow's threads if a job needs it; must be called before TensorFlow runs anything."""
    if job.engine == "litert" and not job.plugins:
        return
    threads = job.threads
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")  # processes share the device
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)


class Answerer:
    """A model that answers the shards of a job."""

    def __init__(self, job: Job) -> None:
        for name in job.plugins:
            plugins.load(name)
        self.job, self.model, self.format = job, _load(job), job.format()

    def answer(self, shard: Shard) -> Answered:
        """Return the part of a shard.

        The batches depend only on the rows of the shard, so a row gets the same answer in every process.
        """
        rows = list(self.job.rows(shard))
        asked: dict[int, Asked] = {}
        faults: dict[int, str] = {}
        for place, (source, row) in enumerate(rows):
            try:
                asked[place] = self._asked(source, row)
            except ValueError as error:
                faults[place] = str(error)
        answers: dict[int, Answer] = {}
        for batch in _like_lengths(asked, self.job.batch_size):
            found, refused = self._try({place: asked[place] for place in batch})
            answers.update(found)
            faults.update(refused)
        said = [(row.values, answers.get(place)) for place, (_, row) in enumerate(rows)]
        rejected = [_rejected(*rows[place], faults[place]) for place in sorted(faults)]
        return Answered(shard.number, len(rows), self.format.encode(said), b"".join(rejected))

    def _asked(self, source: Source, row: Row) -> Asked:
        """Return the inputs of the model for a row; raise a `ValueError` if the row is invalid."""
        if row.fault:
            raise ValueError(row.fault)
        values = {name: self._value(name, row.values, source.path.parent) for name in self.job.inputs}
        try:
            found = columns([values], list(self.job.inputs))
        except ValueError as error:
            raise ValueError(str(error).removesuffix(" in row 0")) from None
        return {name: value for name, [value] in found.items()}

    def _value(self, name: str, values: dict[str, Any], folder: Path) -> Any:
        column = self.job.inputs[name]
        value = values.get(column)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise ValueError(f"{name}: expected a value in {column!r}. Received: none")
        if isinstance(value, dict):
            return _from_base64(name, value)
        if isinstance(value, str) and self.model.inputs[name].widget not in TEXTS:
            return _from_file(name, folder / value.removeprefix("@"))
        return json.dumps(value) if isinstance(value, bool | int | float) else value

    def _try(self, batch: dict[int, Asked]) -> tuple[dict[int, Answer], dict[int, str]]:
        """Return answers, and the errors of rows that have none; an invalid row does not affect the others."""
        try:
            return dict(zip(batch, self.model.answer(list(batch.values())), strict=True)), {}
        except ValueError as error:
            if len(batch) == 1:
                return {}, {place: str(error) for place in batch}
        refused = {place: fault for place, row in batch.items() if (fault := self._fault(row))}
        good = {place: row for place, row in batch.items() if place not in refused}
        parts = [good] if refused and good else [{place: row} for place, row in good.items()]
        answers: dict[int, Answer] = {}
        for part in parts:
            found, more = self._try(part)
            answers.update(found)
            refused.update(more)
        return answers, refused

    def _fault(self, row: Asked) -> str:
        """Return the error that the fields of the model find in a row, without running the network."""
        from seqattn_tf.lite.fields.base import row_fault

        return row_fault(self.model.inputs, row)


def _load(job: Job) -> Any:
    if job.engine == "litert":
        with hide_messages():
            return LiteModel(job.model, job.threads)
    from seqattn_tf.models import load

    return load(job.model)


def _like_lengths(asked: dict[int, Asked], size: int) -> Iterable[Sequence[int]]:
    """Return batches of indices of rows with similar lengths, which keeps padding small.

    >>> list(_like_lengths({0: {"text": "long"}, 1: {"text": "a"}, 2: {"text": "b"}}, 2))
    [[1, 2], [0]]
    """
    places = sorted(asked, key=lambda place: sum(map(len, asked[place].values())))
    return (places[first : first + size] for first in range(0, len(places), size))


def _from_base64(name: str, value: dict[str, Any]) -> bytes:
    try:
        return base64.b64decode(value["b64"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise ValueError(f'{name}: expected a string, or bytes as {{"b64": "..."}}. Received: {value!r:.60}') from None


def _from_file(name: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"{name}: expected a readable file. Received: {path.name!r:.80}, {reason}") from None


def _rejected(source: Source, row: Row, fault: str) -> bytes:
    return to_line({"file": source.path.name, "line": row.line, "reason": fault, "row": row.values})
