"""LiteRT: the model in built-in ops, with what a device needs to use it."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError

from seqattn_tf.export.forms.base import FORWARD, Answers, Form
from seqattn_tf.export.lite_version import least_runtime
from seqattn_tf.export.signatures import TENSORS, edge_signature
from seqattn_tf.lite import manifest
from seqattn_tf.lite.assets import save_assets
from seqattn_tf.lite.runtime import FILE, LiteModel
from seqattn_tf.models import Model

_WAY_OUT = "the SavedModel alone is written with --no-lite"


def convert(model: Model, optimizations: Sequence[tf.lite.Optimize] = ()) -> bytes:
    """What `infer` does as a LiteRT file; fails when an op is not built in."""
    with tempfile.TemporaryDirectory() as folder:
        made = {TENSORS: edge_signature(model)}
        tf.saved_model.save(tf.Module(), folder, signatures=made, options=FORWARD)
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=[TENSORS])
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        converter.optimizations = list(optimizations)
        try:
            return converter.convert()
        except ConverterError as error:
            said = str(error).strip().splitlines()
            raise ValueError(
                f"LiteRT: expected a model in built-in ops. Received: {said[0] if said else error!r}; {_WAY_OUT}"
            ) from None


class Lite(Form):
    """The file and its assets, in a folder that can be copied to a device by itself.

    Its float kernels round otherwise than TensorFlow's, and near ties turn.
    """

    name_in_registry = "lite"
    title = "LiteRT"
    place = "assets.extra/lite"  # never beside saved_model.pb, where TF Serving may take it for the model
    tolerance = 1e-3
    share = 0.996
    weights: ClassVar[str] = "float32"
    optimizations: ClassVar[Sequence[tf.lite.Optimize]] = ()

    def refuse(self, model: Model) -> None:
        """A layer that has no built-in ops says in `needs_more` what it is."""
        needs = [more for layer in model.network._flatten_layers() if (more := getattr(layer, "needs_more", ""))]
        if needs:
            raise ValueError(f"LiteRT: expected a model in built-in ops. Received: {needs[0]}; {_WAY_OUT}")

    def write(self, model: Model, folder: Path, described: Mapping[str, Any]) -> dict[str, Any]:
        """The file, the assets, and the manifest without which the folder is not usable."""
        made = convert(model, self.optimizations)
        (folder / FILE).write_bytes(made)
        save_assets(folder, model.inputs, model.target)
        needs = {"lite": {"least_runtime": least_runtime(made), "bytes": len(made), "weights": self.weights}}
        self.describe(folder, {**described, **needs})
        return needs

    def open(self, folder: Path) -> Answers:
        """By the interpreter."""
        return LiteModel(folder).answer

    def describe(self, folder: Path, described: Mapping[str, Any]) -> None:
        """The manifest of the export."""
        manifest.write(folder, described)


class QuantizedLite(Lite):
    """The same with weights in int8: a quarter of the file, and less to read at every step.

    What is multiplied with them is rounded to eight bits as well, row by row, so that its numbers are near those of the
    Keras model, and an answer that is hardly more probable than another may turn.
    """

    name_in_registry = "lite_int8"
    tolerance = 0.1
    share = 0.95
    of_hundred = 5
    weights = "int8"
    optimizations = (tf.lite.Optimize.DEFAULT,)
