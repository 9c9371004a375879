"""One word at a time: the LiteRT form of the shipped model against its Keras form, milliseconds a word."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from seqattn_tf.export.lite_runtime import LiteModel
from seqattn_tf.export.package import export
from seqattn_tf.models.presets import find, open_model
from seqattn_tf.training.data import cmudict


def milliseconds(answer: Callable[[list[str]], object], words: list[str]) -> list[float]:
    """The time of each word."""
    times = []
    for word in words:
        began = time.perf_counter()
        answer([word])
        times.append(1e3 * (time.perf_counter() - began))
    return times


def main() -> None:
    """Print both and the ratio."""
    words = list(dict.fromkeys(example.key for example in cmudict.load().test))[::60]
    model = open_model("pronounce")
    with tempfile.TemporaryDirectory() as folder:
        path = export(find("pronounce"), Path(folder) / "models" / "pronounce").lite
        size = (path / "model.tflite").stat().st_size / 1e6
        edge = LiteModel(path)
        medians = {}
        for name, answer in (("Keras, compiled graph", model.answer), ("LiteRT, one thread", edge.answer)):
            milliseconds(answer, words[:10])
            times = milliseconds(answer, words)
            medians[name] = np.median(times)
            slow = np.percentile(times, 99)
            print(f"{name:<24} {medians[name]:6.2f} ms a word (99 % under {slow:.2f}), {len(words)} words")
    slow, fast = medians.values()
    print(f"ratio {slow / fast:.1f}; the LiteRT file has {size:.1f} MB")
