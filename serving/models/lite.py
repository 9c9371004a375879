"""LiteRT files, served as by TF Serving's `--prefer_tflite_model`: by their signatures, with built-in ops only."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from flatbuffers import flexbuffers

from seqattn_tf.serving import DEFAULT_SIGNATURE, PREDICT_METHOD
from seqattn_tf.serving.errors import ServingError, deadline_exceeded, invalid
from seqattn_tf.serving.models.engine import Arrays, Pool, out_of_memory
from seqattn_tf.serving.protos import DataType, SignatureDef, TensorInfo
from seqattn_tf.serving.protos.tensors import dtype_number

_SIGNATURES = b"signature_defs_metadata"


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

    def quick_run(self, signature_name: str, inputs: Arrays) -> None:
        return None  # its speed depends on the input

    def __init__(self, path: Path, interpreters: int = 1):
        self._model = path.read_bytes()
        first = self._interpreter()
        listed = first.get_signature_list()
        self._signed = bool(listed)
        if listed:
            self.signature_defs = {name: _signature_of(first.get_signature_runner(name)) for name in listed}
        else:
            self.signature_defs = _signatures_in_metadata(self._model) or {DEFAULT_SIGNATURE: _signature_of(first)}
        for signature in self.signature_defs.values():
            _refuse_scalars(signature)
        self._pool = Pool(first, self._interpreter, interpreters)

    def run(
        self, signature_name: str, inputs: Arrays, outputs: Sequence[str], timeout: float | None
    ) -> dict[str, np.ndarray]:
        end = None if timeout is None else time.monotonic() + timeout
        signature = self.signature_defs[signature_name]
        arrays = {alias: _fitted(alias, info, inputs[alias]) for alias, info in signature.inputs.items()}
        try:
            with self._pool.lend(timeout) as interpreter:
                if self._signed:
                    found = interpreter.get_signature_runner(signature_name)(**arrays)
                else:
                    found = _invoke(interpreter, signature, arrays)
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


def _signature_of(described: Any) -> SignatureDef:
    """Return the signature of a runner, or the one that TF Serving generates for an interpreter without signatures."""
    inputs, outputs = described.get_input_details(), described.get_output_details()
    if isinstance(inputs, list):
        inputs, outputs = ({_bare(detail["name"]): detail for detail in details} for details in (inputs, outputs))
    signature = SignatureDef(method_name=PREDICT_METHOD)
    for side, details in ((signature.inputs, inputs), (signature.outputs, outputs)):
        for alias, detail in details.items():
            _describe(side[alias], detail)
    return signature


def _signatures_in_metadata(model: bytes) -> dict[str, SignatureDef]:
    """Return the signatures that older converters wrote into the metadata of a file; empty if there are none."""
    file = schema.Model.GetRootAs(model, 0)
    for number in range(file.MetadataLength()):
        entry = file.Metadata(number)
        if entry.Name() == _SIGNATURES:
            content = file.Buffers(entry.Buffer()).DataAsNumpy().tobytes()
            found = flexbuffers.GetRoot(content).AsMap
            pairs = zip(found.Keys, found.Values, strict=True)
            return {key.AsKey: SignatureDef.FromString(bytes(value.AsStringBytes)) for key, value in pairs}
    return {}


def _refuse_scalars(signature: SignatureDef) -> None:
    if scalars := [alias for alias, info in signature.inputs.items() if not info.tensor_shape.dim]:
        raise ServingError(
            "UNIMPLEMENTED", f"expected a LiteRT file without scalar inputs. Received: scalars {scalars}"
        )


def _fitted(alias: str, info: TensorInfo, array: np.ndarray) -> np.ndarray:
    """Return an input in a shape that the interpreter accepts; with others, it could crash or misinterpret the input.

    As in TF Serving, the number of rows may differ from the declared one, and an input with the declared number of
    elements may have another shape.
    """
    declared = [dim.size for dim in info.tensor_shape.dim]
    if array.ndim == len(declared) and all(
        size in (-1, given) for size, given in zip(declared[1:], array.shape[1:], strict=True)
    ):
        return array
    if -1 not in declared and array.size == math.prod(declared):
        return array.reshape(declared)
    raise invalid(f"{alias}: expected the shape {declared}, -1 for any size. Received: {list(array.shape)}")


def _describe(info: TensorInfo, detail: dict[str, Any]) -> None:
    info.name = detail["name"]
    strings = detail["dtype"] in (np.bytes_, np.object_)
    info.dtype = DataType.DT_STRING if strings else dtype_number(np.dtype(detail["dtype"]))
    for size in detail["shape_signature"]:  # -1 for a free dimension
        info.tensor_shape.dim.add(size=int(size))


def _invoke(interpreter: Interpreter, signature: SignatureDef, inputs: Arrays) -> dict[str, np.ndarray]:
    """Run a file without signatures of its own, by the names of its tensors."""
    places = {_bare(detail["name"]): detail["index"] for detail in interpreter.get_input_details()}
    arrays = {places[_bare(info.name)]: inputs[alias] for alias, info in signature.inputs.items()}
    for place, array in arrays.items():
        interpreter.resize_tensor_input(place, array.shape)
    interpreter.allocate_tensors()
    for place, array in arrays.items():
        interpreter.set_tensor(place, array)
    interpreter.invoke()
    places = {_bare(detail["name"]): detail["index"] for detail in interpreter.get_output_details()}
    return {alias: interpreter.get_tensor(places[_bare(info.name)]) for alias, info in signature.outputs.items()}


def _bare(name: str) -> str:
    """Return the name of a tensor without the number of its output, which LiteRT files may leave out."""
    return name.removesuffix(":0")
