"""LiteRT: `lite/NAME/` with the model in built-in ops, its symbols and its manifest."""

import tempfile
from pathlib import Path
from typing import Any

import tensorflow as tf

from seqattn_tf.aside import written_aside
from seqattn_tf.export import manifest
from seqattn_tf.export.signatures import edge_signature
from seqattn_tf.models import Model


def convert(model: Model) -> bytes:
    """The `tensors` form of a model as a LiteRT file; fails when an op is not built in."""
    with tempfile.TemporaryDirectory() as folder:
        tf.saved_model.save(tf.Module(), folder, signatures={"tensors": edge_signature(model)})
        converter = tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=["tensors"])
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
        return converter.convert()


def export_lite(model: Model, folder: str | Path, record: dict[str, Any] | None = None) -> Path:
    """Write the LiteRT form of a model; the files of an earlier one in the same folder are replaced, each whole."""
    folder = Path(folder)
    content = convert(model)
    folder.mkdir(parents=True, exist_ok=True)
    model.save_assets(folder)
    with written_aside(folder / "model.tflite") as aside:
        aside.write_bytes(content)
    manifest.write(folder, {**manifest.describe(model, record or {}), "name": folder.name})
    return folder
