"""A model in its three forms, for one row at a time."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import tensorflow as tf

from seqattn_tf.export.forms import Lite
from seqattn_tf.export.package import export
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.models import load


@contextlib.contextmanager
def exported(folder: Path, name: str, value: bytes) -> Iterator[tuple[dict[str, Callable[[], object]], float]]:
    """Yield functions from the bytes of an input to an answer, by form, and the size of the LiteRT file in MB."""
    with tempfile.TemporaryDirectory() as place:
        done = export(folder, Path(place) / "models" / "model")
        serve = tf.saved_model.load(str(done.version)).signatures["serving_default"]
        edge, model, asked = LiteModel(done.version / Lite.place), load(folder), tf.constant([value])
        ways: dict[str, Callable[[], object]] = {
            "LiteRT": lambda: edge.answer([value]),
            "SavedModel": lambda: serve(**{name: asked})["text"].numpy(),
            "Keras": lambda: model.answer([value]),
        }
        yield ways, (done.version / Lite.place / "model.tflite").stat().st_size / 1e6
