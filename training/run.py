"""A training run: recipe and settings in, `runs/NAME/` with the best model and its record out."""

import dataclasses
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf
from tqdm import tqdm

from seqattn_tf.models import EncoderDecoder, Model, Seq2Seq, load
from seqattn_tf.models.base import read_config
from seqattn_tf.text import SymbolRules
from seqattn_tf.training import recipes
from seqattn_tf.training.callbacks import KeepBest, ProgressBar, Score
from seqattn_tf.training.data import Pair, Splits
from seqattn_tf.training.data.batches import batches, encode
from seqattn_tf.training.data.pairs import group_targets
from seqattn_tf.training.metrics import MaskedCrossEntropy
from seqattn_tf.training.progress import Progress
from seqattn_tf.training.recipes import Recipe, Settings


def build(recipe: Recipe, settings: Settings, train: Sequence[Pair]) -> Seq2Seq:
    """An untrained model for the symbols of the training pairs."""
    source = SymbolRules.learn((pair.source for pair in train), **recipe.source)
    target = SymbolRules.learn((pair.target for pair in train), **recipe.target)
    network = EncoderDecoder(
        source.size,
        target.size,
        units=settings.units,
        embedding=settings.embedding,
        cell=settings.cell,
        score=settings.score,
        align=settings.align,
        dropout=settings.dropout,
    )
    return Seq2Seq(network, source, target)


def compile_network(network: keras.Model, settings: Settings, steps: int) -> None:
    """Adam with warm-up, cosine decay and global-norm clipping; the plain graph, which wins on a CPU."""
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, max(steps - settings.warmup, 1), warmup_target=settings.rate, warmup_steps=settings.warmup
    )
    optimizer = keras.optimizers.Adam(rate, global_clipnorm=settings.clip)
    network.compile(optimizer, MaskedCrossEntropy(settings.label_smoothing), jit_compile=False)


def answer_all(model: Model, sources: Sequence[str], batch: int = 256, quiet: bool = True) -> dict[str, str]:
    """The model's answer to every source; batched by length, with a bar unless `quiet`."""
    order = sorted(sources, key=len)
    chunks = [order[i : i + batch] for i in range(0, len(order), batch)]
    answers: dict[str, str] = {}
    for chunk in tqdm(chunks, unit="batch", disable=quiet):
        answers.update(zip(chunk, (answer.text for answer in model.answer(chunk)), strict=True))
    return answers


def measure(model: Model, recipe: Recipe, pairs: Sequence[Pair], quiet: bool = True) -> dict[str, float]:
    """The recipe's metric on some pairs, any listed target being right."""
    references = group_targets(pairs)
    return recipe.metric(answer_all(model, list(references), quiet=quiet), references)


def train(recipe: Recipe, settings: Settings, folder: Path, data: str | Path | None = None) -> Model:
    """Train with Keras `fit` and return the best model, which `folder` then holds.

    Run again with the same settings, it goes on after a kill and returns at once when nothing is left to do.
    """
    folder = Path(folder)
    splits = recipe.load(data)
    _refuse_another_run(folder, settings, splits)
    keras.utils.set_random_seed(settings.seed)
    pairs = splits.train[: settings.limit or None]
    model = build(recipe, settings, pairs)
    _refuse_too_long(model, splits.dev)
    steps = max(len(pairs) // settings.batch, 1)
    compile_network(model.network, settings, steps * settings.epochs)
    progress = Progress(folder / "progress.npz")
    progress.restore(model.network)

    def save(figures: Mapping[str, float]) -> None:
        model.save(folder, describe(recipe, settings, splits, figures, progress.seconds))

    if not progress.finished(settings.epochs, settings.patience):
        arrays = encode(pairs, model.source, model.target)
        model.network.fit(
            batches(arrays, settings.batch, seed=settings.seed + progress.epoch),  # a resumed run repeats no order
            epochs=settings.epochs,
            initial_epoch=progress.epoch,
            callbacks=[
                Score(lambda: measure(model, recipe, splits.dev)),
                KeepBest(f"dev_{recipe.monitor}", settings.patience, save, progress),
                ProgressBar(steps, settings.epochs, progress.epoch),
            ],
            shuffle=False,  # the dataset does it
            verbose=0,
        )
    return load(folder)


def _refuse_too_long(model: Seq2Seq, pairs: Sequence[Pair]) -> None:
    """What the model would refuse to answer is found before hours of training, not after."""
    for pair in pairs:
        if len(model.source.rules.tokens(pair.source)) > model.max_source:
            raise ValueError(
                f"development split: expected at most {model.max_source} symbols. Received: {pair.source!r}"
            )


def _refuse_another_run(folder: Path, settings: Settings, splits: Splits) -> None:
    """A folder holds one training: other settings or other data want another folder."""
    if not (folder / "config.json").is_file():
        return
    record = read_config(folder)["record"]
    held = {**record.get("settings", {}), "data": record.get("fingerprint")}
    asked = {**dataclasses.asdict(settings), "data": splits.fingerprint}
    other = {name: (held.get(name), value) for name, value in asked.items() if held.get(name) != value}
    if other:
        raise ValueError(f"{folder} holds a run with other settings (held, asked): {other}. Choose another --run")


def describe(
    recipe: Recipe, settings: Settings, splits: Splits, figures: Mapping[str, float], seconds: float
) -> dict[str, Any]:
    """The record of a trained model: what it is, from which data, how good."""
    used = splits.train[: settings.limit or None]
    return {
        "recipe": recipe.name,
        "settings": dataclasses.asdict(settings),
        "data": splits.origin,
        "fingerprint": splits.fingerprint,
        "pairs": {"train": len(used), "dev": len(splits.dev), "test": len(splits.test)},
        "figures": {name: round(value, 5) for name, value in figures.items()},
        "seconds": round(seconds, 1),
        "made_with": {"tensorflow": tf.__version__, "keras": keras.__version__, "machine": platform.machine()},
    }


def evaluate(folder: Path, data: str | Path | None = None, split: str = "test") -> dict[str, float]:
    """The recipe's metric of a trained run on a split of its data."""
    record = read_config(folder)["record"]
    if "recipe" not in record:
        raise ValueError(f"{folder}: expected the record of a recipe in config.json. Received: {record}")
    recipe = recipes.get(record["recipe"])
    splits = recipe.load(data)
    trained_on = f"{record['data']} ({record.get('fingerprint')})"
    given = f"{splits.origin} ({splits.fingerprint})"
    if trained_on != given:  # the test words may be among those the model was trained on
        raise ValueError(f"data: expected what the model was trained on, {trained_on}. Received: {given}; see --data")
    return measure(load(folder), recipe, getattr(splits, split), quiet=False)
