"""A LiteRT file served as TF Serving does with `--prefer_tflite_model`: by its signatures, in built-in ops."""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from tensorflow.core.protobuf import meta_graph_pb2

from seqattn_tf.serving import DEFAULT_SIGNATURE
from seqattn_tf.serving.errors import ServingError, invalid
from seqattn_tf.serving.models.engine import Arrays, late

LITE_FILE = "model.tflite"  # in the folder of a version


class LiteEngine:
    """A LiteRT file in a few interpreters, each of which answers one request at a time.

    A run cannot be stopped: a deadline is kept while a request waits for an interpreter, and told after the run.

    Args:
        path: the file.
        interpreters: that answer at once.

    Raises:
        ServingError: the file is not a whole one, or needs ops that LiteRT does not have.
    """

    def __init__(self, path: Path, interpreters: int = 1):
        self._model = path.read_bytes()
        first = self._interpreter()
        listed = first.get_signature_list()
        self._signed = bool(listed)
        names = listed or {DEFAULT_SIGNATURE: None}
        self.signature_defs = {name: self._signature(first, name) for name in names}
        self._free: queue.LifoQueue[Interpreter | None] = queue.LifoQueue()
        for interpreter in [None] * (interpreters - 1) + [first]:
            self._free.put(interpreter)  # the others are made when they are needed

    def run(
        self, signature_name: str, inputs: Arrays, outputs: Sequence[str], timeout: float | None
    ) -> dict[str, np.ndarray]:
        """See `Engine.run`."""
        end = None if timeout is None else time.monotonic() + timeout
        for alias, info in self.signature_defs[signature_name].inputs.items():
            _check_shape(alias, info, inputs[alias].shape)  # the interpreter would crash, or guess
        try:
            interpreter = self._free.get(timeout=None if timeout is None else max(timeout, 0))
        except queue.Empty:
            raise late() from None
        try:
            interpreter = interpreter or self._interpreter()
            if self._signed:
                found = interpreter.get_signature_runner(signature_name)(**inputs)
            else:
                found = _invoke(interpreter, inputs)
        except MemoryError:
            raise ServingError(
                "RESOURCE_EXHAUSTED", "expected a request that fits into memory. Received: more"
            ) from None
        except (ValueError, RuntimeError) as error:
            raise invalid(str(error).partition("\n")[0] or "LiteRT failed, for want of memory perhaps") from None
        finally:
            self._free.put(interpreter)
        if end is not None and time.monotonic() > end:
            raise late()
        return {alias: np.asarray(found[alias]) for alias in outputs}

    def _interpreter(self) -> Interpreter:
        try:
            made = Interpreter(model_content=self._model)
            made.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise ServingError(
                "INVALID_ARGUMENT", f"expected a whole LiteRT file in built-in ops. Received: {error}"
            ) from None
        return made

    def _signature(self, interpreter: Interpreter, name: str) -> meta_graph_pb2.SignatureDef:
        signature = meta_graph_pb2.SignatureDef(method_name=tf.saved_model.PREDICT_METHOD_NAME)
        if self._signed:
            runner = interpreter.get_signature_runner(name)
            inputs, outputs = runner.get_input_details(), runner.get_output_details()
        else:
            inputs = {detail["name"]: detail for detail in interpreter.get_input_details()}
            outputs = {detail["name"]: detail for detail in interpreter.get_output_details()}
        for side, details in ((signature.inputs, inputs), (signature.outputs, outputs)):
            for alias, detail in details.items():
                _describe(side[alias], detail)
        if scalars := [alias for alias, detail in inputs.items() if not len(detail["shape_signature"])]:
            raise ServingError(
                "UNIMPLEMENTED", f"expected a LiteRT file whose inputs have dimensions. Received: scalars {scalars}"
            )
        return signature


def _check_shape(alias: str, info: meta_graph_pb2.TensorInfo, shape: tuple[int, ...]) -> None:
    declared = [dim.size for dim in info.tensor_shape.dim]
    if len(shape) != len(declared) or any(size not in (-1, given) for size, given in zip(declared, shape, strict=True)):
        raise invalid(f"{alias}: expected the shape {declared}, -1 for any size. Received: {list(shape)}")


def _describe(info: meta_graph_pb2.TensorInfo, detail: dict[str, Any]) -> None:
    info.name = detail["name"]
    strings = detail["dtype"] in (np.bytes_, np.object_)
    info.dtype = (tf.string if strings else tf.as_dtype(detail["dtype"])).as_datatype_enum
    for size in detail["shape_signature"]:  # -1 where it is free
        info.tensor_shape.dim.add(size=int(size))


def _invoke(interpreter: Interpreter, inputs: Arrays) -> dict[str, np.ndarray]:
    """Runs a file without signatures, by the names of its tensors."""
    details = interpreter.get_input_details()
    for detail in details:
        interpreter.resize_tensor_input(detail["index"], inputs[detail["name"]].shape)
    interpreter.allocate_tensors()
    for detail in details:
        interpreter.set_tensor(detail["index"], inputs[detail["name"]])
    interpreter.invoke()
    return {detail["name"]: interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()}
