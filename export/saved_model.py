"""SavedModel: `models/NAME/VERSION/`, which appears whole or not at all."""

from pathlib import Path
from typing import Any

import tensorflow as tf

from seqattn_tf.aside import written_aside
from seqattn_tf.export import manifest, ops
from seqattn_tf.export.signatures import signatures
from seqattn_tf.models import Model


def versions(folder: Path) -> list[int]:
    """The versions a model folder holds, in order."""
    return sorted(int(child.name) for child in Path(folder).glob("*") if child.is_dir() and child.name.isdecimal())


def write_saved_model(model: Model, folder: Path) -> dict[str, Any]:
    """Write the graph with its signatures, check its ops, and say what it takes and gives."""
    made = signatures(model)
    tf.saved_model.save(model, str(folder), signatures=made)
    used = ops.check(folder)
    shapes = {
        name: {
            "inputs": {key: _spec(value) for key, value in function.structured_input_signature[1].items()},
            "outputs": {key: _spec(value) for key, value in function.structured_outputs.items()},
        }
        for name, function in tf.saved_model.load(str(folder)).signatures.items()
    }
    return {"signatures": shapes, "ops": sorted(used)}


def _spec(spec: tf.TensorSpec) -> dict[str, Any]:
    return {"dtype": spec.dtype.name, "shape": spec.shape.as_list()}


def export_saved_model(
    model: Model, folder: str | Path, record: dict[str, Any] | None = None, version: int | None = None
) -> Path:
    """Write the model as the next version (or the given one) of `folder` and return the version's folder.

    Raises:
        ValueError: the version exists, or the graph holds an op that TensorFlow Serving does not link.
    """
    folder = Path(folder)
    number = version if version is not None else max(versions(folder), default=0) + 1
    if (folder / str(number)).exists():
        raise ValueError(f"version: expected one that {folder} does not hold. Received: {number}")
    with written_aside(folder / str(number)) as aside:
        described = {**manifest.describe(model, record or {}), "name": folder.name, "version": number}
        described |= write_saved_model(model, aside)
        (aside / "assets.extra").mkdir()
        manifest.write(aside / "assets.extra", described)
    return folder / str(number)
