"""A LiteRT export at work, on a device without TensorFlow: with NumPy, and ai-edge-litert or tflite-runtime.

model = LiteModel("models/pronounce/1/assets.extra/lite")
model.answer(["hello"])[0].text

tflite-runtime 2.14 computes a `RetellNetwork` wrongly (a head of its memory moves elsewhere): use ai-edge-litert there.
"""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from seqattn_tf.lite import manifest
from seqattn_tf.lite.answer import ATTENTION, Answer, Look
from seqattn_tf.lite.assets import load_assets
from seqattn_tf.lite.fields.base import read_row, row_fault
from seqattn_tf.lite.model_inputs import RowError, answer_each, check_errors, columns

try:
    from ai_edge_litert.interpreter import Interpreter
except ImportError:  # the older name of the same thing, which small boards have
    from tflite_runtime.interpreter import Interpreter


FILE = "model.tflite"


class LiteModel:
    """Answers like the Keras model, one row after the other. Safe in threads.

    Args:
        folder: the `lite` folder of an export, or a copy of it.
        threads: that the interpreter may use.

    Raises:
        ValueError: the folder is not such a folder, or a file of it is damaged.
    """

    def __init__(self, folder: str | Path, threads: int = 1) -> None:
        folder = Path(folder)
        self.manifest = manifest.read(folder)
        self.inputs, self.target = load_assets(folder)
        self.lock = threading.Lock()
        try:
            self.interpreter = Interpreter(str(folder / FILE), num_threads=threads)
            self.run = self.interpreter.get_signature_runner("tensors")
        except (ValueError, RuntimeError) as error:
            raise ValueError(f"{folder / FILE}: expected a whole LiteRT file. Received: {error}") from None

    @overload
    def answer(self, rows: Sequence[Any]) -> list[Answer]: ...
    @overload
    def answer(self, rows: Sequence[Any], errors: str) -> list[Answer | RowError]: ...
    def answer(self, rows: Sequence[Any], errors: str = "raise") -> Sequence[Answer | RowError]:
        """Return the answer to each row: a mapping by input, or the bare value where there is one input.

        Args:
            rows: what is asked.
            errors: `raise` an error that names the first bad row, or `return` one in place of each bad row's answer.

        Raises:
            ValueError: something other than rows.
            RowError: a value is too long or broken, and `errors` is `raise`.
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
        fed = {name: _at_least_one(array)[None] for name, array in read_row(self.inputs, row).items()}
        try:
            with self.lock:  # an interpreter answers one question at a time
                given = {name: _infinite(value[0]) for name, value in self.run(**fed).items()}
        except RuntimeError as error:
            raise ValueError(f"row: expected one that this model can read. Received: {row!r:.80}, {error}") from None
        found = self.target.decide_row(given, self.manifest.get("answers", 1), next(iter(self.manifest["looks"]), ""))
        said = self.target.say_row(found)
        looks = {
            look: self._look(look, looks, found[look + ATTENTION], row, said["tokens"])
            for look, looks in self.manifest["looks"].items()
        }
        parts = {}
        for part, axes in self.manifest["parts"].items():
            sizes = [self._count(axis, row, said["tokens"]) for axis in axes]
            parts[part] = found[part][tuple(map(slice, sizes))]
        return Answer(**said, looks=looks, parts=parts)

    def _count(self, axis: str, row: Mapping[str, Any], tokens: tuple[str, ...]) -> int | None:
        """How much of an axis of a part is no padding; None for all of it."""
        if not axis:
            return None
        return len(tokens if axis == "tokens" else self._places(axis, row))

    def _look(
        self, look: str, looks: str | list[str], weights: np.ndarray, row: Mapping[str, Any], tokens: tuple[str, ...]
    ) -> Look:
        """One look, its padding cut off; `looks` is what looked, as a model declares it."""
        rows = tuple(looks) if isinstance(looks, list) else tokens if looks == "tokens" else self._places(looks, row)
        if weights.ndim == 3:
            return Look(weights[: len(rows)], rows)
        places = self._places(self.manifest.get("looked_at", {}).get(look, look), row)
        return Look(weights[: len(rows), : len(places)], rows, places)

    def _places(self, look: str, row: Mapping[str, Any]) -> tuple[str, ...]:
        """The places of `INPUT`, or of `INPUT_LEVEL`."""
        name = max((name for name in self.inputs if look == name or look.startswith(name + "_")), key=len)
        return self.inputs[name].places(row[name], look[len(name) + 1 :])


def _infinite(array: np.ndarray) -> np.ndarray:
    """The array with infinities again: LiteRT's converter writes the largest numbers in their place."""
    if array.dtype != np.float32:
        return array
    largest = np.finfo(np.float32).max
    return np.where(np.abs(array) >= largest, np.copysign(np.float32(np.inf), array), array)


def _at_least_one(array: np.ndarray) -> np.ndarray:
    """The array itself, or one of zeros where it is empty: LiteRT has no loops over nothing."""
    return array if array.size else np.zeros([max(size, 1) for size in array.shape], array.dtype)
