"""One word at a time: the LiteRT forms of the preset compared with its Keras form, in milliseconds per word."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from seqattn_tf.export.forms import Lite, QuantizedLite, SavedModel
from seqattn_tf.export.package import export
from seqattn_tf.lite.runtime import LiteModel
from seqattn_tf.presets import find, open_model
from seqattn_tf.training.data.corpora import cmudict


def milliseconds(answer: Callable[[list[str]], object], words: list[str]) -> list[float]:
    """Return the time of each word."""
    times = []
    for word in words:
        began = time.perf_counter()
        answer([word])
        times.append(1e3 * (time.perf_counter() - began))
    return times


def main() -> None:
    """Print the times and their ratio."""
    words = list(dict.fromkeys(example.key for example in cmudict.load().test))[::60]
    model = open_model("pronounce", "keras")
    medians = {"Keras, compiled graph": _timed("Keras, compiled graph", model.answer, words)}
    for form in (Lite(), QuantizedLite()):
        with tempfile.TemporaryDirectory() as folder:
            made = export(find("pronounce"), Path(folder) / "models/pronounce", forms=[SavedModel(), form])
            name = f"LiteRT, {form.weights}"
            medians[name] = _timed(name, LiteModel(made.lite).answer, words)
            size = (made.lite / "model.tflite").stat().st_size / 1e6
            print(f"{'':<24} {size:6.1f} MB; agrees with Keras on {made.agreeing[form.title]} of {made.rows} rows")
    first, *others = medians.values()
    print("ratio " + ", ".join(f"{first / other:.1f}" for other in others) + " (Keras to LiteRT, one thread)")


def _timed(name: str, answer: Callable[[list[str]], object], words: list[str]) -> float:
    milliseconds(answer, words[:10])
    times = milliseconds(answer, words)
    median, slow = np.median(times), np.percentile(times, 99)
    print(f"{name:<24} {median:6.2f} ms a word (99 % under {slow:.2f}), {len(words)} words")
    return float(median)
