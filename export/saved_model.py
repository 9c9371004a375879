"""SavedModel: the graph with its signatures, and the folders `models/NAME/VERSION/` it goes to."""

from pathlib import Path
from typing import Any

import tensorflow as tf

from seqattn_tf.export import ops
from seqattn_tf.export.signatures import signatures
from seqattn_tf.models import Model


def versions(folder: Path) -> list[int]:
    """The versions a model folder holds, in order."""
    return list(version_folders(folder))


def version_folders(folder: Path) -> dict[int, Path]:
    """The folders of a model's versions, in their order; TF Serving takes `001` for one too."""
    named = [child for child in Path(folder).glob("*") if child.name.isascii() and child.name.isdecimal()]
    return {int(child.name): child for child in sorted(named, key=lambda child: int(child.name)) if child.is_dir()}


def write_saved_model(model: Model, folder: Path) -> dict[str, Any]:
    """Write the graph with its signatures, check its ops, and say what it takes and gives."""
    made = signatures(model)
    tf.saved_model.save(_plain(model, made), str(folder), signatures=made)
    used = ops.check(folder)
    shapes = {
        name: {
            "inputs": {spec.name: _spec(spec) for spec in function.structured_input_signature[0]},
            "outputs": {key: _spec(value) for key, value in function.structured_outputs.items()},
        }
        for name, function in made.items()
    }
    return {"signatures": shapes, "ops": sorted(used)}


def _plain(model: Model, functions: dict[str, Any]) -> tf.Module:
    """What the signatures read, without the Keras objects around it: the weights, and the tables of the tokenisers.

    TensorFlow saves the variables that it reaches through Keras 3's objects as copies. Its C++ loader restores the
    copies, and the signatures look for the originals in vain.
    """
    module = tf.Module()
    read = [variable for function in functions.values() for variable in function.variables]
    module.weights = list({id(variable): variable for variable in read}.values())  # each once
    module.parts = [part for part in vars(model).values() if isinstance(part, tf.Module)]
    return module


def _spec(spec: tf.TensorSpec) -> dict[str, Any]:
    return {"dtype": spec.dtype.name, "shape": spec.shape.as_list()}
