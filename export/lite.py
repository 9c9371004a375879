"""LiteRT: the model in built-in ops, with the symbols a device needs to use it."""

import tempfile
from pathlib import Path

import tensorflow as tf
from tensorflow.lite.python.convert_phase import ConverterError

from seqattn_tf.export.signatures import edge_signature
from seqattn_tf.models import Model


def convert(model: Model) -> bytes:
    """The `tensors` form of a model as a LiteRT file; fails when an op is not built in."""
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(tf.Module(), folder, signatures={"tensors": edge_signature(model)})
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=["tensors"])
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        try:
            return converter.convert()
        except ConverterError as error:
            said = str(error).strip().splitlines()
            raise ValueError(
                f"LiteRT: expected a model in built-in ops. Received: {said[0] if said else error!r}"
            ) from None


def write_lite(model: Model, folder: Path) -> None:
    """Write the LiteRT form of a model and its symbols into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_assets(folder)
    (folder / "model.tflite").write_bytes(convert(model))
