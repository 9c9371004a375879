"""LiteRT: the model in built-in ops, with everything that a device needs to run it."""

import contextlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError

from seqattn_tf.core import edge
from seqattn_tf.export.forms.base import FORWARD, Answers, Form, Row
from seqattn_tf.export.lite_loops import moves_inputs
from seqattn_tf.export.lite_version import least_runtime
from seqattn_tf.export.signatures import TENSORS, edge_signature
from seqattn_tf.lite import manifest
from seqattn_tf.lite.assets import save_assets
from seqattn_tf.lite.model_inputs import RowError
from seqattn_tf.lite.runtime import FILE, LiteModel
from seqattn_tf.models import Model

_WAY_OUT = "use --no-lite to export the SavedModel only"


def convert(
    model: Model, optimizations: Sequence[tf.lite.Optimize] = (), length: int = 0, arrays: bool = False
) -> bytes:
    """Convert `potentials` of a model to a LiteRT file; raise an error if an op is not built in.

    Args:
        model: The model.
        optimizations: The optimizations of the converter.
        length: The length of all inputs, for runtimes that need fixed shapes; 0 for inputs of any length.
        arrays: Whether loops store their steps in tensor arrays, as in TensorFlow, which is slower (see `core.edge`).
    """
    with contextlib.nullcontext() if arrays else edge.tracing():
        made = _converted(edge_signature(model, length), optimizations)
    if moves_inputs(made):
        raise ValueError(
            "LiteRT: expected loops whose steps return no input in the place of another, which LiteRT may overwrite. "
            f"Received: such a step; {_WAY_OUT}"
        )
    return made


def _converted(signature: Any, optimizations: Sequence[tf.lite.Optimize]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(tf.Module(), folder, signatures={TENSORS: signature}, options=FORWARD)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=[TENSORS])
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        converter.optimizations = list(optimizations)
        try:
            return converter.convert()
        except ConverterError as error:
            lines = str(error).strip().splitlines()
            raise ValueError(
                "LiteRT: expected a model that needs built-in ops only. "
                f"Received: {lines[0] if lines else error!r}; {_WAY_OUT}"
            ) from None


class Lite(Form):
    """The LiteRT file and its assets, in a folder that can be copied to a device.

    Its float kernels round differently from TensorFlow's, which can change the order of nearly equal scores.

    Args:
        length: The length to which all inputs are padded, for runtimes that need fixed shapes; 0 for inputs of any
            length.
    """

    name_in_registry = "lite"
    title = "LiteRT"
    place = "assets.extra/lite"  # never beside saved_model.pb, where TF Serving might load it as the model
    tolerance = 1e-3
    min_agreement = 0.996
    advice = f"; {_WAY_OUT}"
    weights: ClassVar[str] = "float32"
    optimizations: ClassVar[Sequence[tf.lite.Optimize]] = ()

    def __init__(self, length: int = 0) -> None:
        if length < 0:
            raise ValueError(f"static: expected a length of at least 1. Received: {length}")
        self.length = length

    def refuse(self, model: Model) -> None:
        """Raise an error for a layer that lacks built-in ops (see its `needs_more`), or inputs of no single length."""
        needs = [more for layer in model.network._flatten_layers() if (more := getattr(layer, "needs_more", ""))]
        if needs:
            raise ValueError(f"LiteRT: expected a model that needs built-in ops only. Received: {needs[0]}; {_WAY_OUT}")
        shapes = [spec.shape[1:].as_list() for field in model.graph_inputs.values() for spec in field.tensors.values()]
        if self.length and max(shape.count(None) for shape in shapes) != 1:
            raise ValueError(f"static: expected inputs with one free size. Received: the shapes {shapes}")

    def write(self, model: Model, folder: Path, described: Mapping[str, Any]) -> dict[str, Any]:
        """Write the file, its assets, and the manifest, without which the folder cannot be used."""
        made = convert(model, self.optimizations, self.length)
        (folder / FILE).write_bytes(made)
        save_assets(folder, model.inputs, model.target)
        needs = {
            "lite": {
                "least_runtime": least_runtime(made),
                "bytes": len(made),
                "weights": self.weights,
                "length": self.length,
            }
        }
        self.describe(folder, {**described, **needs})
        return needs

    def open(self, folder: Path) -> Answers:
        return LiteModel(folder).answer

    def compare(self, model: Model, folder: Path, rows: Sequence[Row]) -> tuple[np.ndarray, str]:
        """Compare the answers with those of the Keras model; rows beyond a fixed length must be an error."""
        if not self.length:
            return super().compare(model, folder, rows)
        fits = [not isinstance(found, RowError) for found in LiteModel(folder).answer(rows, errors="return")]
        if not any(fits):
            raise ValueError(f"static: expected a length that an example fits into. Received: {self.length}")
        agreeing = np.ones(len(rows), bool)
        agreeing[fits], fault = super().compare(
            model, folder, [row for row, fit in zip(rows, fits, strict=True) if fit]
        )
        return agreeing, fault

    def describe(self, folder: Path, described: Mapping[str, Any]) -> None:
        """Write the manifest of the export."""
        manifest.write(folder, described)


class QuantizedLite(Lite):
    """The LiteRT form with int8 weights: the file has a quarter of the size, and every step reads less memory.

    The inputs of matrix products are also rounded to eight bits, row by row, so the numbers are close to those of the
    Keras model but not equal, and an answer that is hardly more probable than another may change.
    """

    name_in_registry = "lite_int8"
    tolerance = 0.1
    min_agreement = 0.95
    max_differing_percent = 5
    weights = "int8"
    optimizations = (tf.lite.Optimize.DEFAULT,)
