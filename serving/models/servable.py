"""A loaded version of a model, with its signatures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from seqattn_tf.serving import DEFAULT_SIGNATURE, METHODS
from seqattn_tf.serving.errors import ServingError, invalid
from seqattn_tf.serving.models.batcher import Batcher
from seqattn_tf.serving.models.engine import Engine
from seqattn_tf.serving.protos import DataType, SignatureDef
from seqattn_tf.serving.protos.tensors import read_tensor


class Servable:
    """A version of a model in memory. It is unloaded when the last request that uses it ends.

    Args:
        name: The name of the model in the repository.
        version: The version number.
        engine: The engine that runs the model.
        batcher: The batcher that combines requests; None to run each request alone.
        check_method_names: Whether the `method_name` of a signature must match the API of a request.
        folder: The folder with its manifest, if there is one.
    """

    def __init__(
        self,
        name: str,
        version: int,
        engine: Engine,
        batcher: Batcher | None = None,
        check_method_names: bool = False,
        folder: Path | None = None,
    ):
        self.name = name
        self.version = version
        self.folder = folder
        self.check_method_names = check_method_names
        self.engine = engine.name
        self.signature_defs = engine.signature_defs
        self.input_types = {  # TF Serving's names of the types of the inputs of each signature
            key: {alias: type_name(signature.inputs[alias].dtype) for alias in sorted(signature.inputs)}
            for key, signature in self.signature_defs.items()
        }
        self._engine = engine
        self._queues = {}
        if batcher is not None:
            for key, signature in self.signature_defs.items():
                self._queues[key] = batcher.queue(partial(_run_whole, engine, key, sorted(signature.outputs)))

    def predict(
        self,
        signature_name: str,
        inputs: Mapping[str, np.ndarray],
        output_filter: Sequence[str] = (),
        timeout: float | None = None,
    ) -> dict[str, np.ndarray]:
        """Run one signature on a batch.

        Args:
            signature_name: A signature of the model; empty for `serving_default`.
            inputs: One array for each input of the signature; inputs with a default may be omitted. The engine checks
                dtypes and shapes, as in TF Serving.
            output_filter: The names of the requested outputs; empty for all.
            timeout: The time limit in seconds; None for no limit.

        Raises:
            ServingError: If the request fails, with TF Serving's code and message.
        """
        self.check(signature_name, inputs.keys())
        name = signature_name or DEFAULT_SIGNATURE
        signature = self.signature_defs[name]
        arrays = _completed(signature, inputs)
        _check_filter(signature, output_filter)
        wanted = list(output_filter) or sorted(signature.outputs)
        if self._queues and len(wanted) == len(signature.outputs) and _rows(arrays):
            outputs = self._queues[name](arrays, timeout)
        else:  # a batch computes all outputs, so it could fail because of one that was not requested
            outputs = self._engine.run(name, arrays, wanted, timeout)
        return {alias: outputs[alias] for alias in wanted}

    def quick_run(
        self, signature_name: str, inputs: Mapping[str, np.ndarray]
    ) -> Callable[[], dict[str, np.ndarray]] | None:
        """Return a function that does what `predict` does, in less than a millisecond, or None.

        Args:
            signature_name: A signature of the model; empty for `serving_default`.
            inputs: One array for each input of the signature.
        """
        name = signature_name or DEFAULT_SIGNATURE
        signature = self.signature_defs[name]
        if self._queues or self.check_method_names or inputs.keys() != signature.inputs.keys():
            return None
        return self._engine.quick_run(name, inputs)

    def check(self, signature_name: str, sent: Set[str]) -> None:
        """Check the names of the inputs of a request before their values are read.

        Raises:
            ServingError: If there is no such signature, or if its inputs are different.
        """
        name = signature_name or DEFAULT_SIGNATURE
        if name not in self.signature_defs:
            raise ServingError("FAILED_PRECONDITION", f'Serving signature key "{name}" not found.')
        signature = self.signature_defs[name]
        if self.check_method_names and signature.method_name not in METHODS:
            raise ServingError(
                "INTERNAL",
                f"Expected prediction signature method_name to be one of {{{', '.join(METHODS)}}}. "
                f"Was: {signature.method_name}",
            )
        if sent != signature.inputs.keys():
            _check_names(signature, sent)


@lru_cache
def type_name(dtype: int) -> str:
    """Return TF Serving's name of a `DataType`: `DT_FLOAT` is `float`, `DT_STRING` is `string`."""
    return DataType(dtype).name.removeprefix("DT_").lower()


def _run_whole(
    engine: Engine, name: str, outputs: Sequence[str], inputs: Mapping[str, np.ndarray], timeout: float | None
) -> dict[str, np.ndarray]:
    return engine.run(name, inputs, outputs, timeout)


def _rows(arrays: Mapping[str, np.ndarray]) -> int:
    """Return the number of rows of a batch; like TF Serving, reject inputs that cannot be batched."""
    if not arrays:
        raise invalid("Batching Run() must have at least one input tensor")
    if not all(array.ndim for array in arrays.values()):
        raise invalid("Batching Run() input tensors must have at least one dimension")
    rows = {len(array) for array in arrays.values()}
    if len(rows) > 1:
        raise invalid("Batching Run() input tensors must have equal 0th-dimension size")
    return rows.pop()


def _check_names(signature: SignatureDef, sent: Set[str]) -> None:
    known, defaults = signature.inputs.keys(), signature.defaults.keys()
    if len(sent) > len(known) or (len(sent) < len(known) and not defaults):
        raise invalid(
            f"input size does not match signature: {len(sent)}!={len(known)} "
            f"len({{{_listed(sent)}}}) != len({{{_listed(known)}}}). "
            f"Sent extra: {{{_listed(sent - known)}}}. Missing but required: {{{_listed(known - sent)}}}."
        )
    for alias in sorted(known - sent - defaults):
        raise invalid(
            f"Signature input alias: {alias}(feed name: {signature.inputs[alias].name}) not found in request and no "
            f"default value provided. Inputs expected to be in the request {{{_listed(sent)}}}, or default input alias "
            f"set: {_listed(defaults)}"
        )
    if sent - known:
        raise invalid(
            f"Inputs contains invalid name. Used request inputs: {_listed(sent & known)}, "
            f"request input: {_listed(sent)}"
        )


def _completed(signature: SignatureDef, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return an array for each input of a signature; missing inputs get their defaults."""
    missing = signature.inputs.keys() - inputs.keys()
    return {**inputs, **{alias: read_tensor(alias, signature.defaults[alias]) for alias in missing}}


def _check_filter(signature: SignatureDef, output_filter: Sequence[str]) -> None:
    for position, alias in enumerate(output_filter):
        if alias not in signature.outputs:
            raise invalid(
                f"output tensor alias not found in signature: {alias} "
                f"Outputs expected to be in the set {{{_listed(signature.outputs)}}}."
            )
        if alias in output_filter[:position]:
            raise invalid(f"duplicate output tensor alias: {alias}")


def _listed(names: Iterable[str]) -> str:
    return ",".join(sorted(names))
