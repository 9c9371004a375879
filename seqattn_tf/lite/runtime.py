"""The runtime of a LiteRT export on a device without TensorFlow; requires NumPy and ai-edge-litert or tflite-runtime.

model = LiteModel("models/pronounce/1/assets.extra/lite")
model.answer(["hello"])[0].text

Use ai-edge-litert for a `MemoryCellNetwork`: tflite-runtime 2.14 computes it incorrectly (a memory head moves to the
wrong slot).
"""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from seqattn_tf.lite import manifest
from seqattn_tf.lite.answer import ATTENTION, Answer, AttentionMap
from seqattn_tf.lite.assets import load_assets
from seqattn_tf.lite.fields.base import read_row, row_fault
from seqattn_tf.lite.formats import check_format
from seqattn_tf.lite.model_inputs import RowError, answer_each, check_errors, columns

try:
    from ai_edge_litert.interpreter import Interpreter
except ImportError:  # the older package, which is available for small boards
    from tflite_runtime.interpreter import Interpreter


FILE = "model.tflite"


class LiteModel:
    """A LiteRT export that returns the same answers as the Keras model, one row at a time. Thread-safe.

    Args:
        folder: The `lite` folder of an export, or a copy of it.
        threads: The number of threads of the interpreter.

    Raises:
        ValueError: If the folder is not such a folder, or if one of its files is damaged.
    """

    def __init__(self, folder: str | Path, threads: int = 1) -> None:
        folder = Path(folder)
        self.manifest = manifest.read(folder)
        check_format(folder / manifest.FILE, self.manifest, "export the model again: seqattn export RUN DIR")
        self.inputs, self.target = load_assets(folder)
        self.lock = threading.Lock()
        try:
            self.interpreter = Interpreter(str(folder / FILE), num_threads=threads)
            self.interpreter.allocate_tensors()  # prepares the kernels, before the first row
            self.run = self.interpreter.get_signature_runner("tensors")
            # [axes] of each input without the batch, -1 for any size
            self._sizes = {name: detail["shape_signature"][1:] for name, detail in self.run.get_input_details().items()}
        except (ValueError, RuntimeError) as error:
            raise ValueError(f"{folder / FILE}: expected a complete LiteRT file. Received: {error}") from None

    @overload
    def answer(self, rows: Sequence[Any]) -> list[Answer]: ...
    @overload
    def answer(self, rows: Sequence[Any], errors: str) -> list[Answer | RowError]: ...
    def answer(self, rows: Sequence[Any], errors: str = "raise") -> Sequence[Answer | RowError]:
        """Return the answer to each row: a mapping by input, or the bare value if there is only one input.

        Args:
            rows: The rows to answer.
            errors: `raise` raises an error that names the first invalid row; `return` returns an error in place of the
                answer to each invalid row.

        Raises:
            ValueError: If `rows` is not a sequence of rows.
            RowError: If a value is too long or malformed, and `errors` is `raise`.
        """
        if check_errors(errors) == "return":
            return answer_each(rows, list(self.inputs), self.answer, lambda row: row_fault(self.inputs, row))
        asked = columns(rows, list(self.inputs))
        each = [dict(zip(asked, values, strict=True)) for values in zip(*asked.values(), strict=True)]
        found = []
        for place, row in enumerate(each):
            try:
                found.append(self._answer(row))
            except ValueError as error:
                raise RowError.of(place, row, str(error), several=len(each) > 1) from None
        return found

    def _answer(self, row: Mapping[str, str | bytes]) -> Answer:
        read = read_row(self.inputs, row)
        fed = {name: _padded(name, _at_least_one(array), self._sizes[name])[None] for name, array in read.items()}
        try:
            with self.lock:  # an interpreter runs one row at a time
                given = {name: _infinite(value[0]) for name, value in self.run(**fed).items()}
        except RuntimeError as error:
            raise ValueError(
                f"row: expected an input that this model can run on. Received: {row!r:.80}, {error}"
            ) from None
        found = self.target.decode_row(
            given, self.manifest.get("answer_count", 1), next(iter(self.manifest["attention_maps"]), "")
        )
        said = self.target.format_row(found)
        attention = {
            name: self._attention_map(name, queries, found[name + ATTENTION], row, said["tokens"])
            for name, queries in self.manifest["attention_maps"].items()
        }
        extra = {}
        for part, axes in self.manifest["extra_outputs"].items():
            sizes = [self._count(axis, row, said["tokens"]) for axis in axes]
            extra[part] = found[part][tuple(map(slice, sizes))]
        return Answer(**said, attention=attention, extra=extra)

    def _count(self, axis: str, row: Mapping[str, Any], tokens: tuple[str, ...]) -> int | None:
        """Return the size of one axis of an extra output without padding; None for an axis of fixed size."""
        if not axis:
            return None
        return len(tokens if axis == "tokens" else self._positions(axis, row))

    def _attention_map(
        self, name: str, queries: str | list[str], weights: np.ndarray, row: Mapping[str, Any], tokens: tuple[str, ...]
    ) -> AttentionMap:
        """Return one attention map without padding; `queries` is its value in the model's `attention_maps`."""
        rows = (
            tuple(queries)
            if isinstance(queries, list)
            else tokens
            if queries == "tokens"
            else self._positions(queries, row)
        )
        if weights.ndim == 3:
            return AttentionMap(weights[: len(rows)], rows)
        places = self._positions(self.manifest.get("attention_sources", {}).get(name, name), row)
        return AttentionMap(weights[: len(rows), : len(places)], rows, places)

    def _positions(self, position_of: str, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the positions of `INPUT` or `INPUT_LEVEL`."""
        name = max((name for name in self.inputs if position_of == name or position_of.startswith(name + "_")), key=len)
        return self.inputs[name].positions(row[name], position_of[len(name) + 1 :])


def _infinite(array: np.ndarray) -> np.ndarray:
    """Restore infinities, for which LiteRT's converter writes the largest finite numbers."""
    largest = np.finfo(np.float32).max
    if array.dtype != np.float32 or not array.size or (array.max() < largest and array.min() > -largest):
        return array
    return np.where(np.abs(array) >= largest, np.copysign(np.float32(np.inf), array), array)


def _padded(name: str, array: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Return an array padded with zeros to the sizes that the file declares, -1 for any size."""
    wanted = [own if size < 0 else int(size) for own, size in zip(array.shape, sizes, strict=True)]
    if any(own > size for own, size in zip(array.shape, wanted, strict=True)):
        raise ValueError(f"{name}: expected at most {wanted}, the shape of this model. Received: {list(array.shape)}")
    if wanted == list(array.shape):
        return array
    padded = np.zeros(wanted, array.dtype)
    padded[tuple(map(slice, array.shape))] = array
    return padded


def _at_least_one(array: np.ndarray) -> np.ndarray:
    """Return the array, or zeros of size 1 if it is empty, because LiteRT cannot run loops without iterations."""
    return array if array.size else np.zeros([max(size, 1) for size in array.shape], array.dtype)
