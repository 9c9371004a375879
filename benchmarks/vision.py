"""Pictures: reading them, training on them, and captioning from the bytes of a file.

Reading: JPEG photographs of 500 x 375, resized to 224 x 224, in the batches that `fit` gets, compared with decoding the
same files alone. Learning: a step of `seqattn train caption` on scenes (batches of 64, plain graph), compared with the
same model in PyTorch if it is installed. Answering: one picture at a time through the SavedModel and through LiteRT,
including decoding, compared with the Keras model. Memory: the peak while decoding the largest allowed picture, and
while refusing one of a hundred megapixels.
"""

import dataclasses
import importlib.util
import io
from collections.abc import Callable

if importlib.util.find_spec("torch"):
    import torch  # noqa: F401  before TensorFlow, because the other order crashes on aarch64

import numpy as np
import tensorflow as tf

from benchmarks._exported import exported
from benchmarks._memory import peak_of
from benchmarks._turns import in_turns, report
from seqattn_tf.inputs import graph_field
from seqattn_tf.lite.fields import Image
from seqattn_tf.presets import find
from seqattn_tf.training import recipes, run
from seqattn_tf.training.data.corpora import scenes

PHOTOS, SIDE = 64, 224


def photo(number: int, width: int = 500, height: int = 375) -> bytes:
    """Return the bytes of a JPEG with about as much detail as a photograph."""
    from PIL import Image as Pillow

    noise = np.random.default_rng(number).integers(0, 256, [24, 32, 3], np.uint8)
    data = io.BytesIO()
    Pillow.fromarray(noise).resize((width, height), Pillow.Resampling.BICUBIC).save(data, "JPEG", quality=90)
    return data.getvalue()


def reading() -> None:
    """Measure the pictures per second of the batches, compared with decoding alone."""
    files = [photo(number) for number in range(PHOTOS)]
    column = graph_field(Image(SIDE, SIDE), "image").column(files)
    rows = tf.range(PHOTOS, dtype=tf.int64)
    whole = tf.data.Dataset.from_tensors(rows).map(column.rows)
    apart = tf.data.Dataset.from_tensor_slices(files)
    alone = apart.map(lambda data: tf.shape(tf.io.decode_jpeg(data, channels=3)), tf.data.AUTOTUNE)
    one = apart.map(lambda data: tf.shape(tf.io.decode_jpeg(data, channels=3)))
    ways: dict[str, Callable[[], object]] = {
        "batches": lambda: list(whole),
        "decoding alone": lambda: list(alone),
        "on one core": lambda: list(one),
    }
    times = in_turns(ways)
    told = "   ".join(f"{name} {1e3 * PHOTOS / spent:,.0f} pictures/s" for name, spent in times.items())
    print(
        f"reading: {told}   ({times['batches'] / times['decoding alone']:.2f}x the time of decoding alone)", flush=True
    )


def learning() -> None:
    """Measure a training step, compared with the same in PyTorch."""
    recipe = recipes.get("caption")
    settings = dataclasses.replace(recipe.settings, num_examples=256, dropout=0.0)
    training = recipe.task.open(settings, scenes.load(256, 8))
    run.compile_network(training)
    network, size = training.model.network, settings.batch_size
    inputs, target = next(iter(training.batches(0)))
    ways: dict[str, Callable[[], object]] = {"ours": lambda: network.train_on_batch(inputs, target)}
    if importlib.util.find_spec("torch"):
        from benchmarks._torch_seeing import TorchCaptioner, TorchTrainer

        pictures = network.pictures
        model = TorchCaptioner(
            pictures.backbone.filters,
            pictures.rows * pictures.columns,
            training.model.target.rules.size,
            settings.units,
            settings.embedding,
        )
        trainer = TorchTrainer(model, 1e-3, settings.clip_norm)
        arrays = (inputs["image_pixels"].numpy(), inputs["shifted"].numpy(), target.numpy())
        ways["PyTorch"] = lambda: trainer.step(*arrays)
    times = in_turns(ways, rounds=5)
    report("a step of 64 scenes:", times)
    print(f"  {1e3 * size / times['ours']:,.0f} pictures/s", flush=True)


def answering() -> None:
    """Measure the time from the bytes of a JPEG to a caption."""
    from PIL import Image as Pillow

    data = io.BytesIO()
    Pillow.fromarray(scenes.draw(3, "test").pixels()).save(data, "JPEG", quality=95)
    with exported(find("caption_scene"), "image", data.getvalue()) as (ways, size):
        report("JPEG to caption:", in_turns(ways))
    print(f"  the LiteRT file has {size:.2f} MB", flush=True)


def memory() -> None:
    """Measure the memory for the largest allowed picture, and for one that is refused, if the system reports it."""
    image = Image(SIDE, SIDE)
    read = tf.function(graph_field(image, "image").encode)
    read(tf.constant([photo(0)]))

    side = int(image.limit**0.5)
    for name, data in (("largest", photo(0, side, side)), ("100 megapixels", photo(0, 10_000, 10_000))):
        print(f"memory: {name:<15} {peak_of(lambda data=data: read(tf.constant([data])))}", flush=True)


def main() -> None:
    """Run all measurements."""
    reading()
    learning()
    answering()
    memory()
