"""A training run: recipe and settings in, `runs/NAME/` with the best model and its record out."""

import dataclasses
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from seqattn_tf.models import Model, load
from seqattn_tf.models.base import read_config
from seqattn_tf.training import recipes
from seqattn_tf.training.callbacks import KeepBest, ProgressBar, Score
from seqattn_tf.training.data import Splits
from seqattn_tf.training.progress import Progress
from seqattn_tf.training.recipes import Recipe
from seqattn_tf.training.tasks import Report, Settings, Task


def compile_network(network: keras.Model, task: Task, settings: Settings, steps: int) -> None:
    """Adam with warm-up, cosine decay and global-norm clipping; the plain graph, which wins on a CPU."""
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, max(steps - settings.warmup, 1), warmup_target=settings.rate, warmup_steps=settings.warmup
    )
    optimizer = keras.optimizers.Adam(rate, global_clipnorm=settings.clip)
    network.compile(optimizer, task.loss(settings), jit_compile=False)


def train(recipe: Recipe, settings: Settings, folder: Path, data: str | Path | None = None) -> Model:
    """Train with Keras `fit` and return the best model, which `folder` then holds.

    Run again with the same settings, it goes on after a kill and returns at once when nothing is left to do.
    """
    folder, task = Path(folder), recipe.task
    splits = recipe.load(data, settings)
    _refuse_another_run(folder, settings, splits)
    keras.utils.set_random_seed(settings.seed)
    model = task.build(settings, splits)
    pairs = task.fitting(model, splits, settings)
    if not pairs:
        raise ValueError(
            f"train: expected at least one pair that the model can take. Received: none of {splits.origin}"
        )
    steps = task.steps(model, pairs, settings)
    compile_network(model.network, task, settings, steps * settings.epochs)
    progress = Progress(folder / "progress.npz")
    progress.restore(model.network)
    quick = task.quick(model)

    def save(figures: Mapping[str, float]) -> None:
        model.save(folder, describe(recipe, settings, splits, figures, progress.seconds))

    if not progress.finished(settings.epochs, settings.patience):
        model.network.fit(
            task.batches(model, pairs, settings, progress.epoch),
            epochs=settings.epochs,
            initial_epoch=progress.epoch,
            steps_per_epoch=steps if task.ordered else None,
            callbacks=[
                Score(lambda: task.measure(quick, splits.dev).figures),
                KeepBest(f"dev_{task.monitor}", settings.patience, save, progress, rising=task.rising),
                ProgressBar(steps, settings.epochs, progress.epoch),
            ],
            shuffle=False,  # the dataset does it
            verbose=0,
        )
    return load(folder)


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


def evaluate(folder: Path, data: str | Path | None = None, split: str = "test") -> Report:
    """How good a trained run is on a split of its data."""
    record = read_config(folder)["record"]
    if "recipe" not in record:
        raise ValueError(f"{folder}: expected the record of a recipe in config.json. Received: {record}")
    recipe = recipes.get(record["recipe"])
    known = {field.name for field in dataclasses.fields(recipe.settings)}
    held = {name: value for name, value in record.get("settings", {}).items() if name in known}
    settings = dataclasses.replace(recipe.settings, **held)
    splits = recipe.load(data, settings)
    trained_on = f"{record['data']} ({record.get('fingerprint')})"
    given = f"{splits.origin} ({splits.fingerprint})"
    if trained_on != given:  # the test words may be among those the model was trained on
        raise ValueError(f"data: expected what the model was trained on, {trained_on}. Received: {given}; see --data")
    model, pairs = load(folder), getattr(splits, split)
    report = recipe.task.measure(model, pairs, splits.notes, quiet=False)
    return Report(
        {**report.figures, **recipe.task.beside(model, splits.train[: settings.limit or None], pairs)}, report.groups
    )
