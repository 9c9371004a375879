"""One word at a time: the LiteRT forms of the preset compared with its Keras form, in milliseconds per word.

The loops in the files store their steps in rows of a tensor; the last lines compare them with loops over tensor arrays.
"""

import functools
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks._turns import in_turns, report
from seqattn_tf.export.forms import Lite, QuantizedLite, SavedModel
from seqattn_tf.export.forms.lite import convert
from seqattn_tf.export.package import export
from seqattn_tf.lite import manifest
from seqattn_tf.lite.runtime import FILE, LiteModel
from seqattn_tf.presets import FOLDER, LITE, find, open_model
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
    for name in ("pronounce", "transliterate"):
        _compare_loops(name, words)


def _compare_loops(name: str, words: list[str]) -> None:
    """Print the time of the shipped file relative to that of the same model with loops over tensor arrays."""
    folder = FOLDER / name / LITE
    form = {one.weights: one for one in (Lite, QuantizedLite)}[manifest.read(folder)["lite"]["weights"]]
    with tempfile.TemporaryDirectory() as temporary:
        arrays = Path(shutil.copytree(folder, Path(temporary) / "lite"))
        (arrays / FILE).write_bytes(convert(open_model(name, "keras"), form.optimizations, arrays=True))
        models = {"arrays": LiteModel(arrays), "rows": LiteModel(folder)}
        answers = {way: [model.answer([word])[0].text for word in words] for way, model in models.items()}
        ways = {way: functools.partial(milliseconds, model.answer, words) for way, model in models.items()}
        times = in_turns(ways)
    same = sum(a == b for a, b in zip(*answers.values(), strict=True))
    report(f"{name}, loops, {len(words)} words, {same} alike", times)


def _timed(name: str, answer: Callable[[list[str]], object], words: list[str]) -> float:
    milliseconds(answer, words[:10])
    times = milliseconds(answer, words)
    median, slow = np.median(times), np.percentile(times, 99)
    print(f"{name:<24} {median:6.2f} ms a word (99 % under {slow:.2f}), {len(words)} words")
    return float(median)
