"""Sounds, clips and formulas: from the bytes of a file to an answer, one at a time, compared with decoding alone.

The presets `transcribe` and `image_to_latex` answer one of their own examples. There is no preset for clips, so an
untrained network of full size generates as many words as the longest caption has. For the sound, the real-time factor
is reported: seconds of computation per second of sound. For memory, the peak while reading the longest allowed sound is
measured, and the peak while refusing one of ten minutes.
"""

import dataclasses
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks._exported import exported
from benchmarks._memory import peak_of
from benchmarks._turns import in_turns, report
from seqattn_tf.inputs import graph_field
from seqattn_tf.lite.fields.wav import read_header, write_wav
from seqattn_tf.lite.model_inputs import from_json
from seqattn_tf.models import Model, load
from seqattn_tf.models.base import read_config
from seqattn_tf.presets import find
from seqattn_tf.training import recipes
from seqattn_tf.training.data import Examples
from seqattn_tf.training.data.corpora import clips


def answering(title: str, folder: Path, value: bytes, seconds: float = 0.0) -> None:
    """Measure the time from bytes to an answer, and that of preparing the input alone."""
    model = load(folder)
    [(name, field)] = model.inputs.items()
    prepare, asked = tf.function(graph_field(field, name).encode), tf.constant([value])
    with exported(folder, name, value) as (ways, size):
        times = in_turns({**ways, "decoding alone": lambda: prepare(asked)})
    report(title, times)
    print(f"  the LiteRT file has {size:.2f} MB", flush=True)
    if seconds:
        factors = "   ".join(f"{name} {spent / 1e3 / seconds:.4f}" for name, spent in times.items())
        print(f"  real-time factor, {seconds:.1f} s of sound: {factors}", flush=True)


def of_preset(name: str) -> tuple[Path, bytes]:
    """Return the folder of a preset, and one of its examples."""
    folder = find(name)
    [value] = from_json(read_config(folder)["record"]["examples"][0]).values()
    return folder, value


def untrained() -> Model:
    """Return an untrained model of clips, which does not end its answers before their maximum length."""
    recipe = recipes.get("caption_video")
    captions = clips.load(500, 1).train
    longest = max(len(example.target.split()) for example in captions)
    return recipe.task.build(dataclasses.replace(recipe.settings, max_target_length=longest), Examples.of(captions))


def memory() -> None:
    """Measure the memory for the longest allowed sound, and for one that is refused."""
    folder, short = of_preset("transcribe")
    model = load(folder)
    field = model.inputs["sound"]
    read = tf.function(graph_field(field, "sound").encode)
    read(tf.constant([short]))
    noise = np.random.default_rng(0).normal(0, 0.1, [600 * 48_000]).astype(np.float32)
    for name, seconds in (("longest", field.max_seconds), ("ten minutes", 600)):
        data = write_wav(noise[: int(seconds * 48_000)], 48_000)
        print(f"memory: {name:<12} {peak_of(lambda data=data: read(tf.constant([data])))}", flush=True)


def main() -> None:
    """Run all measurements."""
    folder, sound = of_preset("transcribe")
    header = read_header(sound)
    answering("sound to digits:", folder, sound, header.samples / header.rate)
    answering("picture to LaTeX:", *of_preset("image_to_latex"))
    with tempfile.TemporaryDirectory() as place:
        untrained().save(Path(place) / "clip", {"recipe": "caption_video"})
        answering("clip to caption:", Path(place) / "clip", clips.draw(3, "test").read())
    memory()
