"""LiteRT files, served as by TF Serving's `--prefer_tflite_model`: by their signatures, with built-in ops only."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter

from seqattn_tf.serving import DEFAULT_SIGNATURE, PREDICT_METHOD
from seqattn_tf.serving.errors import ServingError, deadline_exceeded, invalid
from seqattn_tf.serving.models.engine import Arrays, Pool, out_of_memory
from seqattn_tf.serving.protos import DataType, SignatureDef, TensorInfo
from seqattn_tf.serving.protos.tensors import dtype_number


class LiteEngine:
    """A LiteRT file in a pool of interpreters, each of which runs one request at a time.

    A run cannot be stopped: a deadline ends the wait for an interpreter; apart from that, it is checked after the run.

    Args:
        path: The LiteRT file.
        interpreters: The maximum number of interpreters that run at once.

    Raises:
        ServingError: If the file is incomplete, or needs ops that LiteRT does not have.
    """

    name = ""  # replies are those of TF Serving, which names no engine

    def is_quick(self, signature_name: str, inputs: Arrays, outputs: Sequence[str]) -> bool:
        return False  # its speed depends on the input

    def __init__(self, path: Path, interpreters: int = 1):
        self._model = path.read_bytes()
        first = self._interpreter()
        listed = first.get_signature_list()
        self._signed = bool(listed)
        names = listed or {DEFAULT_SIGNATURE: None}
        self.signature_defs = {name: self._signature(first, name) for name in names}
        self._pool = Pool(first, self._interpreter, interpreters)

    def run(
        self, signature_name: str, inputs: Arrays, outputs: Sequence[str], timeout: float | None
    ) -> dict[str, np.ndarray]:
        end = None if timeout is None else time.monotonic() + timeout
        for alias, info in self.signature_defs[signature_name].inputs.items():
            _check_shape(alias, info, inputs[alias].shape)  # the interpreter would crash or misinterpret the input
        try:
            with self._pool.lend(timeout) as interpreter:
                if self._signed:
                    found = interpreter.get_signature_runner(signature_name)(**inputs)
                else:
                    found = _invoke(interpreter, inputs)
        except MemoryError:
            raise out_of_memory() from None
        except (ValueError, RuntimeError) as error:
            raise invalid(
                str(error).partition("\n")[0] or "LiteRT failed, perhaps because it ran out of memory"
            ) from None
        if end is not None and time.monotonic() > end:
            raise deadline_exceeded()
        return {alias: np.asarray(found[alias]) for alias in outputs}

    def _interpreter(self) -> Interpreter:
        try:
            made = Interpreter(model_content=self._model)
            made.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise ServingError(
                "INVALID_ARGUMENT", f"expected a complete LiteRT file with built-in ops only. Received: {error}"
            ) from None
        return made

    def _signature(self, interpreter: Interpreter, name: str) -> SignatureDef:
        signature = SignatureDef(method_name=PREDICT_METHOD)
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
                "UNIMPLEMENTED", f"expected a LiteRT file without scalar inputs. Received: scalars {scalars}"
            )
        return signature


def _check_shape(alias: str, info: TensorInfo, shape: tuple[int, ...]) -> None:
    declared = [dim.size for dim in info.tensor_shape.dim]
    if len(shape) != len(declared) or any(size not in (-1, given) for size, given in zip(declared, shape, strict=True)):
        raise invalid(f"{alias}: expected the shape {declared}, -1 for any size. Received: {list(shape)}")


def _describe(info: TensorInfo, detail: dict[str, Any]) -> None:
    info.name = detail["name"]
    strings = detail["dtype"] in (np.bytes_, np.object_)
    info.dtype = DataType.DT_STRING if strings else dtype_number(np.dtype(detail["dtype"]))
    for size in detail["shape_signature"]:  # -1 for a free dimension
        info.tensor_shape.dim.add(size=int(size))


def _invoke(interpreter: Interpreter, inputs: Arrays) -> dict[str, np.ndarray]:
    """Run a file without signatures, by the names of its tensors."""
    details = interpreter.get_input_details()
    for detail in details:
        interpreter.resize_tensor_input(detail["index"], inputs[detail["name"]].shape)
    interpreter.allocate_tensors()
    for detail in details:
        interpreter.set_tensor(detail["index"], inputs[detail["name"]])
    interpreter.invoke()
    return {detail["name"]: interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()}
