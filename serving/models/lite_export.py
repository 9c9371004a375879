"""LiteRT exports that answer strings, as the SavedModel of the same model does, without TensorFlow.

The numbers are those of the LiteRT file, which are close to those of the SavedModel but not equal.
"""

from __future__ import annotations

import time
from collections.abc import MutableMapping, Sequence
from pathlib import Path

import numpy as np

from seqattn_tf.lite import LiteModel
from seqattn_tf.lite.answer import ATTENTION, KEYS, QUERIES, SHAPE, Answer, to_outputs
from seqattn_tf.serving import DEFAULT_SIGNATURE, PREDICT_METHOD
from seqattn_tf.serving.errors import deadline_exceeded, invalid
from seqattn_tf.serving.models.engine import Arrays, Pool, out_of_memory
from seqattn_tf.serving.protos import DataType, SignatureDef, TensorInfo
from seqattn_tf.serving.protos.tensors import dtype_of


class LiteExportEngine:
    """A LiteRT export in a pool of interpreters. A run answers one row at a time and ends at its deadline.

    Args:
        folder: The `lite` folder of an export or a preset.
        interpreters: The maximum number of interpreters that run at once.

    Raises:
        ValueError: If the folder is damaged.
    """

    name = "litert"

    def quick_run(self, signature_name: str, inputs: Arrays) -> None:
        return None  # its speed depends on the input

    def __init__(self, folder: Path, interpreters: int = 1) -> None:
        first = LiteModel(folder)
        self._inputs = list(first.inputs)
        self.signature_defs = {DEFAULT_SIGNATURE: _signature(first)}
        self._pool = Pool(first, lambda: LiteModel(folder), interpreters)

    def run(
        self, signature_name: str, inputs: Arrays, outputs: Sequence[str], timeout: float | None
    ) -> dict[str, np.ndarray]:
        end = None if timeout is None else time.monotonic() + timeout
        for name in self._inputs:
            if inputs[name].dtype != np.object_ or inputs[name].ndim != 1:
                raise invalid(
                    f"{name}: expected a list of strings. Received: {inputs[name].dtype} {inputs[name].shape}"
                )
        if len({len(inputs[name]) for name in self._inputs}) > 1:
            sizes = {name: len(inputs[name]) for name in self._inputs}
            raise invalid(f"inputs: expected as many rows in each. Received: {sizes}")
        count = len(inputs[self._inputs[0]])
        if not count:
            return {name: _empty(self.signature_defs[signature_name].outputs[name]) for name in outputs}
        answers: list[Answer] = []
        with self._pool.lend(timeout) as model:
            for row in range(count):
                if end is not None and time.monotonic() > end:
                    raise deadline_exceeded()
                answers.append(self._answer(model, {name: inputs[name][row] for name in self._inputs}, row, count))
        found = to_outputs(answers)
        return {name: found[name] for name in outputs}

    def _answer(self, model: LiteModel, values: dict[str, bytes], row: int, count: int) -> Answer:
        try:
            return model.answer([values])[0]
        except MemoryError:
            raise out_of_memory() from None
        except ValueError as error:
            raise invalid(f"row {row}: {error}" if count > 1 else str(error)) from None


def _signature(model: LiteModel) -> SignatureDef:
    """Return the signature for strings, with the names and dtypes of that of a SavedModel, and free sizes."""
    signature = SignatureDef(method_name=PREDICT_METHOD)
    strings, floats, whole = DataType.DT_STRING, DataType.DT_FLOAT, DataType.DT_INT32
    for name in model.inputs:
        _describe(signature.inputs, name, strings, 1)
    for name, dtype, rank in (
        ("text", strings, 1),
        ("score", floats, 1),
        ("alternatives", strings, 2),
        ("alternative_scores", floats, 2),
        ("tokens", strings, 2),
    ):
        _describe(signature.outputs, name, dtype, rank)
    computed = model.run.get_output_details()
    for name in model.manifest["attention_maps"]:
        weights = computed.get(name + ATTENTION)  # absent if the map is computed by the target
        rank = 3 if weights is None else len(weights["shape_signature"])
        _describe(signature.outputs, name + ATTENTION, floats, rank)
        _describe(signature.outputs, name + QUERIES, strings, 2)
        if rank == 3:
            _describe(signature.outputs, name + KEYS, strings, 2)
    for name, axes in model.manifest["extra_outputs"].items():
        _describe(signature.outputs, name, floats, 1 + len(axes))
        _describe(signature.outputs, name + SHAPE, whole, 2)
    return signature


def _describe(side: MutableMapping[str, TensorInfo], name: str, dtype: int, rank: int) -> None:
    side[name].name, side[name].dtype = name, dtype
    for _ in range(rank):
        side[name].tensor_shape.dim.add(size=-1)


def _empty(info: TensorInfo) -> np.ndarray:
    return np.zeros([0] * len(info.tensor_shape.dim), dtype_of(info.dtype))
